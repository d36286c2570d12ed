/**
 * `npm run bench http`: the same requests as in gate.ts, over sockets. It shows whether gate.ts leaves something out: what
 * a limiter adds over sockets should be what it adds there, within the noise. This noise is large, so small differences
 * are for gate.ts. `--only=fastify` runs one framework.
 *
 * Each side is a server in a separate process on one core. The load comes from another process on another core. Every
 * round measures all sides in turn. All servers are started six times, and each is warmed up with 20,000 requests. It
 * prints results and fails on none.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { load, mustStay, usedUs, type Running } from "./loaded.js";
import { inRounds } from "./measure.js";
import { added, likelyRatio, median, percentile, textOf } from "./ratios.js";
import { canPin, finish, pinned, quick, show } from "./results.js";

const STARTS = 6;
const ROUNDS = quick ? 4 : 10;
const REQUESTS = quick ? 2_000 : 4_000;
const WARM_UP = 20_000;
const CONNECTIONS = 64;
const KEYS = 1_000;

const BARE = "bare";
const PEER = "peer";
const SIDES: Readonly<Record<string, object>> = {
  [BARE]: { way: "bare" },
  "five by hand": { way: "hand", fields: 5 },
  [PEER]: { way: "peer" },
  "sluice, three fields": { way: "sluice", fields: 3 },
  "sluice, five fields": { way: "sluice", fields: 5 },
  "peer, 429": { way: "peer", refuse: true },
  "sluice, 429": { way: "sluice", fields: 5, refuse: true },
};

/** The frameworks, and the peer of each. */
const FRAMEWORKS: Readonly<Record<string, string>> = {
  node: "rate-limiter-flexible", express: "express-rate-limit", fastify: "@fastify/rate-limit", hono: "hono-rate-limiter",
};

const only = process.argv.find((word) => word.startsWith("--only="))?.slice("--only=".length);
const loader = forkPinned(1, "http-loader.mjs", []);

try {
  for (const framework of Object.keys(FRAMEWORKS)) if (only === undefined || only === framework) await measure(framework);
} finally {
  loader.disconnect();
}
if (!canPin) console.log("\nProcesses cannot be pinned to cores here: server and load may share one.");
finish("http", ["express", "fastify", "hono", "@hono/node-server", ...Object.values(FRAMEWORKS)]);

async function measure(framework: string): Promise<void> {
  // Microseconds of processor time of a request: one figure for each start, the tenth percentile of its rounds.
  const us = new Map(Object.keys(SIDES).map((name) => [name, [] as number[]]));
  for (let generation = 1; generation <= STARTS; generation++) {
    const servers: Running[] = [];
    try {
      for (const name of Object.keys(SIDES)) servers.push(await start(framework, name));
      for (const { name, port } of servers) await loadSide(port, WARM_UP, name);
      const found = await inRounds(`${framework}, start ${generation} of ${STARTS}`, servers, ROUNDS, sample);
      for (const [name, samples] of found) us.get(name)?.push(percentile(samples, 0.1));
    } finally {
      for (const { child } of servers) child.disconnect();
    }
  }
  const of = (name: string): readonly number[] => us.get(name) ?? [];
  const adds = (name: string): readonly number[] => added(of(name), of(BARE));
  show(
    `${framework} over sockets: microseconds of processor time a request; the peer is ${FRAMEWORKS[framework]}`,
    Object.fromEntries(
      [...us].map(([name, own]) => {
        const times = likelyRatio(own, of(BARE), (value) => value);
        return [name, { "µs": Number(median(own).toFixed(1)), adds: Number(median(adds(name)).toFixed(1)), "times bare": Number(times.median.toFixed(2)), interval: textOf(times) }];
      }),
    ),
  );
}

async function sample({ name, port, child }: Running): Promise<number> {
  const before = await usedUs(child);
  await loadSide(port, REQUESTS, name);
  return ((await usedUs(child)) - before) / REQUESTS;
}

async function loadSide(port: number, requests: number, name: string): Promise<void> {
  const { statuses } = await load(loader, [port, CONNECTIONS, requests, KEYS]);
  const wanted = name.endsWith("429") ? "429" : "200";
  // A refusing server allows the first request of each caller.
  const others = requests - (statuses[wanted] ?? 0);
  if (others > 0 && !(wanted === "429" && others === KEYS)) throw new Error(`Expected ${requests} answers of ${wanted}, got ${JSON.stringify(statuses)}`);
}

async function start(framework: string, name: string): Promise<Running> {
  const side = { ...SIDES[name], dist: new URL("../dist/", import.meta.url).href };
  const child = forkPinned(0, "http-server.mjs", [framework, JSON.stringify(side)]);
  const [port] = (await once(child, "message")) as [number];
  return { name, port, child };
}

function forkPinned(core: number, file: string, args: readonly string[]): ChildProcess {
  const [command, ...rest] = pinned(core, [process.execPath, fileURLToPath(new URL(file, import.meta.url)), ...args]);
  const child = spawn(command, rest, { stdio: ["ignore", "inherit", "inherit", "ipc"], env: { ...process.env, NODE_ENV: "production" } });
  mustStay(child, `${file} ${args.join(" ")}`);
  return child;
}
