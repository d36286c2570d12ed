import { describe, expect, test, vi } from "vitest";
import { createGate, draft11, draft7, triple, vendorHeaders, type GateOptions, type VendorHeaders } from "sluice/http";
import { createLimiter, definePolicy, MemoryStore, perSecond } from "sluice";
import { LIMITER_OPTIONS } from "../../../src/limiter/options.js";
import { open, openLater, reader, SMALL, type AnyOptions, type Ask } from "../asking.js";

const limiter = createLimiter({ policy: SMALL });
const make = (options: unknown) => () => createGate(options as GateOptions<Ask>, reader);
const key = (): string => "ann";

describe("a wrong option is refused when the gate is made, in one line", () => {
  const beside = (name: string): string => `Expected \`${name}\` beside \`limiter\` to be left out, got both. Pass \`${name}\` to createLimiter`;
  const wrong: [name: string, options: unknown, error: typeof TypeError | typeof RangeError, message: string][] = [
    ["no options", undefined, TypeError, "Expected `options` to be an object with a `policy` and a `key`, got undefined"],
    ["null", null, TypeError, "Expected `options` to be an object with a `policy` and a `key`, got null"],
    ["text", "x", TypeError, 'Expected `options` to be an object with a `policy` and a `key`, got "x"'],
    ["no key", { policy: SMALL }, TypeError, 'Expected `key` to be a function of the request, got undefined. Write `key: (request) => ["user", userOf(request)]` with your own `userOf`, or `addressKey(address)` for callers who are not signed in'],
    ["key as text", { policy: SMALL, key: "ann" }, TypeError, 'Expected `key` to be a function of the request, got "ann". Write `key: (request) => ["user", userOf(request)]` with your own `userOf`, or `addressKey(address)` for callers who are not signed in'],
    ["no policy", { key }, TypeError, "Expected `policy` to be an object with `refill`, or with `limits`, got undefined"],
    ["capacity 0", { key, policy: { capacity: 0, refill: perSecond(1) } }, RangeError, "Expected `capacity` to be a positive integer, got 0"],
    ["misspelt name", { key, policy: SMALL, actualcost: key }, TypeError, "Unknown option `actualcost`. Did you mean `actualCost`?"],
    ["unknown name", { key, policy: SMALL, nonsense: 1 }, TypeError, `Unknown option \`nonsense\`. Known options: ${[...LIMITER_OPTIONS, "key", "cost", "limiter", "headers", "unidentified", "functionTimeoutMs", "skip", "respond", "actualCost", "onDecision"].map((name) => `\`${name}\``).join(", ")}`],
    ["skip true", { key, policy: SMALL, skip: true }, TypeError, "Expected `skip` to be a function, got true"],
    ["respond as object", { key, policy: SMALL, respond: {} }, TypeError, "Expected `respond` to be a function, got an object"],
    ["onDecision 1", { key, policy: SMALL, onDecision: 1 }, TypeError, "Expected `onDecision` to be a function, got 1"],
    ["actualCost as text", { key, policy: SMALL, actualCost: "ok" }, TypeError, 'Expected `actualCost` to be a function, got "ok"'],
    ["actualCost as a number", { key, policy: SMALL, actualCost: 0 }, TypeError, "Expected `actualCost` to be a function, got 0"],
    ["functionTimeoutMs", { key, policy: SMALL, functionTimeoutMs: 0 }, RangeError, "Expected `functionTimeoutMs` to be a positive integer, got 0"],
    ["shadow", { key, policy: SMALL, shadow: "yes" }, TypeError, 'Expected `shadow` to be true, false or a function of the key, got "yes"'],
    ["cost as text", { key, policy: SMALL, cost: "1" }, TypeError, 'Expected `cost` to be a whole number of at least 0, got "1"'],
    ["cost 1.5", { key, policy: SMALL, cost: 1.5 }, RangeError, "Expected `cost` to be a whole number of at least 0, got 1.5"],
    ["cost -1", { key, policy: SMALL, cost: -1 }, RangeError, "Expected `cost` to be a whole number of at least 0, got -1"],
    ["cost above the capacity", { key, policy: SMALL, cost: 4 }, RangeError, "Expected `cost` to be at most the capacity, 3, got 4"],
    ["cost above the limiter's capacity", { key, limiter, cost: 4 }, RangeError, "Expected `cost` to be at most the capacity, 3, got 4"],
    ["unidentified", { key, policy: SMALL, unidentified: "ip" }, RangeError, 'Expected `unidentified` to be "share" or "refuse" or "skip", got "ip"'],
    ["onStoreError", { key, policy: SMALL, onStoreError: "open" }, RangeError, 'Expected `onStoreError` to be "local", "allow" or "unavailable", got "open"'],
    ["onStoreError, with a picked policy", { key, policy: () => SMALL, onStoreError: "open" }, RangeError, 'Expected `onStoreError` to be "local", "allow" or "unavailable", got "open"'],
    ["store", { key, policy: SMALL, store: {} }, TypeError, "Expected `store` to be an object with `sync` and `ask`, got an object. For memory, leave `store` out for this process's memory, or write `new MemoryStore()`; for a client of Redis, write `new RedisStore(client)`, from sluice/redis"],
    ...([["null", null, "null"], ["as object", {}, "an object"], ["as list", [limiter], "an array of 1"]] as const).map(([what, value, got]): [string, object, typeof TypeError, string] => [
      `limiter ${what}`, { key, limiter: value }, TypeError, `Expected \`limiter\` to be made by createLimiter, combine or createWaiter, got ${got}. For several limiters write \`limiter: combine({ user, tenant })\``,
    ]),
    ["policy beside limiter", { key, limiter, policy: SMALL }, TypeError, beside("policy")],
    ["store beside limiter", { key, limiter, store: new MemoryStore() }, TypeError, beside("store")],
    ["clock", { key, policy: SMALL, clock: () => 0 }, TypeError, "Unknown option `clock`. It belongs to the store, as in `new MemoryStore({ clock })`"],
    ...LIMITER_OPTIONS.slice(2).map((name): [string, object, typeof TypeError, string] => [
      `${name} beside limiter`, { key, limiter, [name]: "allow" }, TypeError, beside(name),
    ]),
    ["sharedBy", { key, policy: SMALL, sharedBy: 4 }, TypeError, "Unknown option `sharedBy`. It is an option of the store, such as `new RedisStore(client, { sharedBy })`"],
  ];
  test.each(wrong)("%s", (_, options, type, message) => {
    expect(make(options)).toThrow(new type(message));
  });

  const STYLES = 'Expected `headers` to be a list of styles from "sluice/http", such as [triple(), draft11()], got';
  const LIST = "Expected `headers` to be a list such as [triple(), draft11()], got";
  const VENDOR = 'For names of your own: import { vendorHeaders } from "sluice/http"; headers: [vendorHeaders({ limit: "X-Limit" })]';
  const written = (name: string, code = `${name}()`) => `Write: import { ${name} } from "sluice/http"; headers: [${code}]`;
  const DRAFT_6 = 'vendorHeaders({ limit: "RateLimit-Limit", remaining: "RateLimit-Remaining", reset: "RateLimit-Reset", resetFormat: "delta-seconds" })';
  const wrongHeaders: [name: string, headers: unknown, message: string][] = [
    ["one style instead of a list", "triple", `${LIST} "triple". ${written("triple")}`],
    ["true", true, `${LIST} true. ${VENDOR}`],
    ["an unknown name", ["draft-8"], `${STYLES} "draft-8". ${VENDOR}`],
    ["a name that objects have", ["toString"], `${STYLES} "toString". ${VENDOR}`],
    ["the triple's name", ["triple"], `${STYLES} "triple". ${written("triple")}`],
    ["draft-11", ["draft-11"], `${STYLES} "draft-11". ${written("draft11")}`],
    ["draft-6", ["draft-6"], `${STYLES} "draft-6". ${written("vendorHeaders", DRAFT_6)}`],
    ["draft-7", [triple(), "draft-7"], `${STYLES} "draft-7". ${written("draft7")}`],
    ["x-ratelimit", ["x-ratelimit"], `${STYLES} "x-ratelimit". ${written("xRateLimit")}`],
    ["a style without its parentheses", [triple(), draft7], `${STYLES} a function. ${written("draft7")}`],
    ["the triple without its parentheses", [triple], `${STYLES} a function. ${written("triple")}`],
    ["draft 11 without its parentheses", [draft11], `${STYLES} a function. ${written("draft11")}`],
    ["vendorHeaders without names", [vendorHeaders], `${STYLES} a function. ${written("vendorHeaders", 'vendorHeaders({ limit: "X-Limit" })')}`],
    ["null", [null], `${STYLES} null. ${VENDOR}`],
    ["a number", [5], `${STYLES} 5. ${VENDOR}`],
    ["vendor names inline", [{ limit: "X-Limit" }], `${STYLES} an object. ${VENDOR}`],
    ["undefined", [triple(), undefined], `${STYLES} undefined. ${VENDOR}`],
    ["a hole", Object.assign([triple()], { 2: draft11() }), `${STYLES} undefined. ${VENDOR}`],
    ["an empty object", [{}], `${STYLES} an object. ${VENDOR}`],
    ["a list in the list", [[triple()]], `${STYLES} an array of 1. ${VENDOR}`],
  ];
  test.each(wrongHeaders)("headers: %s", (_, headers, message) => {
    expect(make({ key, policy: SMALL, headers })).toThrow(new TypeError(message));
  });

  test("headers: styles of another copy of the package are taken", async () => {
    vi.resetModules();
    const copy = await import("sluice/http");
    expect(copy.draft7).not.toBe(draft7);
    expect(make({ key, policy: SMALL, headers: [copy.draft7(), copy.vendorHeaders({ limit: "X-Limit" })] })).not.toThrow();
  });

  const FORMATS = '"delta-seconds" or "epoch-seconds" or "epoch-milliseconds" or "iso-8601" or "http-date"';
  const NAME = 'a header field name such as "X-Limit"';
  const NO_NAME = 'Expected `vendorHeaders` to get at least one field name, such as { limit: "X-Limit" }, got none';
  const wrongNames: [name: string, names: unknown, error: typeof TypeError | typeof RangeError, message: string][] = [
    ["nothing", undefined, TypeError, 'Expected `options` to be an object such as { limit: "X-Limit" }, got undefined'],
    ["no member", {}, RangeError, NO_NAME],
    ["resetFormat alone", { resetFormat: "iso-8601" }, RangeError, NO_NAME],
    ["a misspelt member", { limits: "X-Limit" }, TypeError, "Unknown option `limits`. Did you mean `limit`?"],
    ["reset without a format", { reset: "X-Reset" }, RangeError, `Expected \`resetFormat\` to be ${FORMATS}, got undefined`],
    ["an unknown format", { reset: "X-Reset", resetFormat: "unix" }, RangeError, `Expected \`resetFormat\` to be ${FORMATS}, got "unix"`],
    ["a format that objects have", { reset: "X-Reset", resetFormat: "toString" }, RangeError, `Expected \`resetFormat\` to be ${FORMATS}, got "toString"`],
    ["an empty name", { limit: "" }, RangeError, `Expected \`limit\` to be ${NAME}, got ""`],
    ["a space", { limit: "X Limit" }, RangeError, `Expected \`limit\` to be ${NAME}, got "X Limit"`],
    ["a colon", { used: "X-Used:" }, RangeError, `Expected \`used\` to be ${NAME}, got "X-Used:"`],
    ["a line break", { remaining: "X-Left\r\nX-Evil: 1" }, RangeError, `Expected \`remaining\` to be ${NAME}, got "X-Left\\r\\nX-Evil: 1"`],
    ["a letter beyond ASCII", { limit: "X-Límite" }, RangeError, `Expected \`limit\` to be ${NAME}, got "X-Límite"`],
    ["a number", { limit: 5 }, RangeError, `Expected \`limit\` to be ${NAME}, got 5`],
    ...["Retry-After", "Cache-Control", "CONTENT-TYPE", "content-length", "Access-Control-Expose-Headers", "Date"].map(
      (name): [string, unknown, typeof RangeError, string] => [
        name, { retryAfterMs: name }, RangeError, `Expected \`retryAfterMs\` to be a field that the server does not set itself, got "${name}"`,
      ],
    ),
  ];
  test.each(wrongNames)("vendorHeaders: %s", (_, names, type, message) => {
    expect(() => vendorHeaders(names as VendorHeaders)).toThrow(new type(message));
  });

  test("limits of equal capacity, which draft7 cannot tell apart", () => {
    const policy = definePolicy({ limits: [{ capacity: 5, refill: perSecond(1) }, { capacity: 5, refill: perSecond(2) }] });
    const message =
      'Expected the limits of policy "default" to have different capacities, got equal ones. draft7() identifies a limit by its capacity; use draft11() or other numbers';
    expect(make({ key, policy, headers: [draft7()] })).toThrow(new RangeError(message));
    expect(make({ key, policy })).not.toThrow();
  });
});

