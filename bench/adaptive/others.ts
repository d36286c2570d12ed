// Other ways to find the number of requests in flight, in the same queue. Each follows what its project documents, with
// its defaults, except that all start at 20 and stay from 1 to 500. None is a port: they show what a method does.
import { drawsOf, type Limit } from "./queue.js";

const FIRST = 20;
const [LEAST, MOST] = [1, 500];
const within = (number: number): number => Math.max(LEAST, Math.min(MOST, number));

/** No limit. */
export const noLimit = (): Limit => ({ number: () => Infinity, sample: () => undefined });

/**
 * One more for an answer within `thresholdMs`, a tenth less for one after it: Netflix's AIMDLimit. It has to be told the
 * threshold.
 */
export function aimd(thresholdMs: number): Limit {
  let limit = FIRST;
  return {
    number: () => limit,
    sample(_now, ms, { inFlight }, failed) {
      if (failed || ms > thresholdMs) limit = within(Math.min(limit - 1, Math.floor(limit * 0.9)));
      else if (inFlight * 2 >= limit) limit = within(limit + 1);
    },
  };
}

/**
 * Keeps the line that the shortest time seen predicts between two numbers: Netflix's VegasLimit. After 15 to 30 times its
 * number of answers it takes the next time for the shortest.
 */
export function vegas(seed: number): Limit {
  const draw = drawsOf(seed ^ 0x2545f491);
  let [limit, shortest, count, jitter] = [FIRST, Infinity, 0, 0.5 + draw() / 2];
  return {
    number: () => Math.floor(limit),
    sample(_now, ms, { inFlight }, failed) {
      count += 1;
      if (count >= jitter * 30 * limit || ms < shortest) {
        if (count >= jitter * 30 * limit) [count, jitter] = [0, 0.5 + draw() / 2];
        shortest = ms;
        return;
      }
      const step = Math.max(1, Math.floor(Math.log10(limit)));
      const line = Math.ceil(limit * (1 - shortest / ms));
      if (failed) limit = within(limit - step);
      else if (inFlight * 2 < limit) return;
      else if (line <= step) limit = within(limit + 6 * step);
      else if (line < 3 * step) limit = within(limit + step);
      else if (line > 6 * step) limit = within(limit - step);
    },
  };
}

/** Compares each time with 1.5 times the mean of about 600, and leaves room for four in line: Netflix's Gradient2Limit. */
export function gradient2(): Limit {
  let [limit, long, count] = [FIRST, 0, 0];
  return {
    number: () => Math.floor(limit),
    sample(_now, ms, { inFlight }) {
      count += 1;
      long += (ms - long) * (count <= 10 ? 1 / count : 2 / 601);
      if (long > 2 * ms) long *= 0.95;
      if (inFlight < limit / 2) return;
      const gradient = Math.max(0.5, Math.min(1, (1.5 * long) / ms));
      limit = within(0.8 * limit + 0.2 * (limit * gradient + 4));
    },
  };
}

/**
 * Compares the median of 100 ms with a median that it takes at 3 requests in flight, once a minute, and after five
 * windows at that number: Envoy's gradient controller. A quarter more is no line, and the square root of the number is room.
 */
export function envoy(seed: number): Limit {
  const draw = drawsOf(seed ^ 0x1b873593);
  const [LOOKING, SAMPLES, EVERY_MS, WINDOW_MS] = [3, 50, 60_000, 100];
  let [limit, base, looking, nextLook, windowEnd, atLeast] = [FIRST, 0, true, 0, WINDOW_MS, 0];
  let times: number[] = [];
  const median = (): number => times.sort((one, other) => one - other)[times.length >> 1] as number;
  return {
    number: () => (looking ? LOOKING : Math.floor(limit)),
    sample(now, ms, { inFlight }) {
      if (looking && inFlight > LOOKING) return; // it entered before the look
      times.push(ms);
      if (looking) {
        if (times.length < SAMPLES) return;
        [base, looking, nextLook, atLeast] = [median(), false, now + EVERY_MS * (1 + 0.15 * draw()), 0];
      } else {
        if (now < windowEnd) return;
        const gradient = Math.max(0.5, Math.min(2, (1.25 * base) / median()));
        limit = Math.max(LOOKING, within(gradient * limit + Math.sqrt(limit)));
        atLeast = limit === LOOKING ? atLeast + 1 : 0;
        looking = now >= nextLook || atLeast >= 5;
      }
      times = [];
      windowEnd = now + WINDOW_MS;
    },
  };
}
