import { decimal, headerOf, parseRetryAfter, sentAt, type HeaderSource } from "../../http/retry-after/retry-after.js";
import { countersIn, isCached, longest, MAX_GUESS_MS, parseReset } from "./counters.js";
import type { LimitsParser, ToldLimit } from "./rate-limit.js";
import { sentMembers } from "./refusal-body.js";

/** The wait that a response asks for, and the header field that stated it. */
export interface Wait {
  /** Milliseconds from receipt: at least 0, possibly Infinity. */
  readonly waitMs: number;
  /**
   * The field. `"ratelimit"` is `RateLimit` of the drafts 07 and later, `"ratelimit-reset"` that of earlier drafts.
   * `"vendor"` is `X-RateLimit-Reset`, `X-Rate-Limit-Reset` or a field that `limits` reads.
   */
  readonly source: "retry-after" | "retry-after-ms" | "ratelimit" | "ratelimit-reset" | "vendor";
}

/** The wait of a refusal. */
export interface ToldWait {
  /** Null when none is told, or none that is believed. */
  readonly waitMs: number | null;
  /** The first wait that is told, believed or not. Null without one. */
  readonly toldMs: number | null;
  readonly source: Place[0] | undefined;
}

type Fields = Record<string, string>;

/** A place where a wait may stand, the wait in milliseconds, and whether its unit is a guess. */
type Place = readonly [source: string, waitMs: number | null, isGuess?: true];

// What the names of three fields begin with: `limit`, `remaining` and `reset`.
const COUNTERS = ["ratelimit-", "x-ratelimit-", "x-rate-limit-"];

// Members of a JSON body, strongest first. A list stands for each of its items. The unit of each is seconds: a number,
// or a text such as "1.5s". A member in which any service counts milliseconds is not here.
const WAIT_MEMBERS = [
  "retry_after", // sluice, Discord and others
  "error.retry_after",
  "parameters.retry_after", // Telegram
  "error.details.retryDelay", // Google
  "errors.extensions.retry_in_seconds", // monday
];

/** Every place where a wait may stand, strongest first. Nothing else is read. */
function waitPlaces(
  headers: HeaderSource, now: number, vendors: readonly (readonly ToldLimit[])[], body?: unknown,
): readonly Place[] {
  const sent = sentAt(headers, now);
  const seconds = parseRetryAfter(headers, now);
  const exact = decimal(headerOf(headers, "retry-after-ms"), 0) ?? decimal(headerOf(headers, "x-ms-retry-after-ms"), 0);
  // A refusal has nothing left, unless a field says otherwise.
  const isLeft = vendors.flat().some(({ remaining }) => remaining >= 1) || hasLeft(headers);
  const fields: readonly Place[] = [
    ["ratelimit", rateLimitWait(headerOf(headers, "ratelimit"), sent)],
    ...COUNTERS.map((prefix): Place => {
      const counters = countersIn((name) => headerOf(headers, prefix + name), sent);
      return [prefix, longest(counters.map(([left, resetMs]) => left < 1 || (left !== left && !isLeft) ? resetMs : null)), true];
    }),
  ];
  return [
    // Milliseconds that are a second or more earlier contradict the seconds, which were not rounded from them.
    ["retry-after-ms", Number(exact) > Number(seconds) - 1_000 ? exact : null],
    ["retry-after", seconds],
    ...vendors.map((limits): Place => ["vendor", waitForLimits(limits)]),
    ...(isCached(headers) ? [] : fields),
    ...WAIT_MEMBERS.map((path): Place => ["body", longest(membersAt(body, path).map(secondsToMs))]),
    // OpenRouter
    ...membersAt(body, "error.metadata.headers").flatMap((inner) => waitPlaces(sentMembers(inner) as Fields, sent, [])),
  ];
}

/**
 * Parses the wait that a refusal asks for. Null when no field states one. `now` is in milliseconds since 1970.
 *
 * The first of these that states a wait counts:
 *
 * 1. `Retry-After`.
 * 2. What `limits` reads, such as `parseVendorLimits`.
 * 3. `RateLimit`.
 * 4. `RateLimit-Reset`, then `X-RateLimit-Reset`, then `X-Rate-Limit-Reset`: up to one hour. A longer wait counts as
 *    absent, because no server names its unit.
 *
 * A limit asks for a wait only when nothing of it remains. A reset without `Remaining` is that of an empty limit, unless
 * another field has something left. The longest wait of several such limits counts. Of a
 * malformed `RateLimit` the whole items count. `parseRateLimit` reads none of it.
 *
 * `retry-after-ms` and `x-ms-retry-after-ms` replace a `Retry-After` that was rounded up from them. If they are a
 * second or more earlier than `Retry-After`, the two disagree and the later one counts.
 * @example
 * const headers = new Headers({ "Retry-After": "3", "Retry-After-Ms": "2100" });
 * parseWait(headers, Date.now()); // { waitMs: 2100, source: "retry-after-ms" }
 */
