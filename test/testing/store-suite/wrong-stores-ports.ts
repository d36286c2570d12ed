// Stores that count right and keep the port's other promises badly, each in one way.
import { consume, refund, type Decision } from "../../../src/core/decision.js";
import { charge, spentAt, type Bucket } from "../../../src/core/bucket.js";
import { definePolicy, type Policy } from "../../../src/index.js";
import { but, later, right, RightStore } from "./wrong-stores-base.js";
import type { Wrong } from "./wrong-stores.js";

const named = (name: (key: string) => string) => but({ name: (policy, key) => JSON.stringify([policy.name, name(key)]) });
const utf8 = (key: string): string => new TextDecoder().decode(new TextEncoder().encode(key));

const answers = new WeakMap<object, Map<string, Decision>>();
const credits = new Map<string, number>();
const denials = new WeakMap<RightStore, Map<string, Decision>>();
const objects = new WeakMap<object, Record<string, true>>();
const together = new WeakMap<object, Promise<unknown>>();
const locks = new WeakMap<object, Map<string, Promise<unknown>>>();
const forgets = new Map<string, number>();

export const wrongKeys: readonly Wrong[] = [
  ["trims keys", named((key) => key.trim()), "keys · spaces"],
  ["collapses spaces", named((key) => key.replace(/\s+/g, " ")), "keys · spaces"],
  ["lower-cases keys", named((key) => key.toLowerCase()), "keys · upper and lower case"],
  ["normalizes unicode", named((key) => key.normalize("NFKC")), "keys · unicode"],
  ["writes keys as UTF-8", named(utf8), "keys · lone surrogates"],
  ["drops what is not a letter, as some do to emoji", named((key) => key.replace(/\p{Emoji_Modifier}|\u200d/gu, "")), "keys · emoji"],
  ["ends keys at the first NUL", named((key) => key.split("\0")[0] as string), "keys · NUL"],
  ["cuts keys at 255 characters", named((key) => key.slice(0, 255)), "keys · 1 KiB"],
  ["takes keys for numbers", named((key) => (Number.isFinite(Number(key)) && key.trim() !== "" ? String(Number(key)) : key)), "keys · numbers"],
  ["decodes what looks encoded", named((key) => key.replace(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))).replace("&amp;", "&")), "keys · quotes"],
  ["takes what stands in braces for the key", named((key) => /\{(.+)\}/.exec(key)?.[1] ?? key), "keys · separators"],
  [
    "looks names up in an object",
    but({
      load(policy, key, now) {
        const known = objects.get(this.server) ?? {};
        objects.set(this.server, Object.assign(known, {}));
        // An object knows "constructor" before anybody writes it.
        if (key in known && !Object.hasOwn(known, key)) throw new Error("Expected a record, got a function");
        return right.load.call(this, policy, key, now);
      },
    }),
    "keys · names that objects have",
  ],
  ["shares keys across policies", but({ name: (_policy, key) => key }), "keys · policies that share"],
  ["joins names with a dash", but({ name: (policy, key) => `${policy.name}-${key}` }), "keys · policies that share"],
  [
    "names a limit's record by key and limit",
    but({
      save(policy, key, buckets) {
        policy.limits.forEach((limit, i) => this.server.rows.set(`${policy.name} ${key}.${limit.name}`, new Map([["", { ...(buckets[i] as Bucket) }]])));
      },
      load(policy, key) {
        return policy.limits.map(({ name, unitsPerMs, unitsPerToken }) => ({
          ...(this.server.rows.get(`${policy.name} ${key}.${name}`)?.get("") ?? { spent: 0, at: 0, unitsPerMs, unitsPerToken }),
        }));
      },
    }),
    "keys · names of limits",
  ],
];

async function rememberingRefusals(this: RightStore, policy: Policy, key: string, cost: number): Promise<Decision> {
  const known = denials.get(this) ?? new Map<string, Decision>();
  denials.set(this, known);
  const name = `${this.name(policy, key)} ${cost} ${this.now()}`;
  const decision = known.get(name) ?? (await right.consume.call(this, policy, key, cost));
  if (!decision.allowed) known.set(name, decision);
  return { ...decision };
}

