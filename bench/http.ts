/**
 * `npm run bench:http`: the CPU time of a request with a limiter. It is compared with the same framework without one,
 * with the same header fields set by hand, and with the framework's own rate limiter.
 *
 * Each side is a server in a separate process on one core. The load comes from another process on another core. Every
 * round measures all sides in turn, and ratios are taken within a round.
 *
 * Each server is warmed up with about 30,000 requests, because before that a ratio depends on the compiler. Processes
 * differ by a few percent for their whole life, because of the layout of their memory. So all servers are started a
 * second time. This script prints results and fails on none. `--only=fastify` runs one framework. `--quick` leaves out
 * the sides with three fields and the peer's 429.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { inRounds, ratio } from "./measure.js";
import { median } from "./ratios.js";
import { canPin, finish, goal, pinned, plot, quick, rounded, show, type Series } from "./results.js";

const GENERATIONS = quick ? 1 : 2;
const ROUNDS = quick ? 3 : 6;
const REQUESTS = quick ? 2_000 : 4_000;
const WARM_UP = 30_000;
const CONNECTIONS = 64;
const KEYS = 1_000;

const NONE = "bare";
const HAND = "five by hand";
const HAND_THREE = "three by hand";
const SLUICE = "sluice";
const SLUICE_THREE = "sluice, three fields";
const PEER = "peer";
const ALWAYS = [NONE, HAND, SLUICE, PEER, "sluice 429"];
const SIDES = quick ? ALWAYS : [...ALWAYS, HAND_THREE, SLUICE_THREE, "peer 429"];
// The cost of any middleware on Hono: it calls a handler faster without a middleware than with one.
const WITHIN = "five by a middleware";

/** `byHand` is the goal for an allowed request, relative to the same fields set by hand. */
const FRAMEWORKS: readonly Framework[] = [
  { name: "node", title: "Node http", peer: "rate-limiter-flexible", sides: SIDES, byHand: 1.1 },
  { name: "express", title: "Express 5", peer: "express-rate-limit", sides: SIDES },
  { name: "fastify", title: "Fastify 5", peer: "@fastify/rate-limit", sides: SIDES, byHand: 1.1 },
  { name: "hono", title: "Hono on Node", peer: "hono-rate-limiter", sides: [...SIDES, WITHIN] },
];

interface Framework {
  readonly name: string;
  readonly title: string;
  readonly peer: string;
  readonly sides: readonly string[];
  readonly byHand?: number;
}

interface Running {
  readonly name: string;
  readonly port: number;
  readonly child: ChildProcess;
}

/** The result of one side in one round. */
interface Sample {
  /** Microseconds of CPU time of the server's process for each request, user and system. */
  readonly cpuUs: number;
  readonly perSecond: number;
}

interface Loaded {
  readonly ms: number;
  readonly statuses: Readonly<Record<string, number>>;
}

const only = process.argv.find((word) => word.startsWith("--only="))?.slice("--only=".length);
const beside: Series[] = SIDES.slice(1).map((name) => ({ name, points: [] }));
const loader = forkPinned(1, "http-loader.mjs", []);

try {
  for (const [place, framework] of FRAMEWORKS.entries()) if (only === undefined || only === framework.name) await measure(framework, place);
} finally {
  loader.disconnect();
}
plot("http", beside);
if (!canPin) console.log("\nProcesses cannot be pinned to cores here: server and load may share one.");
finish("http", ["express", "fastify", "hono", "@hono/node-server", ...FRAMEWORKS.map(({ peer }) => peer)]);

async function measure(framework: Framework, place: number): Promise<void> {
  const { title, peer, sides } = framework;
  const results = new Map<string, Sample[]>(sides.map((name) => [name, []]));
  const fields = new Map<string, readonly string[]>();
  for (let generation = 1; generation <= GENERATIONS; generation++) {
    const servers: Running[] = [];
    try {
      for (const name of sides) servers.push(await start(framework.name, name));
      for (const { name, port } of servers) {
        process.stderr.write(`\r${title}, servers ${generation} of ${GENERATIONS}: ${WARM_UP} requests to warm "${name}"`.padEnd(90));
        await load(port, WARM_UP, name);
        fields.set(name, await fieldsOf(port));
      }
      checkAlike(fields);
      const found = await inRounds(`${title}, servers ${generation} of ${GENERATIONS}`, servers, ROUNDS, sample);
      for (const [name, samples] of found) results.get(name)?.push(...samples);
    } finally {
      for (const { child } of servers) child.disconnect();
    }
  }

  const of = (name: string): readonly Sample[] => results.get(name) ?? [];
  const cost = ({ cpuUs }: Sample): number => cpuUs;
  show(
    `${title}, CPU time a request; peer is ${peer}`,
    Object.fromEntries(
      sides.map((name) => {
        const against = ratio(of(name), of(NONE), cost);
        return [
          name,
          {
            "µs": Number(rounded(median(of(name).map(cost)))),
            "times bare": Number(against.median.toFixed(2)),
            spread: against.spread,
            "requests/s": Math.round(median(of(name).map(({ perSecond }) => perSecond))),
            "limit fields": (fields.get(name) ?? []).length,
          },
        ];
      }),
    ),
  );
  for (const { name, points } of beside) {
    const ratios = of(name).map((sample, round) => sample.cpuUs / (of(NONE)[round] as Sample).cpuUs);
    (points as Array<(typeof points)[number]>).push({ x: place, y: median(ratios), low: Math.min(...ratios), high: Math.max(...ratios) });
  }

  if (framework.byHand !== undefined) goal(`${title}: 200, beside the same five fields by hand`, ratio(of(SLUICE), of(HAND), cost), { atMost: framework.byHand });
  if (!quick) {
    goal(`${title}: 200, what three fields add, beside ${peer}`, added(of(SLUICE_THREE), of(PEER), of(NONE)), { atMost: 1 });
    const more = (five: string, three: string): number => median(of(five).map((sample, round) => cost(sample) - cost(of(three)[round] as Sample)));
    show(`${title}, what the second header family adds: five fields less three`, {
      "by hand": { "µs": Number(rounded(more(HAND, HAND_THREE))) },
      sluice: { "µs": Number(rounded(more(SLUICE, SLUICE_THREE))) },
    });
    goal(`${title}: 429, beside that of ${peer}`, ratio(of("sluice 429"), of("peer 429"), cost), { atMost: 1 });
  }
}

