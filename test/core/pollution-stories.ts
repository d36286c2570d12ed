// What the package does in many calls, as text: the same whatever members `Object.prototype` has. Nothing here is imported
// before it is called, so that the package may be loaded after these members were added.
import type { AsyncStore, Costs, Decision, LimiterOptions, Policy, PolicyOptions, StoreCall } from "sluice";
import type { Bucket, SyncStore } from "sluice/store";
import { callsOf } from "../../src/testing/store-calls.js";

// Noon, so that a quota of a day has half of it left.
const START = Date.UTC(2026, 0, 5, 12);

type Told = Record<string, string>;
// The verbs of all kinds of limiters, whose types differ.
type AnyLimiter = Record<"consume" | "peek" | "settle" | "refund" | "debit" | "credit" | "block" | "reset", (...args: readonly unknown[]) => unknown>;

/** What each story told, or the error with which it ended. */
export async function stories(): Promise<Told> {
  const [{ combine, createLimiter, createObserver, createWaiter, definePolicy, run, TokenBucket, unlimited, MemoryStore, ...main }, { rateLimit }, { createFetch }, store, redis] = await Promise.all([import("sluice"), import("sluice/web"), import("sluice/client"), import("sluice/store"), import("sluice/redis")]);
  let now = START;
  const clock = (): number => now;
  const told: Told = {};
  const tell = async (title: string, story: () => unknown): Promise<void> => {
    try {
      told[title] = JSON.stringify(await story(), (_, value: unknown) => (value === Infinity ? "Infinity" : value));
    } catch (error) {
      told[title] = String((error as Error).stack);
    }
    now = START;
  };
  const made = (policy: PolicyOptions, more: Partial<LimiterOptions> = {}): AnyLimiter =>
    createLimiter({ policy, store: new MemoryStore({ clock }), ...more } as LimiterOptions) as unknown as AnyLimiter;

  const whenDone = main.whenDone({ staleAfterMs: 10_000 });
  const policies: Record<string, PolicyOptions> = {
    rate: { name: "rate", capacity: 5, refill: main.perSecond(1) },
    quota: { name: "quota", capacity: 5, renews: main.daily({ timeZone: "Europe/Berlin" }) },
    flight: { name: "flight", capacity: 3, returns: whenDone },
    window: { name: "window", capacity: 5, returns: main.afterMs(2_000) },
    rates: { name: "rates", limits: [{ name: "a", capacity: 5, refill: main.perSecond(1), unit: "tokens" }, { name: "b", capacity: 9, refill: main.perMinute(9), cost: 2 }] },
    many: { name: "many", limits: [{ name: "a", capacity: 5, refill: main.perSecond(1) }, { name: "b", capacity: 9, renews: main.monthly(), cost: 2 }, { name: "c", capacity: 4, returns: whenDone }] },
    held: { name: "held", limits: [{ name: "a", capacity: 5, refill: main.perSecond(1) }, { name: "b", capacity: 9, returns: main.afterMs(2_000) }, { name: "c", capacity: 4, returns: whenDone }] },
  };
  const rate = policies["rate"] as PolicyOptions;

  for (const [name, policy] of Object.entries(policies)) {
    const isOne = !Object.hasOwn(policy, "limits");
    const amount = (tokens: number): unknown => (isOne ? tokens : { a: tokens });
    await tell(`${name}: the verbs`, () => {
      const limiter = made(policy);
      const first = limiter.consume("ann");
      const steps = [first, limiter.consume("ann", { cost: amount(2) }), limiter.settle("ann", first, { cost: amount(0) }), limiter.peek("ann"), limiter.refund("ann", limiter.consume("ann"))];
      steps.push(limiter.settle("ann", limiter.consume("ann"), { cost: amount(3) }));
      if (name !== "flight") steps.push(limiter.debit("ann", { cost: amount(3) }), limiter.credit("ann", { cost: amount(1) }), limiter.peek("ann"));
      steps.push(limiter.block("ann", 1_000), limiter.consume("ann"), limiter.block("ann", 0), limiter.consume("ann"), limiter.reset("ann"), limiter.peek("ann"));
      now += 1_500;
      return [...steps, ...Array.from({ length: 6 }, () => limiter.consume("ann"))];
    });
    await tell(`${name}: run`, async () => {
      const limiter = made(policy);
      return [await run(limiter as never, "ann", () => 1), limiter.peek("ann")];
    });
    const ask = async (options: object, requests = 7): Promise<unknown> => {
      const handler = rateLimit(options as never)(async () => new Response("ok"));
      const answers: unknown[] = [];
      for (let i = 0; i < requests; i++) {
        const response = await handler(new Request("http://localhost/"));
        answers.push(response.status, [...response.headers], await response.text());
      }
      return answers;
    };
    await tell(`${name}: a gate`, async () => {
      const events: unknown[] = [];
      const observe = createObserver(({ type }) => void events.push(type));
      const answers = await ask({ policy, store: new MemoryStore({ clock }), key: () => "ann", actualCost: () => amount(1), observe, onDecision: ({ allowed }: { allowed: boolean }) => events.push(allowed) });
      return [answers, events];
    });
    // A function that answers later takes another way through the gate than one that answers at once.
    const limiter = made(policy, { shadow: (key) => key === "emil" });
    const later: Record<string, object> = {
      key: { key: async () => "ann" },
      cost: { key: () => "bob", cost: async () => amount(2) },
      skip: { key: () => "carl", skip: async () => false },
      policy: { key: () => "dora", policy: async () => (limiter as unknown as { policy: Policy }).policy },
      shadow: { key: () => "emil" },
      "no key": { key: async () => undefined },
      "no key, refused": { key: () => undefined, unidentified: "refuse" },
      respond: { key: () => "gina", respond: () => ({ tooMany: true }) },
    };
    for (const [what, options] of Object.entries(later)) await tell(`${name}: a gate, ${what}`, () => ask({ limiter, ...options }, 5));
  }

  await tell("a combination, and a waiter", async () => {
    const shared = new MemoryStore({ clock });
    const both = combine({ user: made(rate, { store: shared }), tenant: made(policies["many"] as PolicyOptions, { store: shared }) } as never) as unknown as AnyLimiter;
    const keys = { user: "ann", tenant: "acme" };
    const free = { user: "ann", tenant: unlimited };
    const first = both.consume(keys);
    const steps = [first, both.settle(keys, first, { cost: { tenant: { a: 0 } } }), both.peek(keys)];
    const waiter = createWaiter(both as never, { maxWaitMs: 10 }) as unknown as AnyLimiter;
    steps.push(await waiter.consume(keys));
    const second = await waiter.consume(free);
    return [...steps, second, await waiter.refund(free, second), await run(both as never, keys as never, () => 1)];
  });
  await tell("no limit, a tier, a bucket, a key", () => {
    const limiter = made(rate);
    const small = definePolicy({ ...rate, capacity: 2 } as PolicyOptions);
    const paid = limiter.consume("ann", { policy: small, cost: 2 });
    const bucket = new TokenBucket({ capacity: 3, refill: main.perSecond(1), clock });
    return [limiter.consume("ann", { policy: unlimited }), paid, limiter.consume("ann", { policy: small }), limiter.settle("ann", paid, { cost: 0, policy: small }), bucket.consume(2), bucket.consume(2), bucket.credit(1), bucket.peek(), main.addressKey("::1"), limiter.consume(["user", "ann"])];
  });

  /** As little as a store may have. */
  class Least {
    readonly clock = clock;
    readonly rows = new Map<string, Map<string, Bucket>>();
    ask(call: StoreCall) {
      const [{ key }] = call.parts;
      const rows = this.rows.get(key) ?? new Map<string, Bucket>();
      this.rows.set(key, rows);
      return store.answerCall(call, [rows], now).answers;
    }
  }
  class LeastSync extends Least { readonly sync = true; }
  class LeastAsync extends Least {
    readonly sync = false;
    readonly guard = store.guard();
    override ask(call: StoreCall) {
      return Promise.resolve(super.ask(call)) as never;
    }
  }
  const lacking = async (own: SyncStore | AsyncStore): Promise<unknown> => {
    const limiter = made(rate, { store: own as never });
    const steps: unknown[] = [await limiter.consume("ann"), await limiter.consume("ann", 5)];
    const calls = [() => limiter.peek("ann"), () => limiter.settle("ann", steps[0], 0), () => limiter.debit("ann", 1), () => limiter.block("ann", 1), () => limiter.reset("ann"), () => made(policies["quota"] as PolicyOptions, { store: own as never }), () => made(policies["flight"] as PolicyOptions, { store: own as never }), () => combine({ a: made(rate, { store: own as never }), b: made(rate, { store: new MemoryStore({ clock }) }) } as never)];
    for (const call of calls) steps.push(await Promise.resolve().then(call).catch((error: unknown) => (error as Error).message));
    return steps;
  };
  await tell("a store that lacks all it may, at once", () => lacking(new LeastSync() as unknown as SyncStore));
  await tell("a store that lacks all it may, later", () => lacking(new LeastAsync() as unknown as AsyncStore));
  await tell("compare-and-set", async () => {
    const kept = new Map<string, string>();
    const own = store.casStore<string>({
      read: async (key) => (kept.has(key) ? { value: kept.get(key) as string, version: kept.get(key) as string } : null),
      write: async (key, value) => Boolean(kept.set(key, value)),
    });
    const steps: unknown[] = [];
    for (const policy of Object.values(policies)) {
      const limiter = made(policy, { store: own as never });
      const decision = await limiter.consume("ann");
      steps.push((decision as { remaining: number }).remaining, await limiter.refund("ann", decision), await limiter.block("ann", 600_000), ((await limiter.consume("ann")) as { blocked?: true }).blocked);
    }
    return steps;
  });
  await tell("Redis, and an outage of it", async () => {
    const sent: unknown[] = [];
    const steps: unknown[] = [];
    for (const name of ["rate", "rates", "flight", "window", "held"]) {
      // Each answer is none, so each call is an outage. A client is known by members that it inherits, and this one has none.
      const own = new redis.RedisStore(Object.assign(Object.create(null) as object, { evalsha: async (_: string, ...rest: unknown[]) => (sent.push(rest), null), eval: async () => null }), { breaker: false });
      const limiter = made(policies[name] as PolicyOptions, { store: own as never });
      const failing = (call: () => unknown): Promise<void> => Promise.resolve().then(call).then(undefined, (error: unknown) => void steps.push(String(error)));
      const policy = (limiter as unknown as { policy: Policy }).policy;
      const changes = policy.limits.length > 1 ? policy.limits.map(() => 2) : 2;
      const decision = (await limiter.consume("ann")) as Decision;
      const settled = await limiter.settle("ann", decision, { cost: policy.limits.length > 1 ? { a: 3 } : 3 });
      for (const { allowed, reason, degraded, cost, capacity, remaining } of [decision, (await limiter.consume("ann")) as Decision]) steps.push(allowed, reason, degraded, cost, capacity, remaining, settled);
      await failing(() => callsOf(own).together([{ policy, key: "ann", cost: 1 }, { policy, key: "bob", cost: 1 }]));
      await failing(() => callsOf(own).adjust(policy, "ann", changes as Costs, { at: START, heldAt: START, since: START }));
      await failing(() => callsOf(own).renew(policy, "ann", 1, { from: START, to: START + 5_000 } as never));
      if (name !== "flight") await failing(() => limiter.debit("ann", { cost: policy.limits.length > 1 ? { a: 3 } : 3 }));
    }
    return [steps, sent];
  });
  await tell("the client", async () => {
    const sent: unknown[] = [];
    const time = { now: () => 0, wallNow: () => 0, sleep: async (ms: number) => void sent.push(ms), random: () => 0.5 };
    const fetch = createFetch({ time, fetch: async (input, init) => (sent.push(input instanceof Request ? input.url : input.toString(), init?.method, init?.headers), new Response("here", { status: sent.length > 6 ? 200 : 429, headers: { "Retry-After": "2" } })) });
    const headers = { "x-user": "ann" };
    return [(await fetch("http://localhost/a")).status, (await fetch(new URL("http://localhost/b"), Object.create({ method: "PUT", headers, body: "x" }) as RequestInit)).status, sent];
  });
  return told;
}
