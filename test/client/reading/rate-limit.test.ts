/** Checklist items 51, 60 and 61 of the HTTP contract: the limits that a client reads. The vectors hold the single cases. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { draft11, draft7, retryAfterDate, triple, vendorHeaders, xRateLimit, type HeaderStyle } from "sluice/http";
import { definePolicy, perSecond } from "sluice";
import { anyCharacter } from "../../helpers/arbitraries.js";
import type { ToldLimit } from "../../../src/client/reading/rate-limit.js";
import { parseRateLimit } from "../../../src/client/reading/rate-limit-fields.js";
import { parseReset } from "../../../src/client/reading/counters.js";
import { parseDictionary, parseList } from "../../../src/client/reading/structured-field.js";
import { parseWait } from "../../../src/client/reading/wait.js";
import { parseHttpDate } from "../../../src/http/retry-after/http-date.js";
import { toHttpDate } from "../../../src/http/retry-after/retry-after.js";
import { seenTimes } from "../../helpers/seen.js";
import { histories, type History } from "../../http/arbitrary.js";
import { exhaust, open, type Answer } from "../../http/asking.js";

// Between two seconds, so that whole ones show where they are rounded.
const NOW = Date.UTC(2026, 7, 15, 12) + 250;
const clock = (): number => NOW;
const X = { limit: "X-RateLimit-Limit", remaining: "X-RateLimit-Remaining", reset: "X-RateLimit-Reset" };
const styles: readonly (readonly [name: string, style: HeaderStyle])[] = [
  ["triple", triple()],
  ["draft-7", draft7()],
  ["draft-11", draft11()],
  ["x-ratelimit", xRateLimit({ clock })],
  ["a vendor's seconds", vendorHeaders({ ...X, resetFormat: "delta-seconds", clock })],
  ["a vendor's milliseconds since 1970", vendorHeaders({ ...X, resetFormat: "epoch-milliseconds", clock })],
  ["a vendor's ISO 8601", vendorHeaders({ ...X, resetFormat: "iso-8601", clock })],
  ["a vendor's HTTP-date", vendorHeaders({ ...X, resetFormat: "http-date", clock })],
];
// What the server knows, under names that no client reads.
const TOLD = vendorHeaders({ limit: "Told-Limit", remaining: "Told-Remaining", reset: "Told-Reset", resetFormat: "epoch-milliseconds", clock });

/** The answer's fields as a client gets them, without those of `but`. */
function headersOf(answer: Answer, but?: string): Headers {
  return new Headers(answer.names.filter((name) => name !== but?.toLowerCase()).map((name): [string, string] => [name, answer.field(name) as string]));
}

/** The answers to a history in one style. */
function walk({ policy, steps }: History, style: HeaderStyle, retryAfter: "seconds" | "http-date" = "seconds"): Answer[] {
  const gate = open({ policy, headers: [style, TOLD, ...(retryAfter === "http-date" ? [retryAfterDate({ clock })] : [])] });
  return steps.map(({ waitMs, cost }) => {
    gate.clock.advance(waitMs);
    return gate.ask({ cost });
  });
}

/** Whole seconds may round a time up, nothing may shorten it. */
function expectRoundedUp(found: number | null | undefined, exactMs: number): void {
  expect(found).toBeGreaterThanOrEqual(exactMs);
  expect(found).toBeLessThan(exactMs + 1_000);
}

test.each(styles)("60 · what our server writes as %s is read back", (name, style) => {
  fc.assert(
    fc.property(histories, (history) => {
      const { fullMs } = history.policy.limits[0];
      const windowMs = Math.max(1, Math.ceil(fullMs / 1_000)) * 1_000;
      for (const answer of walk(history, style)) {
        const [limit, ...others] = parseRateLimit(headersOf(answer), NOW) as [ToldLimit];
        expect(others).toEqual([]);
        expect([limit.limit, limit.remaining]).toEqual([answer.number("Told-Limit"), answer.number("Told-Remaining")]);
        const isNamed = name === "draft-11";
        expect(limit.policy).toBe(isNamed ? "drawn" : null);
        expect(limit.windowMs).toBe(name.startsWith("draft") ? windowMs : null);
        // draft-11 tells when what is left may be used up, at the latest after the window, where the others tell the
        // full bucket.
        if (!isNamed) expectRoundedUp(limit.resetMs, answer.number("Told-Reset") - NOW);
        else if (limit.resetMs !== null) expect(limit.resetMs).toBeLessThan(Math.max(answer.number("Told-Reset") - NOW, windowMs) + 1_000);
      }
    }),
    { numRuns: 40 },
  );
});

