import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from "fastify";
import { hasOwn } from "../../core/check.js";
import type { Gate } from "../../http/gate.js";
import { asError } from "../../http/user-functions.js";
import type { Verdict } from "../../http/response/verdict.js";
import { applyToReply, refuseOnReply } from "./reply.js";

/** Decides about a request in a hook. Calls `next` for an allowed request, and with an error when the gate fails. */
export function decideInHook(
  gate: Gate<FastifyRequest>,
  request: FastifyRequest,
  reply: FastifyReply,
  next: HookHandlerDoneFunction,
): void {
  let verdict: Verdict | Promise<Verdict>;
  try {
    verdict = gate(request);
  } catch (error) {
    return next(asError(error));
  }
  if (hasOwn(verdict, "outcome")) return onFastifyVerdict(verdict, reply, next);
  // No caller remains to catch an exception of `next`.
  const proceeded = verdict.then((known) => onFastifyVerdict(known, reply, next), (error: unknown) => next(asError(error)));
  proceeded.catch(() => reply.raw.destroy());
}

function onFastifyVerdict(verdict: Verdict, reply: FastifyReply, next: HookHandlerDoneFunction): void {
  try {
    if (applyToFastify(verdict, reply) === "sent") return;
  } catch (error) {
    // `next(undefined)` would run the handler.
    return next(asError(error));
  }
  next();
}

function applyToFastify(verdict: Verdict, reply: FastifyReply): "sent" | "passed" {
  if (verdict.outcome === "skip") return "passed";
  if (verdict.outcome === "pass") {
    applyToReply(reply, verdict);
    return "passed";
  }
  refuseOnReply(reply, verdict);
  return "sent";
}
