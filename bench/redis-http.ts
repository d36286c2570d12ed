import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { inRounds, printSamples, type Sample, type Side } from "./measure.js";
import { besideControl, compare, median } from "./ratios.js";
import type { ServerWork } from "./redis-server.js";
import { goal, quick } from "./results.js";
import { CONTROL, PEER, SLUICE, type Client } from "./redis-sides.js";

const LOADER = fileURLToPath(new URL("./http-loader.mjs", import.meta.url));
const KEYS = 20_000;
const NOTHING = "no limiter";
// Many short turns, as for one caller.
const TURNS = quick ? 10 : 60;
const REQUESTS: Readonly<Record<4 | 64, number>> = { 4: 1_000, 64: 3_000 };

/**
 * The same decisions behind a Node HTTP server. Requests arrive in packets there, which shows whether batches form. A
 * loop of callers cannot show it. The load comes from another process, which stays warm. Titles and goals show `over`: the client, and
 * the server or cluster of its connection.
 */
export async function throughHttp(over: string, client: Client, redis: ServerWork): Promise<void> {
  const nothing: Side = { name: NOTHING, ask: () => Promise.resolve(), allows: () => true };
  const sides = [...client.allowed.filter(({ name }) => [SLUICE, PEER, CONTROL].includes(name)), nothing];
  const loader = fork(LOADER);
  for (const connections of [4, 64] as const) {
    const title = `${over} behind a Node HTTP server, ${connections} connections`;
    const perCall: number[] = [];
    const results = await inRounds(title, sides, TURNS, async (side) => {
      const requests = REQUESTS[connections];
      const before = await redis.scriptCalls();
      const sample = await serve(side, [connections, requests], loader, redis);
      if (side.name === SLUICE) perCall.push(requests / ((await redis.scriptCalls()) - before));
      return sample;
    });
    printSamples(title, results, PEER);
    const name = `${over}, HTTP, ${connections} connections`;
    const of = (side: string): readonly Sample[] => results.get(side) ?? [];
    const speed = compare(of(SLUICE), of(PEER), of(CONTROL), ({ perSecond }) => perSecond);
    goal(`${name}: requests/s`, besideControl(speed), { atLeast: connections === 4 ? 0.97 : 1.2 });
    const late = compare(of(SLUICE), of(CONTROL), of(PEER), ({ p99Ms }) => p99Ms);
    if (connections === 4) goal(`${name}: p99, beside the control`, besideControl(late), { atMost: 1.05 });
    console.log(`sluice: ${median(perCall).toFixed(1)} decisions in a call`);
  }
  loader.disconnect();
}

async function serve(
  { ask, allows }: Side, [connections, requests]: readonly [number, number], loader: ChildProcess, redis: ServerWork,
): Promise<Sample> {
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
  loader.send([(server.address() as AddressInfo).port, connections, requests, KEYS]);
  const [{ ms, p99Ms, statuses }] = (await once(loader, "message")) as [Loaded];
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