test.each(styles)("51 · a refusal's wait is read as %s where Retry-After was lost, if nothing is left", (name, style) => {
  fc.assert(
    fc.property(histories, (history) => {
      for (const answer of walk(history, style)) {
        if (answer.status !== 429) continue;
        const found = parseWait(headersOf(answer, "Retry-After"), NOW);
        const isCounter = !name.startsWith("draft");
        if (answer.number("Told-Remaining") > 0) expect(found).toBeNull();
        // The unit of a counter is not named, so it is believed up to an hour.
        else if (isCounter && found === null) expect(answer.number("Told-Reset") - NOW).toBeGreaterThan(3_600_000 - 1_000);
        else expectRoundedUp(found?.waitMs, answer.number("Told-Reset") - NOW);
      }
    }),
    { numRuns: 40 },
  );
});

test.each(["seconds", "http-date"] as const)("51 · Retry-After in the form %s is obeyed first", (form) => {
  fc.assert(
    fc.property(histories, fc.constantFrom(...styles), (history, [, style]) => {
      for (const answer of walk(history, style, form)) {
        if (answer.status !== 429) continue;
        const found = parseWait(headersOf(answer), NOW);
        expect(found?.source).toBe("retry-after");
        expectRoundedUp(found?.waitMs, answer.number("Told-Reset") - NOW);
      }
    }),
    { numRuns: 40 },
  );
});

test("51 · milliseconds that our server adds make the wait exact", () => {
  const policy = definePolicy({ name: "odd", capacity: 1, refill: { tokens: 1, everyMs: 2_345 } });
  const refusal = exhaust(open({ policy, headers: [vendorHeaders({ retryAfterMs: "Retry-After-Ms" })] }));
  expect(parseWait(headersOf(refusal), NOW)).toEqual({ waitMs: 2_345, source: "retry-after-ms" });
  expect(parseWait(headersOf(refusal, "Retry-After-Ms"), NOW)).toEqual({ waitMs: 3_000, source: "retry-after" });
});

test("60 · every limit of a policy is read, with its own name", () => {
  const policy = definePolicy({
    name: "api",
    limits: [
      { name: "burst", capacity: 5, refill: perSecond(2) },
      { name: "day", capacity: 8, refill: { tokens: 1, everyMs: 60_000 } },
    ],
  });
  expect(parseRateLimit(headersOf(open({ policy }).ask()), NOW)).toEqual([
    { policy: "api:burst", limit: 5, remaining: 4, resetMs: 3_000, windowMs: 3_000 },
    { policy: "api:day", limit: 8, remaining: 7, resetMs: 420_000, windowMs: 480_000 },
  ]);
});

test("60 · the cost of the request is read where a server states it, and only a whole number", () => {
  const costs = (text: string) => parseRateLimit({ RateLimit: text }, NOW)?.map(({ cost }) => cost);
  expect(costs('"a";r=1;t=1;c=3, "b";a=1;w=1;c=0, "d";r=1')).toEqual([3, 0, undefined]);
  expect(costs('"a";r=1;c=-1, "b";r=1;c=1.5, "d";r=1;c="2", "e";r=1;c=2;c=4')).toEqual([undefined, undefined, undefined, 4]);
  expect(parseRateLimit({ RateLimit: '"a";r=1' }, NOW)).toStrictEqual([{ policy: "a", limit: null, remaining: 1, resetMs: null, windowMs: null }]);
});

test("60 · the longest fields of our own fit: 24 limits of the longest names and numbers", () => {
  const long = (head: number): string => String(head).padStart(64, "n");
  const limits = Array.from({ length: 24 }, (_, i) => ({ name: long(i), capacity: 1e15 - 1, refill: { tokens: 1e15 - 1, everyMs: 1 } }));
  const answer = open({ policy: definePolicy({ name: long(0), limits }) }).ask();
  expect(answer.field("RateLimit-Policy")?.length).toBeGreaterThan(3_600);
  const found = parseRateLimit(headersOf(answer), NOW);
  expect(found?.map(({ policy, limit }) => [policy, limit])).toEqual(limits.map(({ name, capacity }) => [`${long(0)}:${name}`, capacity]));
});

test("60 · a policy's numbers are found by its name among hundreds", () => {
  const names = Array.from({ length: 200 }, (_, i) => `p${i}`);
  const headers = { RateLimit: names.map((name) => `${name};r=1`).join(), "RateLimit-Policy": [...names].reverse().map((name) => `${name};q=5;w=${name.slice(1)}`).join() };
  expect(parseRateLimit(headers, NOW)).toEqual(names.map((policy, i) => ({ policy, limit: 5, remaining: 1, resetMs: null, windowMs: i * 1_000 || null })));
});

