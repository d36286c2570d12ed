import { describe, expect, test } from "vitest";
import { createGate, type GateOptions } from "sluice/http";
import { createLimiter, definePolicy, MemoryStore, perSecond } from "sluice";
import { open, openLater, reader, SMALL, type AnyOptions, type Ask } from "./asking.js";

const limiter = createLimiter({ policy: SMALL });
const make = (options: unknown) => () => createGate(options as GateOptions<Ask>, reader);
const key = (): string => "ann";

describe("a wrong option is refused when the gate is made, in one line", () => {
  const wrong: [options: unknown, error: typeof TypeError | typeof RangeError, message: string][] = [
    [undefined, TypeError, "Expected `options` to be an object with a `policy` and a `key`, got undefined"],
    [null, TypeError, "Expected `options` to be an object with a `policy` and a `key`, got null"],
    ["x", TypeError, 'Expected `options` to be an object with a `policy` and a `key`, got "x"'],
    [{ policy: SMALL }, TypeError, "Expected `key` to be a function of the request, got undefined"],
    [{ policy: SMALL, key: "ann" }, TypeError, 'Expected `key` to be a function of the request, got "ann"'],
    [{ key }, TypeError, "Expected `policy` to be an object with `capacity` and `refill`, or with `limits`, got undefined"],
    [{ key, policy: { capacity: 0, refill: perSecond(1) } }, RangeError, "Expected `capacity` to be a positive integer, got 0"],
    [{ key, policy: SMALL, refundwhen: key }, TypeError, "Unknown option `refundwhen`. Did you mean `refundWhen`?"],
    [{ key, policy: SMALL, nonsense: 1 }, TypeError, "Unknown option `nonsense`. Known options: `skip`, `body`, `onDecision`, `refundWhen`, `partitionKey`, `wallClock`, `policy`, `store`, `clock`, `onStoreError`, `localShare`, `storeTimeoutMs`, `breaker`, `shadow`, `observe`, `limiter`, `key`, `cost`, `headers`, `retryAfter`, `unidentified`"],
    [{ key, policy: SMALL, skip: true }, TypeError, "Expected `skip` to be a function, got true"],
    [{ key, policy: SMALL, body: {} }, TypeError, "Expected `body` to be a function, got an object"],
    [{ key, policy: SMALL, onDecision: 1 }, TypeError, "Expected `onDecision` to be a function, got 1"],
    [
      { key, policy: SMALL, headers: ["triple"], partitionKey: () => new Uint8Array(1) },
      TypeError,
      'Expected `headers` to include "draft-11", which alone says `partitionKey`, got styles without it',
    ],
    [{ key, policy: SMALL, refundWhen: "ok" }, TypeError, 'Expected `refundWhen` to be a function, got "ok"'],
    [{ key, policy: SMALL, partitionKey: [] }, TypeError, "Expected `partitionKey` to be a function, got an array of 0"],
    [{ key, policy: SMALL, wallClock: null }, TypeError, "Expected `wallClock` to be a function, got null"],
    [{ key, policy: SMALL, cost: "1" }, TypeError, 'Expected `cost` to be a whole number of at least 0, got "1"'],
    [{ key, policy: SMALL, cost: 1.5 }, RangeError, "Expected `cost` to be a whole number of at least 0, got 1.5"],
    [{ key, policy: SMALL, cost: -1 }, RangeError, "Expected `cost` to be a whole number of at least 0, got -1"],
    [{ key, policy: SMALL, cost: 4 }, RangeError, "Expected `cost` to be at most the capacity, 3, got 4"],
    [{ key, limiter, cost: 4 }, RangeError, "Expected `cost` to be at most the capacity, 3, got 4"],
    [{ key, policy: SMALL, retryAfter: "date" }, RangeError, 'Expected `retryAfter` to be "seconds" or "http-date", got "date"'],
    [{ key, policy: SMALL, unidentified: "ip" }, RangeError, 'Expected `unidentified` to be "share" or "refuse" or "skip", got "ip"'],
    [{ key, policy: SMALL, onStoreError: "open" }, RangeError, 'Expected `onStoreError` to be "local", "allow" or "unavailable", got "open"'],
    [{ key, policy: () => SMALL, onStoreError: "open" }, RangeError, 'Expected `onStoreError` to be "local", "allow" or "unavailable", got "open"'],
    [{ key, policy: SMALL, store: {} }, TypeError, "Expected `store` to be an object with `sync` and `consume`, got an object"],
    [{ key, policy: SMALL, clock: 5 }, TypeError, "Expected `clock` to be a function that returns milliseconds, got 5"],
    [{ key, limiter: null }, TypeError, "Expected `limiter` to be made by createLimiter, got null"],
    [{ key, limiter: {} }, TypeError, "Expected `limiter` to be made by createLimiter, got an object"],
    [{ key, limiter, policy: SMALL }, TypeError, "Expected `policy` to be the limiter's own, got both `limiter` and `policy`"],
    [{ key, limiter, store: new MemoryStore() }, TypeError, "Expected `store` to be the limiter's own, got both `limiter` and `store`"],
    [{ key, limiter, clock: () => 0 }, TypeError, "Expected `clock` to be the limiter's own, got both `limiter` and `clock`"],
    ...["onStoreError", "localShare", "storeTimeoutMs", "breaker", "shadow", "observe"].map((name): [object, typeof TypeError, string] => [
      { key, limiter, [name]: "allow" }, TypeError, `Expected \`${name}\` to be the limiter's own, got both \`limiter\` and \`${name}\``,
    ]),
    [{ key, policy: SMALL, storeTimeoutMs: 0 }, RangeError, "Expected `storeTimeoutMs` to be a positive integer, got 0"],
  ];
  test.each(wrong)("%o", (options, type, message) => {
    expect(make(options)).toThrow(new type(message));
  });

  const STYLES = '"triple", "draft-6", "draft-7", "draft-11", "x-ratelimit" or vendor names';
  const FORMATS = '"delta-seconds", "epoch-seconds", "epoch-milliseconds", "iso-8601" or "http-date"';
  const wrongHeaders: [headers: unknown, error: typeof TypeError | typeof RangeError, message: string][] = [
    ["triple", TypeError, 'Expected `headers` to be a list of header styles, got "triple"'],
    [true, TypeError, "Expected `headers` to be a list of header styles, got true"],
    [["draft-8"], RangeError, `Expected \`headers\` to be ${STYLES}, got "draft-8"`],
    [["toString"], RangeError, `Expected \`headers\` to be ${STYLES}, got "toString"`],
    [[null], TypeError, "Expected `headers` to be a list of header styles, got null"],
    [[5], TypeError, "Expected `headers` to be a list of header styles, got 5"],
    [[{}], RangeError, "Expected a vendor style in `headers` to name a field, got none"],
    [[{ resetFormat: "iso-8601" }], RangeError, "Expected a vendor style in `headers` to name a field, got none"],
    [[{ limits: "X-Limit" }], TypeError, "Expected only known members of a vendor style in `headers`, got `limits`"],
    [[["triple"]], TypeError, "Expected only known members of a vendor style in `headers`, got `0`"],
    [[{ reset: "X-Reset" }], RangeError, `Expected \`resetFormat\` to be ${FORMATS}, got undefined`],
    [[{ reset: "X-Reset", resetFormat: "unix" }], RangeError, `Expected \`resetFormat\` to be ${FORMATS}, got "unix"`],
    [[{ reset: "X-Reset", resetFormat: "toString" }], RangeError, `Expected \`resetFormat\` to be ${FORMATS}, got "toString"`],
    [[{ limit: "" }], RangeError, 'Expected `headers` to be field names, got ""'],
    [[{ limit: "X Limit" }], RangeError, 'Expected `headers` to be field names, got "X Limit"'],
    [[{ used: "X-Used:" }], RangeError, 'Expected `headers` to be field names, got "X-Used:"'],
    [[{ remaining: "X-Left\r\nX-Evil: 1" }], RangeError, 'Expected `headers` to be field names, got "X-Left\\r\\nX-Evil: 1"'],
    [[{ limit: "X-Límite" }], RangeError, 'Expected `headers` to be field names, got "X-Límite"'],
    [[{ limit: 5 }], RangeError, "Expected `headers` to be field names, got 5"],
    ...["Retry-After", "Cache-Control", "CONTENT-TYPE", "content-length", "Access-Control-Expose-Headers", "Date"].map(
      (name): [unknown, typeof RangeError, string] => [[{ retryAfterMs: name }], RangeError, `Expected \`headers\` to leave ${name} alone, got a style that sets it`],
    ),
  ];
  test.each(wrongHeaders)("headers: %o", (headers, type, message) => {
    expect(make({ key, policy: SMALL, headers })).toThrow(new type(message));
  });

  test("limits of equal capacity, which draft-6 and draft-7 cannot tell apart", () => {
    const policy = definePolicy({ limits: [{ capacity: 5, refill: perSecond(1) }, { capacity: 5, refill: perSecond(2) }] });
    const message =
      'Expected the limits of policy "default" to have different capacities (draft-6 and draft-7 tell them apart by these), got equal ones';
    for (const style of ["draft-6", "draft-7"]) expect(make({ key, policy, headers: [style] })).toThrow(new RangeError(message));
    expect(make({ key, policy })).not.toThrow();
  });
});

