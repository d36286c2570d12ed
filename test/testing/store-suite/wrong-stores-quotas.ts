// Stores that are wrong about quotas, each with one mistake.
import type { Bucket } from "../../../src/core/bucket.js";
import { adjust, consume } from "../../../src/core/decide.js";
import type { Charge, Policy } from "../../../src/index.js";
import { right, wrongStore, type RightStore } from "./wrong-stores-base.js";
import type { WrongStore } from "./wrong-stores.js";

const GRANTS = "L2, L20 · a quota grants";
const GIVES_BACK = "L14, L20 · what a settlement";
const TURNS = "L6, L14, L20 · quotas and rates";
const ANY_CLOCK = "L6, L14, L20 · quotas and rates";
const DAY_MS = 86_400_000;

/** Changes the record of each quota before it is written. */
const saving = (change: (bucket: Bucket, now: number, policy: Policy) => void): typeof RightStore =>
  wrongStore({
    save(policy, key, buckets, now) {
      policy.limits.forEach(({ refill }, i) => refill ?? change(buckets[i] as Bucket, now, policy));
      right.save.call(this, policy, key, buckets, now);
    },
  });

/** Changes the record of each quota after it was read. */
const loading = (change: (bucket: Bucket, now: number, date: number) => void): typeof RightStore =>
  wrongStore({
    load(policy, key, now) {
      const buckets = right.load.call(this, policy, key, now);
      policy.limits.forEach(({ refill, kind }, i) => refill ?? change(buckets[i] as Bucket, now, kind.dateOf(now)));
      return buckets;
    },
  });

/** Whether what `at` took is given back. A decision without an instant is one of now. */
const givingBack = (isRight: (dateOf: (t: number) => number, now: number, at: number) => boolean): typeof RightStore =>
  wrongStore({
    change(buckets, policy, changes, now, from = now) {
      const at = (typeof from === "object" ? from.at : from) ?? now;
      const dateOf = policy.limits.find(({ refill }) => !refill)?.kind.dateOf;
      return adjust(buckets, policy, changes, now, dateOf === undefined || isRight(dateOf, now, at) ? undefined : at);
    },
  });

export const wrongQuotas: readonly WrongStore[] = [
  ["names no kinds", wrongStore({ makeGuard() { Object.assign(this, { kinds: undefined }); return right.makeGuard.call(this); } }), "port · the store has"],
  ["times a quota, and dates it not", saving((bucket, now) => { bucket.at = now; }), GRANTS],
  ["dates a quota a day late", saving((bucket, now) => { if (bucket.at > now) bucket.at += DAY_MS; }), GRANTS],
  ["dates a quota a millisecond early", saving((bucket, now) => { if (bucket.at > now) bucket.at -= 1; }), GRANTS],
  ["forgets a record a millisecond after it was spent, whatever its date", wrongStore({
      load(policy, key, now) {
        return right.load.call(this, policy, key, now).map((bucket, i) => (!policy.limits[i]?.refill && bucket.at > now ? { ...bucket, spent: 0 } : bucket));
      },
    }), GRANTS],
  ["moves the date with each reading", loading((bucket, now, date) => { if (bucket.at >= now) bucket.at = date; }), TURNS],
  ["reads a record by the calendar of the reader", loading((bucket, now, date) => { if (bucket.at > date) bucket.spent = 0; }), TURNS],
  ["ignores the instant of a settlement", wrongStore({ change: (buckets, policy, changes, now) => adjust(buckets, policy, changes, now) }), GIVES_BACK],
  ["gives back while the period of the decision lasts", givingBack((dateOf, now, at) => now <= dateOf(at)), ANY_CLOCK],
  ["gives back within a day of the decision", givingBack((_dateOf, now, at) => Math.abs(now - at) < DAY_MS), GIVES_BACK],
  ["gives nothing back", wrongStore({ change: (buckets, policy, changes, now, at) => at !== undefined || adjust(buckets, policy, changes, now) }), GIVES_BACK],
  ["settles a quota to the end of the period while a block lasts", wrongStore({
      refuse(buckets, policy, costs, now, blockMs) {
        const decision = right.refuse.call(this, buckets, policy, costs, now, blockMs);
        consume(buckets, policy, policy.limits.map(({ refill }) => (refill ? 0 : 1)), now);
        return decision;
      },
      isStale: () => true,
    }), "L6, L14, L20 · quotas and rates"],
  ["charges quotas of a call that is refused", wrongStore({
      async consumeTogether(charges: readonly Charge[]) {
        const decisions = await right.consumeTogether.call(this, charges);
        const dated = charges.filter(({ policy }) => policy.kindCode !== undefined && policy.limits.length === 1);
        if (decisions.some(({ allowed }) => !allowed)) for (const { policy, key, cost } of dated) await right.consume.call(this, policy, key, cost);
        return decisions;
      },
    }), "L10, L20, L21 · several charges"],
  ["chooses the period by the clock of the process", wrongStore({
      save(policy, key, buckets, now) {
        // The clock of the process is a day behind the server's.
        policy.limits.forEach(({ refill, kind }, i) => { if (!refill && this.setup.clock === undefined) (buckets[i] as Bucket).at = kind.dateOf(now - DAY_MS); });
        right.save.call(this, policy, key, buckets, now);
      },
    }), "L8 · own clock"],
];
