/**
 * `npm run bench adaptive-http`: Express services that are offered twice what they can do: without a limit, with the best
 * fixed number, with the same once more as a control, and with the limit that finds its number. The service has one core,
 * and the arrivals come from a process on another. Each run of a side starts the service anew. `--quick` makes it short.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { mustStay } from "../loaded.js";
import { median, percentile } from "../ratios.js";
import { finish, goal, pinned, quick, show, type Table } from "../results.js";

const ROUNDS = quick ? 1 : 5;
const [WARM_MS, MEASURED_MS] = quick ? [5_000, 5_000] : [12_000, 10_000];
const FIXED = quick ? [8, 16] : [2, 4, 6, 8, 12, 16, 24];
const OVERLOAD = 2;

/** Each service, and about what it can do, in requests a second. */
const SERVICES = { "I/O-bound": { kind: "io", perSecond: 400 }, "CPU-bound": { kind: "cpu", perSecond: 200 } } as const;
type Service = (typeof SERVICES)[keyof typeof SERVICES];

interface Limit {
  readonly way: "none" | "fixed" | "adaptive";
  readonly places?: number;
}

interface Answers {
  readonly times: readonly number[];
  readonly refused: number;
  readonly lost: number;
  readonly late: number;
  readonly offered: number;
  readonly lagMs: number;
}

interface Measured {
  /** Answers within the deadline, a second. */
  readonly good: number;
  readonly p99Ms: number;
  readonly refused: number;
  readonly lagMs: number;
}

const arrivals = forkPinned(1, "http-arrivals.mjs", []);
try {
  for (const [name, service] of Object.entries(SERVICES)) await measureService(name, service);
} finally {
  arrivals.disconnect();
}
finish("overload", ["express"]);

async function measureService(name: string, service: Service): Promise<void> {
  const { kind, perSecond } = service;
  const measure = async (limit: Limit, times: number, deadlineMs: number, seed: number): Promise<Measured> => {
    const answers = await play(kind, limit, { perSecond: times * perSecond, seed });
    process.stderr.write(".");
    const second = MEASURED_MS / 1_000;
    return {
      good: answers.times.filter((ms) => ms <= deadlineMs).length / second,
      p99Ms: answers.times.length > 0 ? percentile(answers.times, 0.99) : NaN,
      refused: answers.refused / second,
      lagMs: answers.lagMs,
    };
  };
  const alone = await measure({ way: "none" }, 0.2, Infinity, 1);
  const deadlineMs = 3 * alone.p99Ms;
  let best: { places: number; good: number } = { places: 0, good: -1 };
  for (const places of FIXED) {
    const { good } = await measure({ way: "fixed", places }, OVERLOAD, deadlineMs, 2);
    if (good > best.good) best = { places, good };
  }
  const fixed = { way: "fixed", places: best.places } as const;
  const peer = `fixed, ${best.places}`;
  const sides: Readonly<Record<string, Limit>> = {
    "no limit": { way: "none" }, [peer]: fixed, "the same again": fixed, "adaptive": { way: "adaptive" },
  };
  const rounds = new Map(Object.keys(sides).map((side) => [side, [] as Measured[]]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [side, limit] of Object.entries(sides)) {
      rounds.get(side)?.push(await measure(limit, OVERLOAD, deadlineMs, 10 + round));
    }
  }
  process.stderr.write("\r".padEnd(70) + "\r");
  const of = (side: string, pick: (each: Measured) => number): number[] => (rounds.get(side) ?? []).map(pick);
  const goodOf = (side: string): number[] => of(side, ({ good }) => good);
  const p99Of = (side: string): number => median(of(side, ({ p99Ms }) => p99Ms)) / alone.p99Ms;
  const table: Table = Object.fromEntries(Object.keys(sides).map((side) => [side, {
    "useful a second": Math.round(median(goodOf(side))),
    "from and to": `${Math.min(...goodOf(side)).toFixed(0)} to ${Math.max(...goodOf(side)).toFixed(0)}`,
    "99th percentile, times alone": Number(p99Of(side).toFixed(1)),
    "refused a second": Math.round(median(of(side, ({ refused }) => refused))),
    "sent late, ms at most": Math.round(Math.max(...of(side, ({ lagMs }) => lagMs))),
  }]));
  show(`Over HTTP, ${name}: ${OVERLOAD * perSecond} a second; an answer is useful within ${deadlineMs.toFixed(0)} ms`, table);
  const shareOf = (side: string): number =>
    median(goodOf(side).map((good, round) => (100 * good) / (goodOf(peer)[round] as number)));
  const spread = `control ${shareOf("the same again").toFixed(0)}`;
  goal(`${name} Express: useful answers, % of the best fixed number's`, { median: shareOf("adaptive"), spread }, { atLeast: 90 });
  goal(`${name} Express: 99th percentile, beside alone`, { median: p99Of("adaptive") }, { atMost: 3 });
}

interface Arriving {
  readonly perSecond: number;
  readonly seed: number;
}

/** Starts a service, sends it arrivals, and ends it. */
async function play(kind: string, limit: Limit, { perSecond, seed }: Arriving): Promise<Answers> {
  const dist = new URL("../../dist/", import.meta.url).href;
  const service = forkPinned(0, "http-service.mjs", [kind, JSON.stringify(limit), dist]);
  try {
    const [port] = (await once(service, "message")) as [number];
    arrivals.send({ port, perSecond, warmMs: WARM_MS, ms: MEASURED_MS, seed });
    return ((await once(arrivals, "message")) as [Answers])[0];
  } finally {
    service.disconnect();
  }
}

function forkPinned(core: number, file: string, args: readonly string[]): ChildProcess {
  const [command, ...rest] = pinned(core, [process.execPath, fileURLToPath(new URL(file, import.meta.url)), ...args]);
  const env = { ...process.env, NODE_ENV: "production" };
  const child = spawn(command, rest, { stdio: ["ignore", "inherit", "inherit", "ipc"], env });
  mustStay(child, file);
  return child;
}