/** The cost that one side adds to the bare framework, relative to the cost that another adds. */
function added(own: readonly Sample[], peer: readonly Sample[], bare: readonly Sample[]): { median: number; spread: string } {
  const more = (samples: readonly Sample[]): number[] => samples.map(({ cpuUs }, round) => cpuUs - (bare[round] as Sample).cpuUs);
  const ours = more(own);
  const theirs = more(peer);
  // The difference in a round may be near zero or negative. So this is the ratio of the medians, not the median of the
  // ratios. When the peer's cost is within the noise, the ratio means nothing and counts for no goal.
  if (median(theirs) <= 0) return { median: NaN, spread: "the peer's is lost in the noise" };
  const shares = ours.map((us) => us / median(theirs));
  return { median: median(ours) / median(theirs), spread: `${Math.min(...shares).toFixed(2)} to ${Math.max(...shares).toFixed(2)}` };
}

async function sample({ name, port, child }: Running): Promise<Sample> {
  const before = await usedUs(child);
  const { ms } = await load(port, REQUESTS, name);
  return { cpuUs: ((await usedUs(child)) - before) / REQUESTS, perSecond: (REQUESTS / ms) * 1_000 };
}

async function load(port: number, requests: number, name: string): Promise<Loaded> {
  loader.send([port, CONNECTIONS, requests, KEYS]);
  const [loaded] = (await once(loader, "message")) as [Loaded];
  const wanted = name.endsWith("429") ? "429" : "200";
  // A refusing server allows the first request of each caller.
  const others = requests - (loaded.statuses[wanted] ?? 0);
  if (others > 0 && !(wanted === "429" && others === KEYS)) throw new Error(`Expected ${requests} answers of ${wanted}, got ${JSON.stringify(loaded.statuses)}`);
  return loaded;
}

async function usedUs(child: ChildProcess): Promise<number> {
  child.send("used");
  const [{ user, system }] = (await once(child, "message")) as [NodeJS.CpuUsage];
  return user + system;
}

async function start(framework: string, name: string): Promise<Running> {
  const child = forkPinned(0, "http-server.mjs", [framework, name]);
  const [port] = (await once(child, "message")) as [number];
  return { name, port, child };
}

function forkPinned(core: number, file: string, args: readonly string[]): ChildProcess {
  const [command, ...rest] = pinned(core, [process.execPath, fileURLToPath(new URL(file, import.meta.url)), ...args]);
  const child = spawn(command, rest, { stdio: ["ignore", "inherit", "inherit", "ipc"], env: { ...process.env, NODE_ENV: "production" } });
  child.on("exit", (code) => {
    if (code !== 0) throw new Error(`${file} ${args.join(" ")} ended with ${code}`);
  });
  return child;
}

/** The names of the rate limit fields in an answer. */
async function fieldsOf(port: number): Promise<readonly string[]> {
  const response = await fetch(`http://127.0.0.1:${port}`, { headers: { "x-id": "user:0:0123456789abcdef" } });
  await response.arrayBuffer();
  return [...response.headers.keys()].filter((name) => /^(x-)?ratelimit|^retry-after$/.test(name)).toSorted();
}

/** Throws when the fields set by hand differ from the limiter's, because the comparison would be wrong. */
function checkAlike(fields: ReadonlyMap<string, readonly string[]>): void {
  for (const [hand, own] of [[HAND, SLUICE], [HAND_THREE, SLUICE_THREE]] as const) {
    if (String(fields.get(hand)) !== String(fields.get(own))) throw new Error(`Expected "${hand}" to send ${fields.get(own)}, got ${fields.get(hand)}`);
  }
}
