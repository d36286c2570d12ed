import { combine, createLimiter, createWaiter, daily, definePolicy, MemoryStore, monthly, perSecond, run, TokenBucket, weekly, whenDone, type Cost, type Key, type PolicyOptions } from "sluice";
import { ManualClock } from "sluice/testing";
import { beforeEach, describe, expect, test } from "vitest";

// What a user who does not use TypeScript can write. Every refusal names the part, says what was expected and what came.

const refill = perSecond(5);
const largest = Number.MAX_SAFE_INTEGER;

const plainName = "1 to 64 letters, digits, `_`, `-` or `.`, starting with a letter or digit";

type Row = readonly [given: unknown, error: typeof TypeError | typeof RangeError, message: string];

/** What a call throws, as one line. */
function complaint(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return String(error);
  }
  return "nothing thrown";
}

/** What every number that must be whole refuses. */
function notWhole(name: string, what: string, least: number): Row[] {
  const rows: [unknown, typeof TypeError | typeof RangeError, string][] = [
    [Number.NaN, RangeError, "NaN"],
    [Infinity, RangeError, "Infinity"],
    [-Infinity, RangeError, "-Infinity"],
    [least - 1, RangeError, `${least - 1}`],
    [1.5, RangeError, "1.5"],
    [Number.MIN_VALUE, RangeError, "5e-324"],
    [2 ** 53, RangeError, "9007199254740992"],
    ["5", TypeError, '"5"'],
    [5n, TypeError, "5n"],
    [null, TypeError, "null"],
    [true, TypeError, "true"],
    [[5], TypeError, "an array of 1"],
    [[1], TypeError, "an array of 1"],
  ];
  return rows.map(([given, error, got]) => [given, error, `Expected \`${name}\` to be ${what}, got ${got}`]);
}
const positive = (name: string): Row[] => notWhole(name, "a positive integer", 1);
const titled = (row: Row): [title: string, row: Row] => [row[2].length > 110 ? `${row[2].slice(0, 110)}…` : row[2], row];

const notMade = (field: string, maker: string, got: string): string =>
  `Expected \`${field}\` to be made by ${maker}(), got ${got}${got === "an object" ? `. For a copy write ${maker}(limit.${field})` : ""}`;