test("undefined options count as left out", () => {
  const names = [...LIMITER_OPTIONS.slice(1), "cost", "skip", "headers", "onDecision", "unidentified", "respond", "actualCost", "limiter", "functionTimeoutMs"];
  const none = Object.fromEntries(names.map((name) => [name, undefined]));
  expect(open({ ...none, cost: 1 } as AnyOptions).ask().field("RateLimit-Remaining")).toBe("2");
  expect(make({ key, limiter, policy: undefined })).not.toThrow();
});

describe("what an option's function returns wrongly fails the request", () => {
  const wrong: [name: string, options: object, message: string][] = [
    ["policy", { policy: () => ({ capacity: 1, refill: perSecond(1) }) }, "Expected `policy()` to be made by definePolicy, or `unlimited`, got an object"],
    ["policy", { policy: () => "free" as never }, "Expected `policy()` to be made by definePolicy, or `unlimited`, got \"free\""],
    ["cost", { cost: () => Number.NaN }, "Expected `cost()` to be a whole number of at least 0, got NaN"],
    ["cost as text", { cost: () => "2" }, 'Expected `cost()` to be a whole number of at least 0, got "2"'],
    ["partitionKey", { headers: [draft11({ partitionKey: () => "c2VjcmV0" as never })] }, 'Expected `partitionKey()` to be a Uint8Array, got "c2VjcmV0"'],
    ["clock", { store: new MemoryStore({ clock: () => Number.NaN }) }, "Expected `clock()` to be a finite number of milliseconds below 2^53, got NaN"],
  ];
  test.each(wrong)("%s", async (_, options, message) => {
    expect(() => open(options as AnyOptions).ask()).toThrow(message);
    await expect(openLater({ ...options, key: async () => "ann" } as AnyOptions).ask()).rejects.toThrow(message);
  });
});
