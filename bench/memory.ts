/**
 * `npm run bench:memory`: one decision in memory, compared with the peers and with the floor. The floor is a bare `Map`
 * that reads and writes a number, with the same freshly made keys. Then the bytes of a caller, ten million sprayed
 * callers, the allocations of a decision, and how costs grow.
 *
 * Each side is a separate process, and its garbage collector sees no other side's heap. Every round measures all sides
 * in turn, and ratios are taken within a round. This script prints results and fails on none. `--quick` makes it short.
 * `--only=decisions`, `growth`, `bytes`, `spray`, `allocation` or `pauses` runs one part.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { inRounds, ratio } from "./measure.js";
import { median } from "./ratios.js";
import { finish, goal, pinned, plot, quick, rounded, show, type Series } from "./results.js";

const SLUICE = "sluice";
/** Allowances measured in the same rounds as refusals. */
const ALLOWED = "sluice, allowed";
const FLOOR = "bare Map";
const FLEXIBLE = "rate-limiter-flexible";
const EXPRESS = "express-rate-limit";
const FASTIFY = "@fastify/rate-limit";
/** Every side except the floor reads the clock once in a decision. */
const CLOCK = "the clock alone";
const ALL = [FLOOR, SLUICE, FLEXIBLE, EXPRESS, FASTIFY];
const ROUNDS = quick ? 3 : 7;
const CALLS = quick ? 50_000 : 150_000;
const MILLION = quick ? 200_000 : 1_000_000;

interface Options {
  readonly keys: number;
  readonly calls?: number;
  readonly limit?: number;
  readonly limits?: number;
  readonly cap?: number;
  readonly seconds?: number;
  readonly sliced?: boolean;
}

const only = process.argv.find((word) => word.startsWith("--only="))?.slice("--only=".length);
const parts = { decisions, growth, bytes, spray, allocation, pauses };
for (const [name, part] of Object.entries(parts)) if (only === undefined || only === name) await part();
finish("memory", [FLEXIBLE, EXPRESS, FASTIFY]);

/** Nanoseconds of a decision of each side, in rounds. */
async function timed(title: string, names: readonly string[], options: Options): Promise<Map<string, number[]>> {
  process.stderr.write(`\r${title}: filling   `);
  const sides = [];
  try {
    for (const name of names) {
      const own = { cap: Math.max(1_000_000, 2 * options.keys), calls: CALLS, limit: enough(options.keys), ...options };
      const worker = name === ALLOWED ? start("decide", SLUICE, { ...own, limit: enough(options.keys) }) : start("decide", name, own);
      sides.push({ name, worker });
      await once(worker, "message");
    }
    return await inRounds(title, sides, names.length > 2 ? ROUNDS : Math.min(ROUNDS, 5), async ({ worker }) => {
      worker.send("round");
      const [ns] = (await once(worker, "message")) as [number];
      return ns;
    });
  } finally {
    for (const { worker } of sides) worker.disconnect();
  }
}

/** More tokens than any caller spends. With many callers, the first token takes minutes to come back. */
function enough(keys: number): number {
  return Math.max(1_000, Math.ceil(2_000_000 / keys));
}

async function decisions(): Promise<void> {
  const self = (ns: number): number => ns;
  for (const [keys, denied] of [[1, false], [1_000, false], [100_000, false], [MILLION, false], [100_000, true], [MILLION, true]] as const) {
    const name = `${thousands(keys)} ${keys === 1 ? "key" : "keys"}${denied ? ", denied" : ""}`;
    const found = denied ? await timed(name, [...ALL, ALLOWED], { keys, limit: 1 }) : await timed(name, ALL, { keys });
    const of = (side: string): readonly number[] => found.get(side) ?? [];
    show(
      `${name}: nanoseconds a decision`,
      Object.fromEntries(
        [...found].map(([side, own]) => {
          const against = ratio(own, of(FLOOR), self);
          return [side, { ns: Math.round(median(own)), "times the floor": Number(against.median.toFixed(2)), spread: against.spread }];
        }),
      ),
    );
    if (denied) {
      goal(`${name}: beside an allowance`, ratio(of(SLUICE), of(ALLOWED), self), { atMost: 1 });
    } else if (keys !== 1_000) {
      goal(`${name}: beside a bare Map`, ratio(of(SLUICE), of(FLOOR), self), { atMost: keys === 1 ? 2 : keys === 100_000 ? 0.6 : 0.45 });
      if (keys <= 100_000) goal(`${name}: ${FLEXIBLE}, times sluice`, ratio(of(FLEXIBLE), of(SLUICE), self), { atLeast: keys === 1 ? 2.2 : 4.2 });
    }
  }
}