test("61 · limits that come out of a cache are not read; a wait of Retry-After is", () => {
  const refusal = headersOf(exhaust(open()));
  expect(parseRateLimit(refusal, NOW)).not.toBeNull();
  refusal.set("Age", "1");
  expect(parseRateLimit(refusal, NOW)).toBeNull();
  expect(parseWait(refusal, NOW)).toEqual({ waitMs: 1_000, source: "retry-after" });
  refusal.delete("Retry-After");
  expect(parseWait(refusal, NOW)).toBeNull();
});

test("60 · no fields make it throw, or give NaN or a negative number", () => {
  const piece = fc.constantFrom(
    '"a"', "tok", ";r=0", ";t=3", ";a=1", ";w=0", ", ", "limit=1, remaining=0", ", reset=5", "0", "9", "1e9", "٣", "-", ".", "5m", "ms", "/", "1786795230",
    "Infinity", "9".repeat(400), "2026-08-15T12:00:09Z", "2026-13-45T99:99Z", ".123456789", toHttpDate(NOW),
  );
  const value = fc.oneof(
    { weight: 6, arbitrary: fc.array(piece, { maxLength: 3 }).map((pieces) => pieces.join("")) },
    { weight: 1, arbitrary: fc.string({ unit: "binary-ascii", maxLength: 5 }) },
    { weight: 1, arbitrary: fc.constantFrom(undefined, null, 5, -5, Number.NaN, false, {}, [], ['"a";r=0', '"b";r=1;t=4']) },
  );
  // Numbers more often, so that some of it is read.
  const count = fc.oneof({ weight: 1, arbitrary: value }, { weight: 2, arbitrary: fc.constantFrom("0", "1", "586.9") });
  const given = fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
  const headers = fc.record({
    Age: fc.option(value, { freq: 10, nil: undefined }),
    Date: given,
    "Retry-After": given,
    "Retry-After-Ms": given,
    RateLimit: given,
    "RateLimit-Policy": given,
    "RateLimit-Limit": value,
    "RateLimit-Remaining": fc.oneof(count, given),
    "RateLimit-Reset": value,
    "X-RateLimit-Remaining": count,
    "X-RateLimit-Reset": value,
    "X-RateLimit-Reset-After": given,
    "X-RateLimit-Remaining-Tokens": count,
    "X-RateLimit-Reset-Tokens": value,
    "X-Shopify-Shop-Api-Call-Limit": given,
  });
  let read = 0;
  fc.assert(
    fc.property(headers, fc.constantFrom(0, NOW, -1, 8.64e15), (fields, now) => {
      const limits = parseRateLimit(fields, now);
      expect(limits).not.toEqual([]);
      for (const { limit, remaining, resetMs, windowMs } of limits ?? []) {
        read += 1;
        expect([limit, remaining, resetMs, windowMs].filter((number) => !((number ?? 0) >= 0))).toEqual([]);
        expect(Number.isSafeInteger(remaining)).toBe(true);
        expect(windowMs).not.toBe(0);
      }
      expect(parseWait(fields, now)?.waitMs ?? 0).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 500 },
  );
  expect(read).toBeGreaterThanOrEqual(seenTimes(100));
});

test("60 · no text makes any parser throw", () => {
  const piece = fc.oneof(fc.constantFrom("1", "a", '"', ";a=1", ", ", "T", "2026-08-15T", "GMT", "1s", "\\", "(", "limit=1", ";r=0"), fc.string({ unit: anyCharacter, maxLength: 3 }));
  const text = fc.tuple(fc.array(piece, { maxLength: 6 }), piece, fc.constantFrom(0, 1, 70, 5_000)).map(([head, one, times]) => head.join("") + one.repeat(times));
  const names = ["age", "date", "retry-after", "retry-after-ms", "ratelimit", "ratelimit-policy", "ratelimit-limit", "ratelimit-reset", "x-ratelimit-limit", "x-ratelimit-reset"];
  fc.assert(
    fc.property(text, fc.constantFrom(...names), (value, name) => {
      const headers = { "ratelimit-remaining": "0", "x-ratelimit-remaining": "0", [name]: value };
      parseRateLimit(headers, NOW);
      parseWait(headers, NOW);
      expect([parseReset(value, NOW) ?? 0, parseHttpDate(value, NOW) ?? 0]).not.toContain(Number.NaN);
      parseList(value);
      parseDictionary(value);
    }),
    { numRuns: 200 },
  );
});
