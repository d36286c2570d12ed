import { readings as readingsOf, type Decision, type Reading } from "../../core/decision.js";
import { expected } from "../../core/check.js";
import type { Policy } from "../../core/policy.js";
import { fieldsOf, isResetFormat, type Field, type HeaderStyle } from "./fields.js";
import { perPolicy } from "./per-policy.js";
import { toRetryAfter } from "../retry-after/retry-after.js";

/** Header fields as a flat list: name, value, name, value. */
export type FieldList = readonly string[];

/** Says a decision in header fields. */
export interface HeaderWriter {
  /** The fields for `decision`. None for a degraded one, which knows nothing of the caller's budget. */
  write(policy: Policy, decision: Decision, partition?: Uint8Array): FieldList;
  /** Throws a RangeError for a policy whose numbers these fields cannot say. */
  check(policy: Policy): void;
}

/** The default styles: what drafts up to 06 and the newest draft's readers understand. */
export const DEFAULT_STYLES: readonly HeaderStyle[] = ["triple", "draft-11"];

// Retry-After is never clamped, so longer waits are refused beforehand; 2^31 - 1 is what clients parse.
const LONGEST_WAIT_MS = 2_147_483_647_000;
// RFC 9651, section 3.3.1.
const LARGEST_INTEGER = 999_999_999_999_999;

const TAKEN = new Set(["retry-after", "cache-control", "content-type", "content-length", "access-control-expose-headers", "date"]);
const VENDOR_MEMBERS = new Set(["limit", "remaining", "used", "reset", "resetFormat", "retryAfterMs"]);
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Makes a writer of header fields in the given styles, in their order.
 *
 * Throws a RangeError for an unknown style, for a name that is no field name, and for two styles that claim one field.
 * @example
 * const writer = createHeaderWriter(["triple", "draft-11"]);
 * writer.write(policy, decision); // ["RateLimit-Limit", "30", "RateLimit-Remaining", "29", …]
 */
export function createHeaderWriter(styles: readonly HeaderStyle[], wallClock: () => number = Date.now): HeaderWriter {
  if (!Array.isArray(styles)) throw new TypeError(expected("headers", "a list of header styles", styles));
  for (const style of styles as readonly unknown[]) checkStyle(style);
  const fields = styles.flatMap((style) => fieldsOf(style));
  checkNames(fields);
  const valuesUnder = perPolicy((policy) => fields.map((field) => field.under(policy)));
  const saysIntegerQuotas = styles.includes("draft-6") || styles.includes("draft-7");

  return { write, check };

  function write(policy: Policy, decision: Decision, partition?: Uint8Array): FieldList {
    if (decision.degraded || fields.length === 0) return [];
    const readings = readingsOf(decision);
    const shown = readings.length === 1 ? (readings[0] as Reading) : readings.reduce((a, b) => (b.remaining < a.remaining ? b : a));
    const refused = decision.reason === "limited";
    const resetMs = refused ? decision.retryAfterMs : shown.remaining === 0 ? shown.nextTokenMs : shown.resetMs;
    const facts = {
      readings,
      shown,
      resetMs,
      resetSeconds: refused ? toRetryAfter(resetMs) : Math.ceil(resetMs / 1_000),
      refusedBy: refused ? decision : null,
      wallClock,
      partition: partition === undefined ? "" : `;pk=:${toBase64(partition)}:`,
    };
    const values = valuesUnder(policy);
    const list: string[] = [];
    for (let i = 0; i < fields.length; i++) {
      const value = values[i];
      const text = typeof value === "function" ? value(facts) : value;
      if (typeof text === "string") list.push((fields[i] as Field).name, text);
    }
    return list;
  }

  function check(policy: Policy): void {
    for (const limit of policy.limits) {
      if (limit.fullMs > LONGEST_WAIT_MS) {
        throw new RangeError(
          `Expected policy "${policy.name}" to refill within 2147483647 seconds (the longest Retry-After that clients read), got ${limit.fullMs} ms`,
        );
      }
      if (limit.capacity > LARGEST_INTEGER) {
        throw new RangeError(expected("capacity", `at most ${LARGEST_INTEGER} to be said in a header field`, limit.capacity));
      }
    }
    if (saysIntegerQuotas && new Set(policy.limits.map((limit) => limit.capacity)).size < policy.limits.length) {
      throw new RangeError(
        `Expected the limits of policy "${policy.name}" to have different capacities (draft-6 and draft-7 tell them apart by these), got equal ones`,
      );
    }
  }
}

function toBase64(bytes: Uint8Array): string {
  if (!ArrayBuffer.isView(bytes)) throw new TypeError(expected("partitionKey()", "a Uint8Array", bytes));
  return btoa(String.fromCharCode(...bytes));
}

function checkStyle(style: unknown): asserts style is HeaderStyle {
  if (typeof style === "string") {
    if (["triple", "draft-6", "draft-7", "draft-11", "x-ratelimit"].includes(style)) return;
    throw new RangeError(expected("headers", '"triple", "draft-6", "draft-7", "draft-11", "x-ratelimit" or vendor names', style));
  }
  if (typeof style !== "object" || style === null) throw new TypeError(expected("headers", "a list of header styles", style));
  for (const member of Object.keys(style)) {
    if (!VENDOR_MEMBERS.has(member)) throw new TypeError(`Expected only known members of a vendor style in \`headers\`, got \`${member}\``);
  }
  if (fieldsOf(style as HeaderStyle).length === 0) throw new RangeError("Expected a vendor style in `headers` to name a field, got none");
  const { reset, resetFormat } = style as { reset?: unknown; resetFormat?: unknown };
  if (reset !== undefined && !isResetFormat(resetFormat)) {
    throw new RangeError(
      expected("resetFormat", '"delta-seconds", "epoch-seconds", "epoch-milliseconds", "iso-8601" or "http-date"', resetFormat),
    );
  }
}

function checkNames(fields: readonly Field[]): void {
  const seen = new Set<string>();
  for (const { name } of fields) {
    if (typeof name !== "string" || !TOKEN.test(name)) throw new RangeError(expected("headers", "field names", name));
    const lower = name.toLowerCase();
    if (TAKEN.has(lower)) throw new RangeError(`Expected \`headers\` to leave ${name} alone, got a style that sets it`);
    if (seen.has(lower)) throw new RangeError(`Expected each field in one style of \`headers\`, got ${name} in two`);
    seen.add(lower);
  }
}