describe("L9 · limits and policies", () => {
  const refused: readonly Row[] = [
    ...positive("capacity").map(([given, ...rest]): Row => [{ capacity: given, refill }, ...rest]),
    ...positive("refill.tokens").map(([given, error, message]): Row => [
      { capacity: 5, refill: perSecond(given as number) },
      error,
      // A cure for fractions: something that is no number has another cause.
      error === RangeError ? `${message}. For one token every two seconds write { tokens: 1, everyMs: 2000 }.` : message,
    ]),
    ...positive("refill.everyMs").map(([given, ...rest]): Row => [{ capacity: 5, refill: { tokens: 1, everyMs: given } }, ...rest]),
    [{ capacity: 5 }, TypeError, "Expected `refill` to be an object such as perSecond(5), or `renews: monthly()`, or `returns: whenDone()`, got undefined"],
    ...[{ refill, renews: daily() }, { renews: daily(), returns: whenDone() }, { refill, returns: whenDone() }, { refill, renews: null }, { refill, renews: daily(), returns: whenDone() }].map((two): Row => [
      { capacity: 5, ...two }, TypeError, `Expected only one of \`${Object.keys(two).join("` and `")}\`, got ${Object.keys(two).length}`,
    ]),
    ...([[daily, "daily", "a function"], [weekly, "weekly", "a function"], [monthly, "monthly", "a function"], ["daily", "daily", '"daily"'], ["weekly", "weekly", '"weekly"'], ["month", "monthly", '"month"'], [structuredClone(daily({ at: "06:00" })), "daily", "an object"], [structuredClone(weekly()), "weekly", "an object"], [structuredClone(monthly()), "monthly", "an object"], [refill, "monthly", "an object"], [whenDone(), "monthly", "an object"]] as ReadonlyArray<readonly [unknown, string, string]>).map(([renews, maker, got]): Row => [
      { capacity: 5, renews }, TypeError, notMade("renews", maker, got),
    ]),
    ...([[whenDone, "a function"], [structuredClone(whenDone()), "an object"], [true, "true"], [monthly(), "an object"]] as ReadonlyArray<readonly [unknown, string]>).map(([returns, got]): Row => [
      { capacity: 5, returns }, TypeError, notMade("returns", "whenDone", got),
    ]),
    [{ capacity: 5, renews: null }, TypeError, "Expected `renews` to be made by monthly(), got null. For a copy write monthly(limit.renews)"],
    ...[{}, { name: "api" }, { unit: "tokens" }].map((none): Row => [
      none, TypeError,
      `${none.name === undefined ? "" : 'Policy "api": '}Expected \`refill\` to be an object such as perSecond(5), or \`renews: monthly()\`, or \`returns: whenDone()\`, got undefined`,
    ]),
    ...[{ renews: daily() }, { returns: whenDone() }, { refill, capacity: undefined }, { refill, capacity: null }, { refill, capacity: "" }].map((dated): Row => [
      dated, TypeError, `Expected \`capacity\` to be a positive integer, got ${"capacity" in dated ? JSON.stringify(dated.capacity) : "undefined"}`,
    ]),
    [{ name: "api", limits: [{ refill }, { name: "day", renews: daily() }] }, TypeError, 'Policy "api", limit "day": Expected `capacity` to be a positive integer, got undefined'],
    [{ refill: perSecond }, TypeError, "Expected `refill` to be called, as in perMinute(5), got a function"],
    [{ refill: perSecond(0.5) }, RangeError, "Expected `refill.tokens` to be a positive integer, got 0.5. For one token every two seconds write { tokens: 1, everyMs: 2000 }."],
    [{ refill: { tokens: largest, everyMs: 2 } }, RangeError, `Expected \`capacity\` to be at most ${Math.floor(largest / 2)} at this refill, got ${largest}. Lower it, or shorten \`refill.everyMs\`.`],
    [{ capacity: 5, refill: 5 }, TypeError, "Expected `refill` to be an object such as perSecond(5), or `renews: monthly()`, or `returns: whenDone()`, got 5"],
    [{ capacity: 5, refill: { tokens: 5, everyMs: 1_000, per: 1 } }, TypeError, "Unknown option `per` of `refill`. Write { tokens: 5, everyMs: 60_000 }, or perMinute(5)"],
    [{ capacity: 5, refill: { tokens: 5, per: "minute" } }, TypeError, "Unknown option `per` of `refill`. Write { tokens: 5, everyMs: 60_000 }, or perMinute(5)"],
    [{ name: "bulk", capacity: NaN, refill }, RangeError, 'Policy "bulk": Expected `capacity` to be a positive integer, got NaN'],
    [{ name: "bulk", capacity: 5, refill: perSecond(0.5) }, RangeError, 'Policy "bulk": Expected `refill.tokens` to be a positive integer, got 0.5. For one token every two seconds write { tokens: 1, everyMs: 2000 }.'],
    [{ name: "api", limits: [{ capacity: 5, refill }, { name: "day", capacity: "9", refill }] }, TypeError, 'Policy "api", limit "day": Expected `capacity` to be a positive integer, got "9"'],
    [{ capacity: 5, refill: perSecond }, TypeError, "Expected `refill` to be called, as in perMinute(5), got a function"],
    [
      { capacity: 104_249_992, refill: { tokens: 1, everyMs: 86_400_000 } },
      RangeError,
      "Expected `capacity` to be at most 104249991 at this refill, got 104249992. Lower it, or shorten `refill.everyMs`.",
    ],
    [
      { capacity: largest, refill: { tokens: 1, everyMs: largest } },
      RangeError,
      `Expected \`capacity\` to be at most 1 at this refill, got ${largest}. Lower it, or shorten \`refill.everyMs\`.`,
    ],
    [undefined, TypeError, "Expected `policy` to be an object with `refill`, or with `limits`, got undefined"],
    ["free", TypeError, 'Expected `policy` to be an object with `refill`, or with `limits`, got "free"'],
    [{ name: 5, capacity: 5, refill }, TypeError, "Expected `policy.name` to be a string, got 5"],
    ...["", " ", "a b", "a/b", "é", "a\n", "{a}", "-a", "x".repeat(65)].map((name): Row => [
      { name, capacity: 5, refill },
      RangeError,
      `Expected \`policy.name\` to be ${plainName}, got ${JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}…` : name)}`,
    ]),
    [{ name: "1a", capacity: 5, refill }, RangeError, 'Expected `policy.name` to be a name that starts with a letter, got "1a"'],
    [{ limits: [] }, TypeError, "Expected `policy.limits` to be a list of at least one limit, got an array of 0"],
    [{ limits: { capacity: 5, refill } }, TypeError, "Expected `policy.limits` to be a list of at least one limit, got an object"],
    [{ limits: null }, TypeError, "Expected `policy.limits` to be a list of at least one limit, got null"],
    [{ limits: [{ capacity: 5, refill }, undefined] }, TypeError, 'Policy "default", limit "2": Expected `limit` to be an object with `refill`, got undefined'],
    [{ limits: Object.assign([{ capacity: 5, refill }], { 2: { capacity: 5, refill } }) }, TypeError, 'Policy "default", limit "2": Expected `limit` to be an object with `refill`, got undefined'],
    [{ limits: Object.assign(Array.from({ length: 0 }), { 1: { capacity: 5, refill } }) }, TypeError, 'Policy "default", limit "1": Expected `limit` to be an object with `refill`, got undefined'],
    [{ limits: [null] }, TypeError, 'Policy "default", limit "1": Expected `limit` to be an object with `refill`, got null'],
    [{ limits: [{ capacity: 0, refill }] }, RangeError, 'Policy "default", limit "1": Expected `capacity` to be a positive integer, got 0'],
    [{ limits: [{ name: "", capacity: 5, refill }] }, RangeError, `Expected \`limit.name\` to be ${plainName}, got ""`],
    [
      { limits: [{ capacity: 5, refill }], capacity: 5 },
      TypeError,
      "Expected `policy` to have either `limits` or `capacity` and `refill`, got both. Move them into `limits`.",
    ],
    [
      { limits: [{ capacity: 5, refill }], unit: "tokens" },
      TypeError,
      "Expected `policy` to have either `limits` or `capacity` and `refill`, got both. Move them into `limits`.",
    ],
    [{ capacity: 5, refill, unit: 5 }, TypeError, "Expected `unit` to be a string, got 5"],
    [{ limits: [{ capacity: 5, refill, unit: null }] }, TypeError, 'Policy "default", limit "1": Expected `unit` to be a string, got null'],
    ...["", "a b", 'a"', "a\n", "x".repeat(65)].map((unit): Row => [
      { capacity: 5, refill, unit },
      RangeError,
      `Expected \`unit\` to be ${plainName}, got ${JSON.stringify(unit.length > 40 ? `${unit.slice(0, 40)}…` : unit)}`,
    ]),
    [
      { name: "api", limits: [{ name: "a", capacity: 5, refill }, { name: "a", capacity: 9, refill }] },
      RangeError,
      'Expected the limits of policy "api" to have different names, got a, a. Give each a `name`.',
    ],
    [
      { name: "api", limits: [{ name: "2", capacity: 5, refill }, { capacity: 9, refill }] },
      RangeError,
      'Expected the limits of policy "api" to have different names, got 2, 2. Give each a `name`.',
    ],
  ];

  test.each(refused.map(titled))("L9 · bad input: %s", (_, [given, error, message]) => {
    for (const make of [
      () => definePolicy(given as PolicyOptions),
      () => createLimiter({ policy: given as PolicyOptions }),
      () => new TokenBucket(given as never),
    ]) {
      expect(complaint(make)).toBe(`${error.name}: ${message}`);
    }
  });

  test("L9 · bad input: the edges of what is exact are accepted", () => {
    for (const policy of [
      { capacity: 104_249_991, refill: { tokens: 1, everyMs: 86_400_000 } },
      { capacity: 104_249_991 * 86_400_000, refill: { tokens: 86_400_000, everyMs: 86_400_000 } },
      { capacity: largest, refill: { tokens: largest, everyMs: 1 } },
      { capacity: 1, refill: { tokens: 1, everyMs: largest } },
    ]) {
      expect(definePolicy(policy).limits[0].size).toBeLessThanOrEqual(largest);
    }
  });
});

