// Programs that have both copies of the package: the ES modules, and the CommonJS files that Jest, Bun and Yarn PnP load beside them.

/** One program, and what it returns. It is the body of an async function of `esm`, `cjs` and the rest of {@link HELPERS}. */
export interface CopiesProgram {
  readonly title: string;
  readonly program: string;
  readonly expected: unknown;
}

/** Statements that define what the programs share, beside `esm` and `cjs`. */
export const HELPERS = `
  const refill = { tokens: 1, everyMs: 60_000 };
  const down = { read: () => Promise.reject(new Error("down")), write: () => Promise.reject(new Error("down")) };
  const both = (use) => [use(esm, cjs), use(cjs, esm)];`;

export const PROGRAMS: readonly CopiesProgram[] = [
  {
    title: "the two copies are two",
    program: "return [esm.createLimiter === cjs.createLimiter, esm.SluiceError === cjs.SluiceError]",
    expected: [false, false],
  },
  {
    title: "each accepts the other's policies",
    program: `return both((one, other) => {
      const policy = other.definePolicy({ name: "api", capacity: 2, refill });
      const pro = other.definePolicy({ name: "api", capacity: 5, refill });
      return [one.definePolicy(policy) === policy, one.createLimiter({ policy }).consume("ann", { policy: pro }).capacity];
    });`,
    expected: [[true, 5], [true, 5]],
  },
  {
    title: "each accepts the other's stores, also one with a guard that fails",
    program: `return Promise.all(both(async (one, other) => {
      const policy = { name: "api", capacity: 2, refill };
      const memory = one.createLimiter({ policy, store: new other.MemoryStore() }).consume("ann");
      const failed = await one.createLimiter({ policy, store: other.casStore(down), onStoreError: "unavailable" }).consume("ann");
      return [memory.remaining, failed.reason, failed.error.message];
    }));`,
    expected: [[1, "store_unavailable", "down"], [1, "store_unavailable", "down"]],
  },
  {
    title: "both share the guard of a store: one circuit breaker, one local share, one event",
    program: `return Promise.all(both(async (one, other) => {
      const store = one.casStore(down, { breaker: { failures: 3 } });
      const seen = [];
      const observe = other.createObserver((event) => event.type === "store" && seen.push(event.state));
      const [a, b] = [one, other].map(({ createLimiter }) => createLimiter({ policy: { name: "api", capacity: 4, refill }, store, observe }));
      for (const key of ["ann", "bob", "eve"]) await a.consume(key);
      const [second, third] = [await b.consume("ann"), await b.consume("ann")];
      return [seen, second.allowed, second.error.code, third.reason];
    }));`,
    expected: [[["unavailable"], true, "ERR_STORE_OPEN", "store_unavailable"], [["unavailable"], true, "ERR_STORE_OPEN", "store_unavailable"]],
  },
  {
    title: "each accepts the other's limiters",
    program: `return Promise.all(both(async (one, other) => {
      const limiter = other.createLimiter({ policy: { name: "api", capacity: 9, refill } });
      const tenant = one.createLimiter({ policy: { name: "tenant", capacity: 9, refill } });
      const waited = await one.createWaiter(limiter).consume("ann");
      const ran = await one.run(limiter, "ann", ({ remaining }) => remaining, { cost: 2, actualCost: () => 1 });
      const together = one.combine({ limiter, tenant }).consume({ limiter: "ann", tenant: other.unlimited });
      const verdict = await one.createGate({ limiter, key: () => "ann" }, one.webReader)(new Request("http://localhost/"));
      return [waited.remaining, ran, together.remaining, together.decisions.tenant, verdict.decision.remaining];
    }));`,
    expected: [[8, 6, 6, null, 5], [8, 6, 6, null, 5]],
  },
  {
    title: "each knows the other's callers without a key",
    program: `return Promise.all(both(async (one, other) => {
      const request = new Request("http://localhost/");
      const [user, tenant] = ["user", "tenant"].map((name) => other.createLimiter({ policy: { name, capacity: 9, refill } }));
      const keyless = await one.createGate({ limiter: user, key: () => null }, one.webReader)(request);
      const limiter = other.combine({ user, tenant });
      const gates = ["share", "refuse", "skip"].map((unidentified) => one.createGate({ limiter, key: () => ({ user: null, tenant: "acme" }), unidentified }, one.webReader));
      const verdicts = await Promise.all(gates.map((gate) => gate(request)));
      return [keyless.decision.remaining, ...verdicts.map(({ outcome, decision }) => decision?.remaining ?? outcome)];
    }));`,
    expected: [[8, 7, "refuse", 7], [8, 7, "refuse", 7]],
  },
  {
    title: "`instanceof` knows the other's errors, by class and by base",
    program: `return both((one, other) => {
      const errors = [
        new other.StoreError("ERR_STORE_REPLY", "x"),
        new other.StoreUnavailableError("ERR_STORE_TIMEOUT", "x"),
        new other.RefusedError({ policy: "api", reason: "limited", retryAfterMs: 5 }),
      ];
      const classes = [one.StoreError, one.StoreUnavailableError, one.RefusedError];
      class Mine extends one.StoreError {}
      return [
        errors.map((error) => classes.map((type) => Number(error instanceof type)).join("")),
        errors.every((error) => error instanceof one.SluiceError && !(error instanceof Mine)),
        new Mine("ERR_STORE_REPLY", "x") instanceof one.StoreError,
        new Error("x") instanceof one.SluiceError || {} instanceof one.StoreError || null instanceof one.SluiceError,
      ];
    });`,
    expected: [[["100", "010", "001"], true, true, false], [["100", "010", "001"], true, true, false]],
  },
  {
    title: "both know what the other has refunded, claimed and silenced",
    program: `const store = new esm.MemoryStore();
      const [one, other] = [esm, cjs].map(({ createLimiter }) => createLimiter({ policy: { name: "api", capacity: 5, refill }, store }));
      const decision = one.consume("ann", 3);
      one.consume("ann", 2);
      other.refund("ann", decision);
      one.refund("ann", decision);
      let refusal = null;
      try {
        cjs.createLimiter({ policy: { name: "api", capacity: 6, refill }, store });
      } catch (error) {
        refusal = error.name;
      }
      esm.silenceWarnings("SLUICE_FUNCTION_FAILED");
      const warnings = [];
      process.emitWarning = (message) => warnings.push(message);
      const observe = cjs.createObserver(() => { throw new Error("x"); });
      cjs.createLimiter({ policy: { name: "api", capacity: 5, refill }, observe }).consume("ann");
      return [one.peek("ann").remaining, refusal, warnings];`,
    expected: [3, "RangeError", []],
  },
  {
    title: "both know what the other's gates decided about a request, and add to its fields",
    program: `return Promise.all(both(async (one, other) => {
      const request = new Request("http://localhost/");
      const gates = [one, other].map(({ createGate, webReader }, i) => createGate({ policy: { name: "gate" + i, capacity: 5, refill }, key: () => "ann" }, webReader));
      const verdicts = [await gates[0](request), await gates[1](request)];
      const fields = verdicts[1].fields;
      return [one, other].map(({ decisionOf, decisionsOf }) => [decisionOf(request).policy, decisionsOf(request).length]).concat([fields[fields.indexOf("ratelimit-policy") + 1]]);
    }));`,
    expected: [
      [["gate1", 2], ["gate1", 2], '"gate0";q=5;w=300, "gate1";q=5;w=300'],
      [["gate1", 2], ["gate1", 2], '"gate0";q=5;w=300, "gate1";q=5;w=300'],
    ],
  },
];
