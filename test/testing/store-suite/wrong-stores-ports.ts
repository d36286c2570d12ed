// Stores that count right and keep keys apart, and break another promise of the port, each with one mistake.
import { spentAt, type Bucket } from "../../../src/core/bucket.js";
import { costAt } from "../../../src/core/limit.js";
import type { Decision } from "../../../src/core/decision.js";
import { adjust, consume } from "../../../src/core/decide.js";
import { guard } from "../../../src/guard/guard.js";
import type { Costs, Policy } from "../../../src/index.js";
import type { StoreSetup } from "../../../src/testing/index.js";
import { FakeServer, wrongStore, nextTurn, right, RightStore } from "./wrong-stores-base.js";
import type { WrongStore } from "./wrong-stores.js";

const answers = new WeakMap<object, Map<string, Decision>>();
const credits = new Map<string, number>();
const denials = new WeakMap<RightStore, Map<string, Decision>>();
const together = new WeakMap<object, Promise<unknown>>();
const locks = new WeakMap<object, Map<string, Promise<unknown>>>();
const forgets = new Map<string, number>();
const isRefund = (changes: Costs): boolean => costAt(changes, 0) < 0;

async function rememberingRefusals(this: RightStore, policy: Policy, key: string, cost: Costs): Promise<Decision> {
  const known = denials.get(this) ?? new Map<string, Decision>();
  denials.set(this, known);
  const name = `${this.name(policy, key)} ${String(cost)} ${this.now()}`;
  const decision = known.get(name) ?? (await right.consume.call(this, policy, key, cost));
  if (!decision.allowed) known.set(name, decision);
  return { ...decision };
}

const GUARD = "L12 · ";

