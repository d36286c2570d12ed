import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { load, mustStay, usedUs, type Loaded, type Running } from "./loaded.js";
import { inRounds, printSamples, type Sample } from "./measure.js";
import { besideControl, compare, median } from "./ratios.js";
import type { ServerWork } from "./redis-server.js";
import { goal, quick } from "./results.js";
import { CONTROL, PEER, SLUICE, type ClientName } from "./redis-sides.js";

const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const KEYS = 20_000;
const SIDES = [SLUICE, PEER, CONTROL, "no limiter"];
/** How often all servers are started. Each process has another layout of its memory, which changes its speed. */
const STARTS = quick ? 2 : 6;
// Many short turns, as for one caller.
const TURNS = 10;
const WARM_UP = 10_000;
const REQUESTS: Readonly<Record<4 | 64, number>> = { 4: 1_000, 64: 3_000 };

/**
 * The same decisions behind a Node HTTP server. Requests arrive in packets there, which shows whether batches form. A
 * loop of callers cannot show it. Each side is a server in a process of its own, because sides of one process share its
 * compiled code and its garbage. The load comes from another process, which stays warm. Titles and goals show `over`: the
 * client, and the server or cluster of its connection.
 */
export async function throughHttp(over: string, client: ClientName, ports: readonly number[], redis: ServerWork): Promise<void> {
  const loader = fork(pathOf("./http-loader.mjs"));
  const found = { 4: new Map<string, Sample[]>(), 64: new Map<string, Sample[]>() };
  const perCall = { 4: [] as number[], 64: [] as number[] };
  for (let start = 1; start <= STARTS; start++) {
    const servers: Running[] = [];
    try {
      for (const name of SIDES) servers.push(await begin(client, ports, name));
      for (const { port } of servers) await loadSide(loader, port, 64, WARM_UP);
      for (const connections of [4, 64] as const) {
        const title = `${over} behind HTTP, ${connections} connections, start ${start} of ${STARTS}`;
        const results = await inRounds(title, servers, TURNS, async (server) => {
          const before = await redis.scriptCalls();
          const sample = await measure(server, loader, connections, redis);
          if (server.name === SLUICE) perCall[connections].push(REQUESTS[connections] / ((await redis.scriptCalls()) - before));
          return sample;
        });
        for (const [name, samples] of results) found[connections].set(name, [...(found[connections].get(name) ?? []), ...samples]);
      }
    } finally {
      for (const { child } of servers) child.disconnect();
    }
  }
  loader.disconnect();
  for (const connections of [4, 64] as const) {
    printSamples(`${over} behind a Node HTTP server, ${connections} connections`, found[connections], PEER);
    const name = `${over}, HTTP, ${connections} connections`;
    const of = (side: string): readonly Sample[] => found[connections].get(side) ?? [];
    const speed = compare(of(SLUICE), of(PEER), of(CONTROL), ({ perSecond }) => perSecond);
    goal(`${name}: requests/s`, besideControl(speed), { atLeast: connections === 4 ? 0.97 : 1.2 });
    const late = compare(of(SLUICE), of(CONTROL), of(PEER), ({ p99Ms }) => p99Ms);
    if (connections === 4) goal(`${name}: p99, beside the control`, besideControl(late), { atMost: 1.05 });
    console.log(`sluice: ${median(perCall[connections]).toFixed(1)} decisions in a call`);
  }
}

async function begin(client: ClientName, ports: readonly number[], name: string): Promise<Running> {
  const child = fork(pathOf("./redis-http-server.ts"), [client, JSON.stringify(ports), name], {
    env: { ...process.env, NODE_ENV: "production" },
  });
  mustStay(child, `The server of "${name}"`);
  const [port] = (await once(child, "message")) as [number];
  return { name, port, child };
}

async function measure({ port, child }: Running, loader: ChildProcess, connections: 4 | 64, redis: ServerWork): Promise<Sample> {
  const requests = REQUESTS[connections];
  const [serverBefore, before] = [await redis.cpu(), await usedUs(child)];
  const { ms, p99Ms } = await loadSide(loader, port, connections, requests);
  const [clientUs, used] = [(await usedUs(child)) - before, (await redis.cpu()) - serverBefore];
  return { perSecond: (requests / ms) * 1_000, p99Ms, clientUs: clientUs / requests, serverUs: used / requests };
}

async function loadSide(loader: ChildProcess, port: number, connections: number, requests: number): Promise<Loaded> {
  const loaded = await load(loader, [port, connections, requests, KEYS]);
  if (loaded.statuses["200"] !== requests) throw new Error(`Expected ${requests} answers of 200, got ${JSON.stringify(loaded.statuses)}`);
  return loaded;
}