async function growth(): Promise<void> {
  const lines: Array<Series & { points: Array<Series["points"][number]> }> = [SLUICE, FLOOR].map((name) => ({ name, points: [] }));
  const rows: Record<string, Record<string, number>> = {};
  for (const keys of quick ? [1, 1_000, 100_000, 1_000_000] : [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000]) {
    const found = await timed(`growth: ${thousands(keys)} keys`, [SLUICE, FLOOR], { keys });
    for (const { name, points } of lines) points.push(pointOf(keys, found.get(name) ?? []));
    rows[thousands(keys)] = Object.fromEntries(lines.map(({ name, points }) => [`${name} ns`, Math.round((points.at(-1) as { y: number }).y)]));
  }
  show("Growth: nanoseconds a decision by keys", rows);
  plot("keys", lines);

  const several: Series & { points: Array<Series["points"][number]> } = { name: SLUICE, points: [] };
  for (const limits of [1, 2, 3, 4]) {
    const found = await timed(`growth: ${limits} limits`, [SLUICE], { keys: 100_000, limits });
    several.points.push(pointOf(limits, found.get(SLUICE) ?? []));
  }
  show("Growth: nanoseconds a decision by limits of the policy, 100 000 keys", Object.fromEntries(several.points.map(({ x, y }) => [x, { "sluice ns": Math.round(y) }])));
  plot("limits", [several]);
}

function pointOf(x: number, values: readonly number[]): Series["points"][number] {
  return { x, y: median(values), low: Math.min(...values), high: Math.max(...values) };
}

async function bytes(): Promise<void> {
  const rows: Record<string, Record<string, number>> = {};
  for (const name of ALL) {
    // A peer keeps the 4,000 bytes from which each key was cut, so a tenth of the callers is enough to show it.
    const slicedKeys = name === SLUICE ? MILLION : MILLION / 10;
    rows[name] = {
      "bytes a key": oneDigit(await answerOf<number>("bytes", name, { keys: MILLION, cap: 2 * MILLION, limit: 1_000 })),
      "cut from 4 KB": oneDigit(await answerOf<number>("bytes", name, { keys: slicedKeys, cap: 2 * MILLION, limit: 1_000, sliced: true })),
    };
  }
  show(`Bytes a key, ${thousands(MILLION)} keys of 36 characters`, rows);
  const own = rows[SLUICE] as Record<string, number>;
  goal("bytes a key", { median: own["bytes a key"] as number }, { atMost: 40 });
  goal("bytes a key that was cut from 4 KB", { median: own["cut from 4 KB"] as number }, { atMost: 40 });
}

interface Sprayed {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly longest: number;
  readonly grown: number;
  readonly megabytes: number;
}

