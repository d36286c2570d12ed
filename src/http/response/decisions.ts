import { expected } from "../../core/check.js";
import type { Decision } from "../../core/decision.js";
import { NONE, type FieldList } from "../headers/field.js";
import { workField, type Work } from "./work.js";

/** The fields of the limits that have decided about a request so far. */
export function fieldsSoFar(request: object): FieldList {
  return workField().read(request)?.fields ?? NONE;
}

function lastOf(request: object): Work | null {
  if (Object(request) !== request) throw new TypeError(expected("request", "the object that `key` gets", request));
  return workField().read(request);
}

/**
 * Returns the decision about a request by the last rate limit that saw it: the remaining tokens and the waits, in any
 * handler. Undefined when no limit decided: the request was skipped, or refused because it has no key. Throws a
 * TypeError for anything but an object.
 *
 * `request` is the object that the framework passes to `key`: the request of Express and Fastify, or the context of
 * Hono. For `sluice/web` it is the original `Request`, not a copy. Works in shadow mode too.
 * @example
 * console.log(decisionOf(request)?.remaining);
 */
export function decisionOf(request: object): Decision | undefined {
  return lastOf(request)?.decision;
}

/**
 * Returns all decisions about a request in their order: one for each rate limit that saw it. Empty when no limit
 * decided. `request` is the same object as for {@link decisionOf}.
 * @example
 * for (const { policy, remaining } of decisionsOf(request)) console.log(policy, remaining);
 */
export function decisionsOf(request: object): readonly Decision[] {
  const decisions: Decision[] = [];
  for (let each = lastOf(request); each !== null; each = each.earlier) decisions.unshift(each.decision);
  return decisions;
}

/**
 * Says what the work of a request really cost, where it is known. The charge is settled when the work has ended: on
 * Node when the response or its connection has closed, elsewhere when the body was read, cancelled or failed, or the
 * client left. The last report wins, also over `actualCost`. A report after the end is settled at once, unless the end
 * settled the charge: by a report or by `actualCost`. Tokens in flight come back at the end in any case.
 *
 * `cost` is 0, a number for a policy of one limit, or an object with the names of limits. A limit that is not named
 * stays as charged. `request` is the same object as for {@link decisionOf}; with several limits, the report is for the
 * one whose decision `decisionOf` returns. Does nothing for a request that no limit charged. Throws a TypeError or
 * RangeError for a wrong cost.
 * @example
 * reportCost(request, { tokens: 1_417 });
 */
export function reportCost(request: object, cost: ReportedCost): void {
  lastOf(request)?.report(cost);
}

/** Whether tokens in flight of a request came back before its handler began: its client left. */
export function hasReleased(request: object): boolean {
  for (let each = lastOf(request); each !== null; each = each.earlier) if (each.isReleased) return true;
  return false;
}

/** Tells all limits of a request what its handler returned: tokens in flight wait for its promise. */
export function watchHandler(request: object, handled: unknown): void {
  if (!(handled instanceof Promise)) return;
  for (let each = lastOf(request); each !== null; each = each.earlier) each.holdUntil(handled);
}

/** The cost that {@link reportCost} takes. Costs of a combination go by the names of its members. */
export type ReportedCost = number | { readonly [name: string]: ReportedCost };