export const wrongPorts: readonly WrongStore[] = [
  ["carries the function `guard`", wrongStore({ makeGuard: () => guard as never }), GUARD, undefined, /got a function/],
  ["carries the options of a guard", wrongStore({ makeGuard: () => ({ timeoutMs: 100 }) as never }), GUARD, undefined, /got an object/],
  ["has no guard, and answers later", wrongStore({ makeGuard: () => undefined as never }), GUARD, undefined, /got undefined/],
  ["keeps buckets of its own", class extends RightStore {
    constructor(_server: FakeServer, setup: StoreSetup) {
      super(new FakeServer(), setup);
    }
  }, "port · the store has", {}, /1 of 3 tokens left, got 3\nLikely cause: .*list `sharing` in `lacks`/],
  [
    "returns its live record",
    wrongStore({
      async consume(policy, key, cost) {
        const decision = await right.consume.call(this, policy, key, cost);
        const kept = answers.get(this.server) ?? new Map<string, Decision>();
        answers.set(this.server, kept);
        const name = this.name(policy, key);
        const live = Object.assign(kept.get(name) ?? {}, decision) as Decision;
        kept.set(name, live);
        return live;
      },
    }),
    "L7 · a decision is plain data",
  ],
  ["returns a value although `sync` is false", wrongStore({ consume(policy, key, cost) {
      const now = this.now();
      const buckets = this.load(policy, key, now);
      const decision = this.decide(buckets, policy, cost, now);
      this.save(policy, key, buckets, now);
      return decision as never;
    } }), "port · the store has"],
  ["throws although it is asynchronous", wrongStore({ consume(policy, key, cost) {
      this.now();
      return right.consume.call(this, policy, key, cost);
    } }), "L11 · a clock that fails"],
  ["turns errors into allowed decisions", wrongStore({ async consume(policy, key, cost) {
      try {
        return await right.consume.call(this, policy, key, cost);
      } catch {
        return { allowed: true, reason: null } as Decision;
      }
    } }), "L11 · a store that cannot reach"],
  ["replaces a failing clock with 0", wrongStore({ now() {
      try {
        return right.now.call(this);
      } catch {
        return 0;
      }
    } }), "L11 · a clock that fails"],
  ["drops the share of its guard", wrongStore({ makeGuard() { return guard({ timeoutMs: this.setup.timeoutMs, breaker: this.setup.breaker }); } }), "L12 · "],
  ["drops the circuit breaker of its guard", wrongStore({ makeGuard() { return guard({ sharedBy: this.setup.sharedBy }); } }), "L12 · "],
  ["drops the timeout of its guard", wrongStore({ makeGuard() { return guard({ sharedBy: this.setup.sharedBy, breaker: this.setup.breaker }); } }), "L12 · "],
  ["waits without end for an unreachable server", wrongStore({ async consume(policy, key, cost) {
      return this.setup.unreachable ? new Promise<never>(() => undefined) : right.consume.call(this, policy, key, cost);
    } }), "L11 · a store that cannot reach"],
  ["reads the process's clock and declares the server's", wrongStore({ now() { return this.setup.clock === undefined ? Date.now() : right.now.call(this); } }), "clock · a store with the server's clock"],
  ["ignores the given clock", wrongStore({ now: () => Date.now() }), "clock · the store reads the `clock`"],
  ["expires buckets by its own clock instead of the given one", wrongStore({ save(policy, key, buckets, now) {
      right.save.call(this, policy, key, buckets, now);
      setTimeout(() => this.server.rows.delete(this.name(policy, key)), Math.min(1e6, Math.max(...buckets.map(right.lifetimeMs))));
    } }), "clock · the store reads the `clock`"],
  ["rounds the time to the nearest millisecond", wrongStore({ now() { return Math.round((this.setup.clock ?? Date.now)()); } }), "clock · the store reads the `clock`"],
  ["charges a peek", wrongStore({ async peek(policy, key, cost) { return this.consume(policy, key, cost); } }), "L14 · spent tokens still count"],
  ["refunds beyond full", wrongStore({
      async adjust(policy, key, changes) {
        const now = this.now();
        const name = this.name(policy, key);
        const spent = Math.max(...this.load(policy, key, now).map((bucket, i) => spentAt(bucket, policy.limits[i] as never, now) / (policy.limits[i] as { unitsPerToken: number }).unitsPerToken));
        const tokens = -Math.min(...policy.limits.map((_, i) => costAt(changes, i)));
        if (tokens > spent) credits.set(name, (credits.get(name) ?? 0) + tokens - spent);
        return right.adjust.call(this, policy, key, changes);
      },
      async consume(policy, key, cost) {
        const name = this.name(policy, key);
        const credit = credits.get(name) ?? 0;
        const most = Math.max(...policy.limits.map((_, i) => costAt(cost, i)));
        if (most === 0 || credit < most) return right.consume.call(this, policy, key, cost);
        credits.set(name, credit - most);
        return { ...(await right.consume.call(this, policy, key, 0)), cost: most };
      },
    }), "adjust · refunds up to full"],
  ["expires a debt as if it were at most the capacity", wrongStore({
      save(policy, key, buckets, now) {
        right.save.call(this, policy, key, buckets, now);
        const longest = Math.max(...policy.limits.map(({ fullMs }) => fullMs));
        forgets.set(this.name(policy, key), now + longest);
      },
      load(policy, key, now) {
        if ((forgets.get(this.name(policy, key)) ?? Infinity) <= now) this.server.rows.delete(this.name(policy, key));
        return right.load.call(this, policy, key, now);
      },
    }), "L4 · no bucket is forgotten"],
  ["remembers refusals and clears them for a refund, but not for a debit", wrongStore({
      consume: rememberingRefusals,
      adjust(policy, key, changes) {
        if (isRefund(changes)) denials.delete(this);
        return right.adjust.call(this, policy, key, changes);
      },
    }), "adjust, block, reset · take effect at once"],
  ["remembers refusals and does not clear them for a block", wrongStore({
      consume: rememberingRefusals,
      adjust(policy, key, changes) {
        denials.delete(this);
        return right.adjust.call(this, policy, key, changes);
      },
    }), "adjust, block, reset · take effect at once"],
  ["resets nothing", wrongStore({ reset: async () => undefined }), "reset · makes all limits full"],
  ["resets the first limit only", wrongStore({ async reset(policy, key) { this.server.rows.get(this.name(policy, key))?.delete(policy.limits[0].name); } }), "reset · makes all limits full"],
  ["adjusts without a lock", wrongStore({
      async adjust(policy, key, changes) {
        const now = this.now();
        const buckets = this.load(policy, key, now);
        await nextTurn();
        const done = adjust(buckets, policy, changes, now);
        await nextTurn();
        if (done) this.save(policy, key, buckets, now);
        return done;
      },
    }), "L8 · concurrent calls of all methods"],
  ["locks only against other consumeTogether calls", wrongStore({
      async consumeTogether(charges) {
        const turn = (together.get(this.server) ?? Promise.resolve()).then(async () => {
          const found = charges.map(({ policy, key }) => this.load(policy, key, this.now()));
          const asked = charges.map(({ policy, cost }, i) => consume(found[i] as Bucket[], policy, cost, this.now()));
          await nextTurn();
          if (asked.every(({ allowed }) => allowed)) charges.forEach(({ policy, key }, i) => this.save(policy, key, found[i] as Bucket[], this.now()));
          return asked;
        });
        together.set(this.server, turn);
        return turn;
      },
    }), "L10 · concurrent calls of two parts"],
  ["remembers refusals and does not declare it", wrongStore({
      consume: rememberingRefusals,
    }), "adjust, block, reset · take effect at once"],
  ["does not convert records of refused charges", wrongStore({
      async consumeTogether(charges) {
        const asked = await Promise.all(charges.map(({ policy, key, cost }) => this.peek(policy, key, cost)));
        return asked.every(({ allowed }) => allowed) ? right.consumeTogether.call(this, charges) : asked;
      },
    }), "L6, L10, L14 · a consume of several parts takes all"],
  ["charges each bucket that fits", wrongStore({ consumeTogether(charges) { return Promise.all(charges.map(({ policy, key, cost }) => this.consume(policy, key, cost))); } }), "L6, L10, L14 · a consume of several parts takes all"],
  ["locks keys in the order of the charges", wrongStore({
      async consumeTogether(charges) {
        const held = locks.get(this.server) ?? new Map<string, Promise<unknown>>();
        locks.set(this.server, held);
        const done: Array<() => void> = [];
        for (const { policy, key } of charges) {
          const name = this.name(policy, key);
          while (held.has(name)) await held.get(name);
          held.set(name, new Promise<void>((resolve) => done.push(() => (held.delete(name), resolve()))));
          await nextTurn();
        }
        const decisions = await right.consumeTogether.call(this, charges);
        for (const release of done) release();
        return decisions;
      },
    }), "L10 · concurrent calls of two parts"],
  ["closes a connection that others still use", wrongStore({
      async close() { this.server.rows.set = () => { throw new Error("Expected to be open, was closed"); }; },
    }), "close · "],
  ["fails the second `close`", wrongStore({
      async close() {
        if (this.closed) throw new Error("closed already");
        this.closed = true;
      },
    }), "close · "],
  ["has no bound", wrongStore({ keyToForget: () => "no such key" }), "L13 · a store remembers"],
  ["forgets the oldest key, busy or not", wrongStore({ keyToForget() { return [...this.server.rows.keys()][0] as string; } }), "L13 · a store remembers"],
  ["turns new keys away when it is full", wrongStore({
      save(policy, key, buckets, now) {
        const { rows } = this.server;
        if (rows.has(this.name(policy, key)) || rows.size < (this.setup.maxKeys ?? Infinity)) right.save.call(this, policy, key, buckets, now);
      },
    }), "L13 · a store remembers"],
];
