import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { inRounds, median, printSamples, ratio, type Sample, type Side } from "./measure.js";
import type { ServerWork } from "./redis-server.js";
import { goal } from "./results.js";
import { CONTROL, PEER, SLUICE, type Client } from "./redis-sides.js";

const LOADER = fileURLToPath(new URL("./http-loader.mjs", import.meta.url));
const KEYS = 20_000;
const NOTHING = "no limiter";

/**
 * The same decisions behind a Node HTTP server. Requests arrive in packets there, which shows whether batches form. A
 * loop of callers cannot show it. The load comes from another process. Titles and goals show `over`: the client, and
 * the server or cluster of its connection.
 */
export async function throughHttp(over: string, client: Client, redis: ServerWork, rounds: number): Promise<void> {
  const nothing: Side = { name: NOTHING, ask: () => Promise.resolve(), allows: () => true };
  const sides = [...client.allowed.filter(({ name }) => name === SLUICE || name === PEER), ...client.alone.filter(({ name }) => name === CONTROL), nothing];
  for (const connections of [4, 64]) {
    const title = `${over} behind a Node HTTP server, ${connections} connections`;
    const perCall: number[] = [];
    const results = await inRounds(title, sides, rounds, async (side) => {
      const requests = connections === 4 ? 4_000 : 8_000;
      const before = await redis.scriptCalls();
      const sample = await serve(side, connections, requests, redis);
      if (side.name === SLUICE) perCall.push(requests / ((await redis.scriptCalls()) - before));
      return sample;
    });
    printSamples(title, results, PEER);
    const against = (of: (sample: Sample) => number) => ratio(results.get(SLUICE) ?? [], results.get(PEER) ?? [], of);
    const name = `${over}, HTTP, ${connections} connections`;
    const { median: apart, spread } = ratio(results.get(CONTROL) ?? [], results.get(PEER) ?? [], ({ perSecond }) => perSecond);
    console.log(`control: ${apart.toFixed(3)} (${spread})`);
    goal(`${name}: requests/s`, against(({ perSecond }) => perSecond), { atLeast: connections === 4 ? 0.97 : 1.2 });
    const control = (of: (sample: Sample) => number) => ratio(results.get(SLUICE) ?? [], results.get(CONTROL) ?? [], of);
    if (connections === 4) goal(`${name}: p99, beside the control`, control(({ p99Ms }) => p99Ms), { atMost: 1.05 });
    console.log(`sluice: ${median(perCall).toFixed(1)} decisions in a call`);
  }
}

async function serve({ ask, allows }: Side, connections: number, requests: number, redis: ServerWork): Promise<Sample> {
  const server = createServer((request, response) => {
    const respond = (answer: unknown): void => {
      response.writeHead(allows(answer) ? 200 : 429, { "content-length": 2 }).end("ok");
    };
    void ask(request.headers["x-id"] as string).then(respond, respond);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const serverBefore = await redis.cpu();
  const clientBefore = process.cpuUsage();
  const { ms, p99Ms, statuses } = await load((server.address() as AddressInfo).port, connections, requests);
  const client = process.cpuUsage(clientBefore);
  const used = (await redis.cpu()) - serverBefore;
  server.closeAllConnections();
  server.close();
  if (statuses["200"] !== requests) throw new Error(`Expected ${requests} answers of 200, got ${JSON.stringify(statuses)}`);
  return {
    perSecond: (requests / ms) * 1_000,
    p99Ms,
    clientUs: (client.user + client.system) / requests,
    serverUs: used / requests,
  };
}

interface Loaded {
  readonly ms: number;
  readonly p99Ms: number;
  readonly statuses: Readonly<Record<string, number>>;
}

async function load(port: number, connections: number, requests: number): Promise<Loaded> {
  const child = spawn(process.execPath, [LOADER, String(port), String(connections), String(requests), String(KEYS)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
  const [code] = (await once(child, "close")) as [number];
  if (code !== 0) throw new Error(`The load generator ended with ${code}`);
  return JSON.parse(output) as Loaded;
}
