/**
 * One decision in memory, side by side with the peers and with the floor: a bare `Map` get and set on the same fresh keys.
 *
 * Every round runs all sides one after the other, and the ratios of a round are taken within it, so that a machine that
 * slows down for a minute slows all of them. What is printed is the median over the rounds, and the spread.
 */
import { createRequire } from "node:module";
import { MemoryStore as ExpressStore } from "express-rate-limit";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { createLimiter, perHour, perSecond } from "../dist/index.js";

const require = createRequire(import.meta.url);
const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 3 : 7;
const CALLS = quick ? 50_000 : 200_000;
const HUGE = 2 ** 31;

interface Side {
  readonly name: string;
  readonly run: (key: string) => unknown;
  /** It answers with a promise, which a caller has to await. */
  readonly later?: true;
}

const LocalStore = require("@fastify/rate-limit/store/LocalStore.js") as new (
  ...args: readonly unknown[]
) => { incr(key: string, done: (error: unknown, result: unknown) => void, windowMs: number, max: number): void };

function sides(denied: boolean): readonly Side[] {
  const floor = new Map<string, number>();
  const limiter = createLimiter({
    policy: denied ? { capacity: 1, refill: perHour(1) } : { capacity: 1_000_000, refill: perSecond(1_000) },
  });
  const flexible = new RateLimiterMemory({ points: denied ? 1 : HUGE, duration: 3_600 });
  const express = new ExpressStore();
  express.init({ windowMs: 3_600_000 } as never);
  const fastify = new LocalStore(false, false, undefined, 2_000_000);
  const ignore = (): void => undefined;
  return [
    { name: "bare Map (floor)", run: (key) => floor.set(key, (floor.get(key) ?? 0) + 1) },
    { name: "sluice", run: (key) => limiter.consume(key) },
    { name: "rate-limiter-flexible", run: (key) => flexible.consume(key).catch(ignore), later: true },
    { name: "express-rate-limit store", run: (key) => express.increment(key), later: true },
    { name: "@fastify/rate-limit store", run: (key) => fastify.incr(key, ignore, 3_600_000, denied ? 1 : HUGE) },
  ];
}

async function nanoseconds(side: Side, keys: number): Promise<number> {
  const start = performance.now();
  for (let i = 0; i < CALLS; i++) {
    const answer = side.run(`user:${(i * 7_919) % keys}:0123456789abcdef01234567`);
    if (side.later) await answer;
  }
  return ((performance.now() - start) / CALLS) * 1e6;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] as number;

for (const [title, keys, denied] of [
  ["1 key", 1, false],
  ["1 000 keys", 1_000, false],
  ["100 000 keys", 100_000, false],
  ["100 000 keys, denied", 100_000, true],
] as const) {
  const all = sides(denied);
  for (const side of all) await nanoseconds(side, keys);
  const times = new Map(all.map((side) => [side.name, [] as number[]]));
  for (let round = 0; round < ROUNDS; round++) {
    process.stderr.write(`\r${title}: round ${round + 1} of ${ROUNDS}   `);
    for (const side of all) times.get(side.name)?.push(await nanoseconds(side, keys));
  }
  process.stderr.write("\r".padEnd(60) + "\r");
  const floor = times.get(all[0]!.name) as number[];
  console.log(`\n${title} (median of ${ROUNDS} rounds of ${CALLS} calls)`);
  console.table(
    Object.fromEntries(
      all.map(({ name }) => {
        const own = times.get(name) as number[];
        const ratios = own.map((ns, round) => ns / (floor[round] as number));
        return [
          name,
          {
            "ns a call": Math.round(median(own)),
            "times the floor": Number(median(ratios).toFixed(2)),
            spread: `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
          },
        ];
      }),
    ),
  );
}
console.log(`Node ${process.version}, ${process.platform} ${process.arch}`);