describe("L9 · costs, keys and clocks", () => {
  let clock: ManualClock;
  let bucket: TokenBucket;
  const newLimiter = () => createLimiter({ policy: { capacity: 10, refill }, store: new MemoryStore({ clock: clock.now }) });
  let limiter: ReturnType<typeof newLimiter>;
  beforeEach(() => {
    clock = new ManualClock(1_000);
    bucket = new TokenBucket({ capacity: 10, refill, clock: clock.now });
    limiter = newLimiter();
    bucket.consume(4);
    limiter.consume("alice", 4);
  });

  /** Expects the refusal from every one of `calls`, and nobody's bucket to have noticed. */
  function refuses([, error, message]: Row, ...calls: readonly (() => unknown)[]): void {
    const before = [bucket.peek(), limiter.peek("alice"), limiter.store.stats()];
    for (const call of calls) {
      expect(complaint(call)).toBe(`${error.name}: ${message}`);
    }
    expect([bucket.peek(), limiter.peek("alice"), limiter.store.stats()]).toStrictEqual(before);
  }

  const costs = notWhole("cost", "a whole number of at least 0", 0);
  test.each(costs.map(titled))("L9 · bad input: %s", (_, row) => {
    const cost = row[0] as number;
    refuses(row, () => bucket.consume(cost), () => bucket.peek(cost));
    // Of a limiter, an object in that place is options.
    if (typeof cost !== "object") refuses(row, () => limiter.consume("alice", cost), () => limiter.peek("bob", cost));
    refuses(row, () => limiter.consume("alice", { cost }), () => limiter.peek("alice", { cost }));
  });

  test.each(positive("tokens").map(titled))("L9 · bad input: %s", (_, row) => {
    const tokens = row[0] as number;
    refuses(row, () => bucket.credit(tokens));
    const named = [row[0], row[1], row[2].replace("`tokens`", "`cost`")] as const;
    if (typeof tokens === "number") refuses(named, () => limiter.credit("alice", tokens), () => limiter.debit("alice", { cost: tokens }));
  });

  // None of these has a member of its own, so each would count as the default cost.
  const strange: ReadonlyArray<readonly [what: string, cost: object]> = [
    ["a Map", new Map([["default", 5]])],
    ["a Set", new Set([5])],
    ["an object that inherits its numbers", Object.create({ default: 0 }) as object],
    ["an instance of a class", new (class { get default() { return 5; } })()],
    ["a Date", new Date(5)],
    ["a boxed number", Object(5) as object],
    ["a promise of a cost", Promise.resolve(5)],
  ];
  test.each(strange)("L9 · bad input: %s is no cost", async (_, object) => {
    const cost = object as Cost;
    const wrong = (name: string): string =>
      `Expected \`${name}\` to be a number or a plain object, got an object of another kind. Pass a copy: { ...object }, or Object.fromEntries(map)`;
    refuses([cost, TypeError, wrong("cost")], () => limiter.consume("alice", { cost }), () => limiter.peek("alice", { cost }), () => combine({ user: limiter }).consume({ user: "alice" }, { cost: { user: cost } }));
    refuses([cost, TypeError, wrong("cost")], () => limiter.credit("alice", { cost }), () => limiter.debit("alice", { cost }));
    const decision = limiter.consume("alice", 1);
    refuses([cost, TypeError, wrong("cost")], () => limiter.settle("alice", decision, { cost }));
    limiter.refund("alice", decision);
    await expect(run(limiter, "alice", () => 1, { cost })).rejects.toThrow(new TypeError(wrong("cost")));
    await expect(createWaiter(limiter).consume("alice", { cost })).rejects.toThrow(new TypeError(wrong("cost")));
  });

  const plain: ReadonlyArray<readonly [what: string, cost: object]> = [
    ["an object literal", { default: 5 }],
    ["an object without a prototype", Object.assign(Object.create(null) as object, { default: 5 })],
    ["parsed JSON", JSON.parse('{ "default": 5 }') as object],
  ];
  test.each(plain)("L9 · bad input: %s is a cost", (what, cost) => {
    expect(limiter.consume(what, { cost: cost as Cost })).toMatchObject({ allowed: true, cost: 5, remaining: 5 });
    limiter.reset(what);
  });

  const keys: readonly Row[] = [
    ["", TypeError, "Expected `key` to be a non-empty string, got an empty one"],
    [[], TypeError, 'Expected `key` to be a non-empty string or a tuple such as ["user", 42], got an array of 0'],
    [undefined, TypeError, 'Expected `key` to be a non-empty string or a tuple such as ["user", 42], got undefined'],
    [null, TypeError, 'Expected `key` to be a non-empty string or a tuple such as ["user", 42], got null'],
    [42, TypeError, 'Expected `key` to be a non-empty string or a tuple such as ["user", 42], got 42'],
    [{ 0: "a", length: 1 }, TypeError, 'Expected `key` to be a non-empty string or a tuple such as ["user", 42], got an object'],
    ...["", undefined, null, true, 1.5, Number.NaN, 2 ** 53].map((part): Row => [
      ["user", part],
      TypeError,
      `Expected every part of \`key\` to be a non-empty string or an integer, got ${part === "" ? '""' : String(part)}`,
    ]),
    [["user", ["a"]], TypeError, "Expected every part of `key` to be a non-empty string or an integer, got an array of 1"],
  ];
  test.each(keys.map(titled))("L9 · bad input: %s", (_, row) => {
    const key = row[0] as Key;
    refuses(row, () => limiter.consume(key), () => limiter.peek(key), () => limiter.settle(key, limiter.peek("alice"), 1), () => limiter.refund(key, limiter.peek("alice")), () => limiter.credit(key, 1), () => limiter.debit(key, 1), () => limiter.block(key, 1), () => limiter.reset(key));
  });

  test.each([Number.NaN, Infinity, -Infinity, 2 ** 53])("L9 · bad input: a clock that reads %s is refused, and nothing is taken", (reading) => {
    const message = `Expected \`clock()\` to be a finite number of milliseconds below 2^53, got ${reading}`;
    const calls = [
      () => bucket.consume(),
      () => bucket.peek(),
      () => bucket.credit(1),
      () => limiter.consume("alice"),
      () => limiter.peek("alice"),
      () => limiter.credit("alice", 1),
    ];
    const before = [bucket.peek(), limiter.peek("alice")];
    clock.set(reading);
    for (const call of calls) expect(complaint(call)).toBe(`RangeError: ${message}`);
    clock.set(1_000);
    expect([bucket.peek(), limiter.peek("alice")]).toStrictEqual(before);
  });

  const policy = { capacity: 5, refill };
  const aClock = "Expected `clock` to be a function that returns milliseconds, or { now, wallNow }, got";
  const limiterOptions: ReadonlyArray<readonly [option: object, error: typeof TypeError | typeof RangeError, message: string]> = [
    [{ shadow: 1 }, TypeError, "Expected `shadow` to be true, false or a function of the key, got 1"],
    [{ observe: {} }, TypeError, "Expected `observe` to be made by createObserver(listener), got an object"],
    [{ observe: () => 1 }, TypeError, "Expected `observe` to be made by createObserver(listener), got a function"],
  ];
  const options: readonly Row[] = [
    [() => new TokenBucket({ capacity: 5, refill, clock: 5 as never }), TypeError, `${aClock} 5`],
    [() => new MemoryStore({ clock: {} as never }), TypeError, `${aClock} an object`],
    [() => new MemoryStore({ clock: performance as never }), TypeError, `${aClock} an object`],
    ...positive("maxKeys").map(([given, ...rest]): Row => [() => new MemoryStore({ maxKeys: given as number }), ...rest]),
    [() => createLimiter(undefined as never), TypeError, "Expected `options` to be an object with a `policy`, got undefined"],
    [
      () => createLimiter({ policy, store: {} as never }),
      TypeError,
      "Expected `store` to be an object with `sync` and `ask`, got an object. For memory, leave `store` out for this process's memory, or write `new MemoryStore()`; for a client of Redis, write `new RedisStore(client)`, from sluice/redis",
    ],
    [
      () => createLimiter({ policy, onStoreError: "open" as never }),
      RangeError,
      'Expected `onStoreError` to be "local", "allow" or "unavailable", got "open"',
    ],
    ...limiterOptions.map(([option, type, message]): Row => [() => createLimiter({ policy, ...option } as never), type, message]),
    ...[
      () => createLimiter({ policy, stor: 1 } as never),
      () => createLimiter({ policy, STORE_: 1 } as never),
    ].map((make, i): Row => [make, TypeError, `Unknown option \`${["stor", "STORE_"][i]}\`. Did you mean \`store\`?`]),
    [() => new MemoryStore({ stor: 1 } as never), TypeError, "Unknown option `stor`. Known options: `maxKeys`, `clock`"],
    ...[
      () => new TokenBucket({ capacity: 5, refill, stor: 1 } as never),
      () => definePolicy({ capacity: 5, refill, stor: 1 } as never),
    ].map((make): Row => [make, TypeError, "Unknown option `stor`. Known options: `name`, `capacity`, `refill`, `renews`, `returns`, `unit`, `limits`"]),
    [() => definePolicy({ limits: [{ capacity: 5, refill, stor: 1 }] } as never), TypeError, 'Policy "default", limit "1": Unknown option `stor`. Known options: `name`, `capacity`, `refill`, `renews`, `returns`, `cost`, `unit`'],
    [() => definePolicy({ name: "api", limits: [{ capacity: 5, refill }, { name: "day", capacity: 5, refill, stor: 1 }] } as never), TypeError, 'Policy "api", limit "day": Unknown option `stor`. Known options: `name`, `capacity`, `refill`, `renews`, `returns`, `cost`, `unit`'],
    [() => limiter.consume("alice", { stor: 1 } as never), TypeError, "Unknown option `stor`. Known options: `cost`, `policy`"],
    [() => new MemoryStore({ maxKeys: 1e9 + 1 }), RangeError, "Expected `maxKeys` to be at most 1000000000, got 1000000001"],
    [() => new MemoryStore(null as never), TypeError, "Expected `options` to be an object, got null"],
    [() => createLimiter({ policy, store: null as never }), TypeError, "Expected `store` to be an object with `sync` and `ask`, got null. For memory, leave `store` out for this process's memory, or write `new MemoryStore()`; for a client of Redis, write `new RedisStore(client)`, from sluice/redis"],
    [() => definePolicy({ ...policy, name: null as never }), TypeError, "Expected `policy.name` to be a string, got null"],
    [() => limiter.consume("alice", null as never), TypeError, "Expected `cost` to be a number, or an object with `cost` or `policy`, got null"],
    [() => limiter.consume("alice", { policy: policy as never }), TypeError, "Expected `policy` to be made by definePolicy, or `unlimited`, got an object. Pass a copy to definePolicy first."],
    [() => limiter.refund("alice", 3 as never), TypeError, "Expected `decision` to be a decision of `consume`, got 3. To give tokens back without one, write credit(key, tokens)"],
    [() => limiter.refund("alice", null as never), TypeError, "Expected `decision` to be a decision of `consume`, got null. To give tokens back without one, write credit(key, tokens)"],
    [() => limiter.settle("alice", Promise.resolve() as never, 1), TypeError, "Expected `decision` to be a decision of `consume`, got a promise. Write `await` before `consume`"],
  ];
  test.each(options.map(titled))("L9 · bad input: %s", (_, row) => {
    refuses(row, row[0] as () => unknown);
  });

  test("L9 · bad input: a message shows a long string shortened and runs no code of the value", () => {
    const trap = { toString: () => expect.unreachable(), [Symbol.toPrimitive]: () => expect.unreachable() };
    expect(() => bucket.consume(trap as never)).toThrow(/got an object$/);
    expect(complaint(() => bucket.consume("x".repeat(10_000) as never))).toMatch(/got "x{40}…"$/);
  });

  test("L9 · bad input: a cost of 0 is no bad input: always allowed, takes nothing, keeps nothing", () => {
    expect(limiter.consume("nobody", 0)).toMatchObject({ allowed: true, cost: 0, remaining: 10, resetMs: 0 });
    expect(limiter.store.stats().buckets).toBe(1);
    limiter.consume("full", 10);
    expect(limiter.consume("full", 0)).toMatchObject({ allowed: true, remaining: 0 });
    // Even where more is spent than the numbers of today allow.
    const smaller = definePolicy({ capacity: 3, refill });
    expect(limiter.consume("full", { cost: 0, policy: smaller })).toMatchObject({ allowed: true, remaining: 0, retryAfterMs: 0 });
  });
});
