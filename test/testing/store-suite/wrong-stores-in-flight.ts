// Stores that are wrong about limits in flight, each with one mistake.
import type { Bucket } from "../../../src/core/bucket.js";
import { adjust, renewHeld } from "../../../src/core/decide.js";
import { right, wrongStore } from "./wrong-stores-base.js";
import type { WrongStore } from "./wrong-stores.js";

const OVER = "L21 · a renewal moves";
const RENEWS = "L21 · a renewal moves";

export const wrongInFlight: readonly WrongStore[] = [
  ["keeps all tokens in flight until the last date", wrongStore({
      save(policy, key, buckets, now) {
        for (const bucket of buckets as Bucket[]) if (bucket.dates?.length) bucket.dates = [bucket.dates.at(-2) as number, bucket.spent];
        right.save.call(this, policy, key, buckets, now);
      },
    }), "L2, L21 · tokens in flight come back"],
  ["gives no tokens in flight back", wrongStore({ change: (buckets, policy, changes, now) => adjust(buckets, policy, changes, now) }), "L21 · what was taken at one date"],
  ["gives tokens in flight back at a credit", wrongStore({ change: (buckets, policy, changes, now, at = now) => adjust(buckets, policy, changes, now, at) }), "L6, L14, L21"],
  ["says that a renewal after its date was made", wrongStore({ isHeld: () => true }), OVER],
  ["says that no renewal was made", wrongStore({ isHeld: () => false }), OVER],
  ["renews nothing", wrongStore({ move() {} }), RENEWS],
  ["takes the tokens of a renewal once more", wrongStore({ move: (buckets, policy, tokens, now) => void adjust(buckets, policy, tokens, now) }), RENEWS],
  ["renews from any date", wrongStore({
      move(buckets, policy, tokens, now, { to }) {
        for (const { dates = [] } of buckets) for (let i = 0; i < dates.length; i += 2) renewHeld(buckets, policy, tokens, now, { from: (dates[i] as number) - 16_000, to });
      },
    }), "L6, L14, L21"],
];