async function spray(): Promise<void> {
  const cap = quick ? 100_000 : 1_000_000;
  const rows: Record<string, Record<string, number>> = {};
  for (const name of [SLUICE, FASTIFY, EXPRESS]) {
    // Without a cap, memory grows with every caller, so there are fewer of them.
    const calls = (name === EXPRESS ? 2 : 10) * cap;
    // A token takes more than a minute to come back. No bucket is idle when the store makes room.
    const { p50, p99, p999, longest, grown, megabytes } = await answerOf<Sprayed>("spray", name, { keys: 1, cap, limit: 1_000, calls });
    const row = { "p50 µs": p50, "p99 µs": p99, "p99.9 µs": p999, "longest ms": longest / 1_000, "memory, times a tenth": grown, MB: megabytes };
    rows[`${name}, ${thousands(calls)}`] = Object.fromEntries(Object.entries(row).map(([column, value]) => [column, Number(rounded(value))]));
    if (name !== SLUICE) continue;
    goal("sprayed: memory at the end, beside memory at a tenth", { median: grown }, { atMost: 1.05 });
    goal("sprayed: longest decision, ms", { median: longest / 1_000 }, { atMost: 10 });
    goal("sprayed: p99.9, times the median", { median: p999 / p50 }, { atMost: 10 });
  }
  show(`New callers all the time, at most ${thousands(cap)} kept where there is a cap`, rows);
}

async function allocation(): Promise<void> {
  // The young generation is large enough that no collection runs during the count.
  const flags = ["--min-semi-space-size=128", "--max-semi-space-size=128"];
  const rows: Record<string, Record<string, number>> = {};
  const count = async (name: string, limit: number): Promise<{ bytes: number; objects: number }> => {
    const { bytes, objects } = await answerOf<{ bytes: number; objects: number }>("allocation", name, { keys: 1_000, calls: 20_000, limit }, flags);
    return { bytes: Math.round(bytes), objects: oneDigit(objects) };
  };
  const clock = (rows[CLOCK] = await count(CLOCK, 1_000));
  for (const name of ALL) {
    for (const [verdict, limit] of [["allowed", 1_000], ["denied", 1]] as const) {
      const found = (rows[`${name}, ${verdict}`] = await count(name, limit));
      // The platform's clock allocates one object, a number with a fraction.
      if (name === SLUICE) goal(`objects that a decision allocates beside the clock's, ${verdict}`, { median: found.objects - clock.objects }, { atMost: 1 });
    }
  }
  show("What a decision allocates, without its key", rows);
}

async function pauses(): Promise<void> {
  const rows: Record<string, Record<string, number>> = {};
  for (const [name, seconds] of [[SLUICE, 60], [FLOOR, 5], [FLEXIBLE, 5], [EXPRESS, 5]] as const) {
    const found = await answerOf<{ decisions: number; count: number; total: number; longest: number; ms: number }>("pauses", name, {
      keys: MILLION,
      cap: 2 * MILLION,
      limit: 1_000,
      seconds: quick ? 2 : seconds,
    });
    rows[name] = {
      "decisions/s": Math.round((found.decisions / found.ms) * 1_000),
      seconds: Math.round(found.ms / 1_000),
      collections: found.count,
      "longest ms": Number(rounded(found.longest)),
      "share of the time, %": Number(((found.total / found.ms) * 100).toFixed(2)),
    };
  }
  show(`Garbage collection under decisions as fast as they come, ${thousands(MILLION)} keys`, rows);
}

function start(task: string, name: string, options: Options, flags: readonly string[] = []): ChildProcess {
  const file = fileURLToPath(new URL("memory-worker.mjs", import.meta.url));
  const [command, ...rest] = pinned(0, [process.execPath, "--expose-gc", ...flags, file, task, name, JSON.stringify(options)]);
  const worker = spawn(command, rest, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  worker.on("exit", (code) => {
    if (code !== 0) throw new Error(`${task} of ${name} ended with ${code}`);
  });
  return worker;
}

/** The result of a task with a single answer. */
async function answerOf<T>(task: string, name: string, options: Options, flags: readonly string[] = []): Promise<T> {
  process.stderr.write(`\r${task}: ${name}`.padEnd(50));
  const worker = start(task, name, options, flags);
  const [found] = (await once(worker, "message")) as [T];
  worker.disconnect();
  process.stderr.write("\r".padEnd(50) + "\r");
  return found;
}

function oneDigit(value: number): number {
  return Math.round(value * 10) / 10;
}

function thousands(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+$)/g, " ");
}