test("options that are undefined are as good as left out", () => {
  const names = ["store", "clock", "onStoreError", "localShare", "storeTimeoutMs", "breaker", "shadow", "observe", "cost", "skip", "headers", "retryAfter", "body", "onDecision", "unidentified", "refundWhen", "partitionKey", "wallClock", "limiter"];
  const none = Object.fromEntries(names.map((name) => [name, undefined]));
  expect(open({ ...none, clock: () => 0, cost: 1 } as AnyOptions).ask().field("RateLimit-Remaining")).toBe("2");
  expect(make({ key, limiter, policy: undefined })).not.toThrow();
});

describe("what an option's function returns wrongly fails the request", () => {
  const wrong: [name: string, options: object, message: string][] = [
    ["policy", { policy: () => ({ capacity: 1, refill: perSecond(1) }) }, "Expected `policy()` to be made by definePolicy, got an object"],
    ["cost", { cost: () => Number.NaN }, "Expected `cost` to be a whole number of at least 0, got NaN"],
    ["cost as text", { cost: () => "2" }, 'Expected `cost` to be a whole number of at least 0, got "2"'],
    ["partitionKey", { partitionKey: () => "c2VjcmV0" }, 'Expected `partitionKey()` to be a Uint8Array, got "c2VjcmV0"'],
    ["body", { cost: () => 9, body: () => undefined }, "Expected `body()` to be an object, got undefined"],
    ["clock", { clock: () => Number.NaN }, "Expected `clock()` to be a finite number of milliseconds below 2^53, got NaN"],
  ];
  test.each(wrong)("%s", async (_, options, message) => {
    expect(() => open(options as AnyOptions).ask()).toThrow(message);
    await expect(openLater({ ...options, key: async () => "ann" } as AnyOptions).ask()).rejects.toThrow(message);
  });
});

test("a wall clock that tells nonsense fails the request instead of sending it", () => {
  const gate = createGate<Ask>({ policy: SMALL, key, headers: ["x-ratelimit"], wallClock: () => Number.NaN }, reader);
  expect(() => gate({})).toThrow(
    new RangeError("Expected `wallClock()` to be a finite number of milliseconds, got NaN"),
  );
});