export const wrongPorts: readonly Wrong[] = [
  [
    "hands out its live record",
    but({
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
    "L7 · a decision is a snapshot",
  ],
  ["answers at once although it says later", but({ consume(policy, key, cost) {
      const now = this.now();
      const buckets = this.load(policy, key, now);
      const decision = this.decide(buckets, policy, cost, now);
      this.save(policy, key, buckets, now);
      return decision as never;
    } }), "port · answers at once"],
  ["throws where it should reject", but({ consume(policy, key, cost) {
      this.now();
      return right.consume.call(this, policy, key, cost);
    } }), "L11 · a clock that fails"],
  ["swallows errors and lets everybody in", but({ async consume(policy, key, cost) {
      try {
        return await right.consume.call(this, policy, key, cost);
      } catch {
        return { allowed: true, reason: null } as Decision;
      }
    } }), "L11 · a store that cannot reach"],
  ["swallows errors of its clock and takes 0", but({ now() {
      try {
        return right.now.call(this);
      } catch {
        return 0;
      }
    } }), "L11 · a clock that fails"],
  ["waits for ever for a server that is away", but({ async consume(policy, key, cost) {
      return this.setup.unreachable ? new Promise<never>(() => undefined) : right.consume.call(this, policy, key, cost);
    } }), "L11 · a store that cannot reach"],
  ["goes by the process's clock and says server", but({ now() { return this.setup.clock === undefined ? Date.now() : right.now.call(this); } }), "clock · a server's"],
  ["goes by its own clock whatever it is told", but({ now: () => Date.now() }), "clock · goes by the clock that it is told"],
  ["expires by its own clock what was told another", but({ save(policy, key, buckets, now) {
      right.save.call(this, policy, key, buckets, now);
      setTimeout(() => this.server.rows.delete(this.name(policy, key)), Math.min(1e6, Math.max(...buckets.map(right.livesFor))));
    } }), "clock · goes by the clock that it is told"],
  ["rounds the time to the nearest millisecond", but({ now() { return Math.round((this.setup.clock ?? Date.now)()); } }), "clock · goes by the clock that it is told"],
  ["takes with a peek", but({ async peek(policy, key, cost) { return this.consume(policy, key, cost); } }), "peek · "],
  ["refunds beyond full", but({
      async refund(policy, key, tokens) {
        const now = this.now();
        const name = this.name(policy, key);
        const spent = Math.max(...this.load(policy, key, now).map((bucket, i) => spentAt(bucket, policy.limits[i] as never, now) / (policy.limits[i] as { unitsPerToken: number }).unitsPerToken));
        if (tokens > spent) credits.set(name, (credits.get(name) ?? 0) + tokens - spent);
        return right.refund.call(this, policy, key, tokens);
      },
      async consume(policy, key, cost) {
        const name = this.name(policy, key);
        const credit = credits.get(name) ?? 0;
        if (cost === 0 || credit < cost) return right.consume.call(this, policy, key, cost);
        credits.set(name, credit - cost);
        return { ...(await right.consume.call(this, policy, key, 0)), cost };
      },
    }), "refund · gives back"],
  ["lets nobody owe anything", but({ async debit(policy, key, tokens) { await this.consume(policy, key, tokens); } }), "debit · takes what is not there"],
  ["lets debts grow without end", owing((spent, units) => spent + units), "debit · takes what is not there"],
  ["ends debts at the capacity", owing((spent, units, size) => Math.max(spent, Math.min(spent + units, size))), "debit · takes what is not there"],
  ["forgives what is owed beyond twice a smaller capacity", owing((spent, units, size) => Math.min(spent + units, 2 * size)), "debit · takes what is not there"],
  ["charges debts to the first limit only", but({ debit(policy, key, tokens) { return right.debit.call(this, alone(policy), key, tokens); } }), "L8 · debts among"],
  ["forgets a debt when what fits would have come back", but({
      save(policy, key, buckets, now) {
        right.save.call(this, policy, key, buckets, now);
        const longest = Math.max(...policy.limits.map(({ fullMs }) => fullMs));
        forgets.set(this.name(policy, key), now + longest);
      },
      load(policy, key, now) {
        if ((forgets.get(this.name(policy, key)) ?? Infinity) <= now) this.server.rows.delete(this.name(policy, key));
        return right.load.call(this, policy, key, now);
      },
    }), "L4 · a debt is kept"],
  ["remembers refusals and forgets them for a refund, but not for a debt", but({
      consume: rememberingRefusals,
      refund(policy, key, tokens) {
        denials.delete(this);
        return right.refund.call(this, policy, key, tokens);
      },
    }), "debit · what is owed counts"],
  ["refunds one token, whatever is given back", but({ refund(policy, key) { return right.refund.call(this, policy, key, 1); } }), "refund · gives back"],
  ["resets nobody", but({ reset: async () => undefined }), "reset · makes"],
  ["resets the first limit only", but({ async reset(policy, key) { this.server.rows.get(this.name(policy, key))?.delete(policy.limits[0].name); } }), "reset · makes"],
  ["refunds without holding others off", but({
      async refund(policy, key, tokens) {
        const now = this.now();
        const buckets = this.load(policy, key, now);
        await later();
        refund(buckets, policy, tokens, now);
        await later();
        this.save(policy, key, buckets, now);
      },
    }), "L8 · all powers at once"],
  ["holds off only others that charge several", but({
      async consumeTogether(charges) {
        const turn = (together.get(this.server) ?? Promise.resolve()).then(async () => {
          const found = charges.map(({ policy, key }) => this.load(policy, key, this.now()));
          const asked = charges.map(({ policy, cost }, i) => consume(found[i] as Bucket[], policy, cost, this.now()));
          await later();
          if (asked.every(({ allowed }) => allowed)) charges.forEach(({ policy, key }, i) => this.save(policy, key, found[i] as Bucket[], this.now()));
          return asked;
        });
        together.set(this.server, turn);
        return turn;
      },
    }), "L10 · charges that cross"],
  ["remembers refusals and does not say so", but({
      consume: rememberingRefusals,
    }), "refund · what comes back"],
  ["settles only what it charges together", but({
      async consumeTogether(charges) {
        const asked = await Promise.all(charges.map(({ policy, key, cost }) => this.peek(policy, key, cost)));
        return asked.every(({ allowed }) => allowed) ? right.consumeTogether.call(this, charges) : asked;
      },
    }), "L14 · charges that are refused together"],
  ["charges together what fits", but({ consumeTogether(charges) { return Promise.all(charges.map(({ policy, key, cost }) => this.consume(policy, key, cost))); } }), "L10 · charges that are made together"],
  ["locks keys in the order in which they are named", but({
      async consumeTogether(charges) {
        const held = locks.get(this.server) ?? new Map<string, Promise<unknown>>();
        locks.set(this.server, held);
        const done: Array<() => void> = [];
        for (const { policy, key } of charges) {
          const name = this.name(policy, key);
          while (held.has(name)) await held.get(name);
          held.set(name, new Promise<void>((resolve) => done.push(() => (held.delete(name), resolve()))));
          await later();
        }
        const decisions = await right.consumeTogether.call(this, charges);
        for (const release of done) release();
        return decisions;
      },
    }), "L10 · charges that cross"],
  ["closes what others still use", but({
      async close() { this.server.rows.set = () => { throw new Error("Expected to be open, was closed"); }; },
    }), "close · "],
  ["cannot be closed twice", but({
      async close() {
        if (this.closed) throw new Error("closed already");
        this.closed = true;
      },
    }), "close · "],
  ["has no bound", but({ victim: () => "nobody" }), "L13 · however many come"],
  ["forgets the oldest, busy or not", but({ victim() { return [...this.server.rows.keys()][0] as string; } }), "L13 · as many callers"],
  ["locks newcomers out when it is full", but({
      save(policy, key, buckets, now) {
        const { rows } = this.server;
        if (rows.has(this.name(policy, key)) || rows.size < (this.setup.maxKeys ?? Infinity)) right.save.call(this, policy, key, buckets, now);
      },
    }), "L13 · however many come"],
];

/** A store whose debts leave so many units spent, by what was spent, what is owed more, and the bucket's size. */
function owing(after: (spent: number, units: number, size: number) => number): typeof RightStore {
  return but({
    debit(policy, key, tokens) {
      return this.atomically(() => {
        const now = this.now();
        const buckets = this.load(policy, key, now);
        policy.limits.forEach((limit, i) => {
          const bucket = buckets[i] as Bucket;
          charge(bucket, limit, now, 0);
          bucket.spent = Math.min(Number.MAX_SAFE_INTEGER, after(bucket.spent, tokens * limit.unitsPerToken, limit.size));
        });
        this.save(policy, key, buckets, now);
      });
    },
  });
}

function alone(policy: Policy): Policy {
  return definePolicy({ name: policy.name, limits: [policy.limits[0]] });
}
