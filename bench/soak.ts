/**
 * `npm run soak --prefix bench`: ten minutes of mixed load through each adapter, and a check that memory stays flat.
 *
 * The load has regular callers, callers above their limit, and callers without a key. More callers than the store keeps
 * come only once. Tokens are refunded for a 404 and for clients that disconnect. There are bodies, HEAD requests,
 * errors, slow answers, and a store that answers later. The server of each adapter is a separate process, and sends its
 * memory after a garbage collection. `--minutes 1` makes it short. `--leak` keeps every decision, to prove that the
 * check can fail.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { median } from "./ratios.js";
import { finish, goal, pinned, plot, quick, rounded, show } from "./results.js";

const ADAPTERS = ["node", "express", "fastify", "hono", "web"];
const SAMPLES = 60;
const VISITORS = 6;
const MB = 2 ** 20;
/** The allowed growth of memory from the second quarter to the last: the heap is never exactly constant. */
const HEAP_GROWTH = { times: 1.02, bytes: 0.3 * MB };
const RSS_GROWTH = 1.1;

const minutes = Number(/--minutes[= ]([^ ]+)/.exec(process.argv.join(" "))?.[1] ?? (quick ? 0.5 : 10));
if (!(minutes > 0)) throw new RangeError(`Expected --minutes to be a number above 0, got ${minutes}`);
const leak = process.argv.includes("--leak");

interface Memory {
  readonly heap: number;
  readonly rss: number;
  /** Decisions so far. */
  readonly decided: number;
}

interface Soaked {
  readonly adapter: string;
  readonly child: ChildProcess;
  readonly port: number;
  readonly agent: Agent;
  readonly statuses: Record<string, number>;
  readonly samples: Array<Memory & { readonly minute: number }>;
}

const servers = await Promise.all(ADAPTERS.map(start));
const began = performance.now();
let newcomers = 0;
let over = false;
const visiting = servers.flatMap((server) => Array.from({ length: VISITORS }, () => visit(server)));

for (let i = 1; i <= SAMPLES; i++) {
  await sleep(Math.max(0, began + (minutes * 60_000 * i) / SAMPLES - performance.now()));
  const minute = (performance.now() - began) / 60_000;
  await Promise.all(servers.map(async (server) => server.samples.push({ ...(await memoryOf(server)), minute })));
  const now = servers.map(({ adapter, samples }) => `${adapter} ${((samples.at(-1) as Memory).heap / MB).toFixed(1)}`).join(", ");
  process.stderr.write(`\r${i} of ${SAMPLES}: MB of heap: ${now}   `);
}
over = true;
await Promise.all(visiting);
for (const { child, agent } of servers) {
  agent.destroy();
  child.disconnect();
}
process.stderr.write("\r".padEnd(90) + "\r");
report();

function report(): void {
  for (const [name, of] of [["heap", ({ heap }: Memory) => heap], ["rss", ({ rss }: Memory) => rss]] as const) {
    show(
      `${name === "heap" ? "Heap and buffers after a collection" : "Resident memory"}, MB over time`,
      Object.fromEntries(
        servers[0]!.samples.flatMap(({ minute }, i) =>
          (i + 1) % (SAMPLES / 10) === 0
            ? [[`${minute.toFixed(1)} min`, Object.fromEntries(servers.map(({ adapter, samples }) => [adapter, Number((of(samples[i] as Memory) / MB).toFixed(2))]))]]
            : [],
        ),
      ),
    );
    plot(
      `soak-${name}`,
      servers.map(({ adapter, samples }) => ({ name: adapter, points: samples.map((sample) => ({ x: sample.minute, y: of(sample) / MB })) })),
    );
  }
  show("Answers", Object.fromEntries(servers.map(({ adapter, statuses, samples }) => [adapter, { decisions: (samples.at(-1) as Memory).decided, ...statuses }])));

  for (const { adapter, samples, statuses } of servers) {
    const quarter = (nth: number, of: (sample: Memory) => number): number => median(samples.slice((SAMPLES * nth) / 4, (SAMPLES * (nth + 1)) / 4).map(of));
    const heap = [quarter(1, ({ heap }) => heap), quarter(3, ({ heap }) => heap)] as const;
    const allowed = (heap[0] * HEAP_GROWTH.times + HEAP_GROWTH.bytes) / heap[0];
    goal(`${adapter}: heap of the last quarter, beside the second`, { median: heap[1] / heap[0] }, { atMost: Number(rounded(allowed)) });
    goal(`${adapter}: resident memory, likewise`, { median: quarter(3, ({ rss }) => rss) / quarter(1, ({ rss }) => rss) }, { atMost: RSS_GROWTH });
    for (const status of ["200", "404", "429", "hung up"]) if (statuses[status] === undefined) throw new Error(`${adapter}: expected some answers of ${status}, got none`);
  }
  finish(leak ? "soak-leak" : "soak", ["express", "fastify", "hono", "@hono/node-server"], {}, minutes < 10 || leak);
}

/** One client, which sends one request after another until the end. */
async function visit(server: Soaked): Promise<void> {
  while (!over) {
    const status = await ask(server, Math.random());
    server.statuses[status] = (server.statuses[status] ?? 0) + 1;
  }
}

/** One request. `dice`, from 0 up to 1, picks its kind. Resolves to the status. */
function ask({ adapter, port, agent }: Soaked, dice: number): Promise<string> {
  const regular = `user:${Math.floor(Math.random() * 10)}`;
  const newcomer = `once:${newcomers++}`;
  const path = dice < 0.5 ? "/" : dice < 0.6 ? "/missing" : dice < 0.7 ? "/slow" : dice < 0.75 ? "/health" : dice < 0.85 ? "/later" : "/";
  const method = dice < 0.1 ? "POST" : dice < 0.15 ? "HEAD" : "GET";
  const hangsUp = dice >= 0.67 && dice < 0.7;
  const fails = dice >= 0.98 && adapter !== "node" && adapter !== "web"; // where the framework handles errors
  const id = path === "/later" || dice < 0.3 ? regular : dice >= 0.95 ? undefined : newcomer;
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: "127.0.0.1", agent, method, path: fails ? "/throws" : path, headers: { ...(id === undefined ? {} : { "x-id": id }), "content-type": "text/plain" } });
    sent.on("response", (response) => {
      response.on("error", () => resolve("hung up"));
      if (hangsUp && response.statusCode === 200) {
        sent.destroy();
        return resolve("hung up");
      }
      response.resume().on("end", () => resolve(String(response.statusCode)));
    });
    sent.on("error", (error) => (hangsUp ? resolve("hung up") : reject(error)));
    sent.end(method === "POST" ? "x".repeat(200) : undefined);
  });
}

async function start(adapter: string): Promise<Soaked> {
  const file = fileURLToPath(new URL("soak-server.mjs", import.meta.url));
  const [command, ...rest] = pinned(0, [process.execPath, "--expose-gc", file, adapter, ...(leak ? ["leak"] : [])]);
  const child = spawn(command, rest, { stdio: ["ignore", "inherit", "inherit", "ipc"], env: { ...process.env, NODE_ENV: "production" } });
  child.on("exit", (code) => {
    if (code !== 0) throw new Error(`The server of ${adapter} ended with ${code}`);
  });
  const [port] = (await once(child, "message")) as [number];
  return { adapter, child, port, agent: new Agent({ keepAlive: true, maxSockets: VISITORS }), statuses: {}, samples: [] };
}

async function memoryOf({ child }: Soaked): Promise<Memory> {
  child.send("memory");
  const [memory] = (await once(child, "message")) as [Memory];
  return memory;
}