export function parseWait(headers: HeaderSource, now: number, limits?: LimitsParser): Wait | null {
  const { waitMs, source } = readWait(headers, now, [limits?.(headers, now) ?? []]);
  if (waitMs === null || !source) return null;
  if (source === "ratelimit-") return { waitMs, source: "ratelimit-reset" };
  return { waitMs, source: source.startsWith("x-") ? "vendor" : (source as Wait["source"]) };
}

/** Reads the wait of a refusal from its fields, the limits that `vendors` found in them, and its body. */
export function readWait(...response: Parameters<typeof waitPlaces>): ToldWait {
  const told = waitPlaces(...response).filter(([, waitMs]) => waitMs !== null);
  const [source, waitMs = null] = told.find(([, ms, isGuess]) => !isGuess || Number(ms) <= MAX_GUESS_MS) ?? [];
  return { waitMs, toldMs: told[0]?.[1] ?? null, source };
}

/** The longest wait of the limits with nothing left, in milliseconds. Null when none of them states it. */
function waitForLimits(limits: readonly ToldLimit[]): number | null {
  return longest(limits.map(({ remaining, resetMs }) => (remaining === 0 ? resetMs : null)));
}

/** The values at a path of names. */
function membersAt(body: unknown, path: string): unknown[] {
  const step = (values: unknown[], name: string): unknown[] => values.flatMap((value) => sentMembers(value)[name] ?? []);
  return path.split(".").reduce(step, [body].flat());
}

// A list or object states none. Making text of a deep one throws, and may call a `toString` that the server sent.
function secondsToMs(value: unknown): number | null {
  return typeof value === "object" ? null : decimal(`${value as string}`.replace(/s$/, ""), 3);
}

// Only what a refusal needs of `RateLimit` and `RateLimit-Policy`. The whole parser is larger, and one mistake makes a
// field malformed for it: here a malformed item states nothing, and the others count.

/** The wait of a `RateLimit` field: the longest of the items with nothing left. Null when none of them states it. */
function rateLimitWait(text: string, sent: number): number | null {
  // Draft 07 states one limit in several members.
  const waits = namedItems(text.includes("remaining=") ? text.replaceAll(",", ";") : text).map(
    // Its successor has other names for `r` and `t`.
    ({ a = "", r = a, remaining = r, w = "", t = w, reset = t }) =>
      decimal(remaining, 0) === 0 ? parseReset(reset, sent) : null,
  );
  return longest(waits);
}

/** Whether any field says that something is left. */
function hasLeft(headers: HeaderSource): boolean {
  const counters = COUNTERS.flatMap((prefix) => headerOf(headers, `${prefix}remaining`).split(","));
  const text = headerOf(headers, "ratelimit");
  const items = namedItems(text.includes("remaining=") ? text.replaceAll(",", ";") : text);
  return [...counters, ...items.map(({ a = "", r = a, remaining = r }) => remaining)].some((left) => parseFloat(left) >= 1);
}

/** Whether a limit of requests in flight refuses: it has nothing left, or less than the cost and a wait. */
export function isConcurrent(headers: HeaderSource): boolean {
  const nameOf = (item: Fields): unknown => Object.keys(item)[0];
  const refusing = namedItems(headerOf(headers, "ratelimit")).filter(({ r, t }) => r === "0" || t).map(nameOf);
  const policies = namedItems(headerOf(headers, "ratelimit-policy"));
  return policies.some((policy) => policy["qu"] === '"concurrent-requests"' && refusing.includes(nameOf(policy)));
}

// A name with a comma or semicolon is cut, which leaves the parameters behind it as they are.
function namedItems(text: string): Fields[] {
  return text.split(",").map((item) => {
    const pairs = item.trim().split(/\s*;\s*/).map((part) => part.split("="));
    return sentMembers(Object.fromEntries(pairs)) as Fields;
  });
}
