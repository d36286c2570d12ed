/**
 * `npm run bench waiting`: how long callers wait for tokens, compared with the time in which the tokens
 * refill.
 *
 * A store in this process that answers after 5 ms shows the cost of round trips. Four processes on one key of a Redis,
 * which it starts, show how tokens are shared. `--quick` makes it short. `--only=store`, `processes` or `queue` runs
 * one part.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { createLimiter, createWaiter, MemoryStore, perHour, perSecond, type AsyncStore, type LimitOptions, type StoreAnswer, type StoreCall } from "../dist/index.js";
import { RedisStore } from "../dist/redis.js";
import { guard } from "../dist/store.js";
import { fromStore, PATIENT_MS } from "./measure.js";
import { median } from "./ratios.js";
import { startRedis } from "./redis-server.js";
import { finish, goal, quick, show } from "./results.js";

const ROUNDS = quick ? 2 : 5;
const STORE_MS = 5;
const PROCESSES = 4;
const only = process.argv.find((word) => word.startsWith("--only="))?.slice("--only=".length);

/** Answers after 5 ms, like a store across a network, and counts its calls. */
class RemoteStore implements AsyncStore {
  readonly sync = false;
  readonly guard = guard({ timeoutMs: PATIENT_MS });
  readonly clock = "server";
  readonly #inner = new MemoryStore();
  calls = 0;

  async ask(call: StoreCall): Promise<readonly StoreAnswer[]> {
    this.calls += 1;
    await new Promise((resolve) => setTimeout(resolve, STORE_MS));
    return this.#inner.ask(call);
  }
}

interface Wait {
  readonly ms: number;
  readonly calls: number;
}

/** All callers arrive at once. Resolves when the last one is served. */
async function overRemoteStore(policy: LimitOptions, callers: number): Promise<Wait> {
  const store = new RemoteStore();
  const waiter = createWaiter(createLimiter({ policy, store }));
  const start = performance.now();
  const order: number[] = [];
  await Promise.all(Array.from({ length: callers }, async (_, i) => order.push((fromStore(await waiter.consume("key")), i))));
  if (order.some((caller, place) => caller !== place)) throw new Error("Expected callers to be served in order of arrival, got another order");
  return { ms: performance.now() - start, calls: store.calls };
}

async function asStoreTakesTime(): Promise<void> {
  const cases = [
    { name: "200 callers, 200 tokens there", callers: 200, policy: { capacity: 200, refill: perHour(1) }, idealMs: STORE_MS },
    { name: "1,000 callers, 10 tokens there, 1,000 a second", callers: 1_000, policy: { capacity: 10, refill: perSecond(1_000) }, idealMs: 990 + STORE_MS },
  ];
  const table: Record<string, Record<string, string | number>> = {};
  for (const { name, callers, policy, idealMs } of cases) {
    const rounds: Wait[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const wait = await overRemoteStore(policy, callers);
      if (round > 0) rounds.push(wait); // the first one warms up
    }
    const times = rounds.map(({ ms }) => ms);
    const spread = `${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)}`;
    table[name] = { "ms": Math.round(median(times)), spread, "ideal ms": idealMs, "calls per caller": Number((median(rounds.map(({ calls }) => calls)) / callers).toFixed(2)) };
    if (callers === 200) goal("200 callers whose tokens are there: ms", { median: median(times), spread }, { atMost: 60 });
    else goal("1,000 callers at 1,000 tokens a second: times the ideal", { median: median(times) / idealMs }, { atMost: 1.1 });
  }
  show(`A store that answers after ${STORE_MS} ms`, table);
}

/** The instants at which one process was served, and the number of its calls to Redis. */
interface Served {
  readonly at: readonly number[];
  readonly calls: number;
}

interface Task {
  readonly prefix: string;
  readonly policy: LimitOptions;
  readonly jitterMs: number;
  readonly callers: number;
  /** By `Date.now()`, which all processes of a machine share. */
  readonly startAt: number;
}

/** One of the processes. On each message it waits for its tokens. */
async function serveTasks(port: number): Promise<void> {
  const client = new Redis(port);
  let calls = 0;
  const evalsha = client.evalsha.bind(client);
  client.evalsha = ((...sent: Parameters<typeof evalsha>) => (calls++, evalsha(...sent))) as typeof client.evalsha;
  await client.ping();
  process.on("message", ({ prefix, policy, jitterMs, callers, startAt }: Task) => {
    void (async () => {
      const limiter = createLimiter({ policy, store: new RedisStore(client, { prefix, timeoutMs: PATIENT_MS }) });
      await limiter.consume("another key"); // loads the script
      const waiter = createWaiter(limiter, { jitterMs });
      await new Promise((resolve) => setTimeout(resolve, startAt - Date.now()));
      calls = 0;
      const at: number[] = [];
      await Promise.all(Array.from({ length: callers }, async () => at.push((fromStore(await waiter.consume("key")), Date.now() - startAt))));
      process.send?.({ at, calls } satisfies Served);
    })();
  });
  process.send?.("ready");
}

async function asProcessesShare(): Promise<void> {
  const server = await startRedis();
  const children = Array.from({ length: PROCESSES }, () => fork(fileURLToPath(import.meta.url), ["--process", String(server.port)]));
  try {
    await Promise.all(children.map((child) => once(child, "message")));
    const callers = quick ? 20 : 40;
    const cases = [
      { name: "capacity 10, 50 a second", capacity: 10, jitterMs: 0 },
      { name: "the same with jitterMs 20", capacity: 10, jitterMs: 20 },
      { name: "capacity 1, 50 a second", capacity: 1, jitterMs: 0 },
    ];
    const table: Record<string, Record<string, string | number>> = {};
    for (const { name, capacity, jitterMs } of cases) {
      const rounds: { ratio: number; calls: number; least: number; most: number; tookMs: number; idealMs: number }[] = [];
      for (let round = 0; round < (quick ? 1 : 3); round++) {
        const task: Task = { prefix: `${capacity}-${jitterMs}-${round}`, policy: { capacity, refill: perSecond(50) }, jitterMs, callers, startAt: Date.now() + 300 };
        const answers = children.map((child) => once(child, "message") as Promise<[Served]>);
        for (const child of children) child.send(task);
        const served = (await Promise.all(answers)).map(([each]) => each);
        const tokens = callers * PROCESSES;
        const all = served.flatMap(({ at }, who) => at.map((ms) => ({ ms, who }))).sort((a, b) => a.ms - b.ms);
        const firstHalf = served.map((_, who) => all.slice(0, tokens / 2).filter((each) => each.who === who).length / (tokens / 2));
        const [tookMs, idealMs] = [all.at(-1)?.ms ?? NaN, ((tokens - capacity) * 1_000) / 50];
        const calls = served.reduce((sum, each) => sum + each.calls, 0) / tokens / PROCESSES;
        rounds.push({ ratio: tookMs / idealMs, calls, least: Math.min(...firstHalf), most: Math.max(...firstHalf), tookMs, idealMs });
      }
      const [ratio, calls] = [median(rounds.map((round) => round.ratio)), median(rounds.map((round) => round.calls))];
      table[name] = {
        "ms": Math.round(median(rounds.map(({ tookMs }) => tookMs))),
        "ideal ms": rounds[0]?.idealMs ?? NaN,
        "times ideal": Number(ratio.toFixed(3)),
        "calls per process and token": Number(calls.toFixed(2)),
        "share of the first half: least": `${(100 * Math.min(...rounds.map(({ least }) => least))).toFixed(0)} %`,
        "most": `${(100 * Math.max(...rounds.map(({ most }) => most))).toFixed(0)} %`,
      };
      // A random delay is lateness on purpose.
      if (jitterMs > 0) continue;
      goal(`Four processes on one key of capacity ${capacity}: times the ideal`, { median: ratio }, { atMost: 1.05 });
      goal(`Four processes on one key of capacity ${capacity}: calls per process and token`, { median: calls }, { atMost: 1 });
    }
    show(`Four processes, ${callers} callers each, on one key of a Redis`, table);
  } finally {
    for (const child of children) child.kill();
    await server.stop();
  }
  version = server.version;
}

/** The CPU time of waiting callers, by their number. */
async function asQueuesGrow(): Promise<void> {
  const table: Record<string, Record<string, string | number>> = {};
  for (const callers of [1_000, 10_000, 100_000]) {
    const limiter = createLimiter({ policy: { capacity: 1, refill: perHour(1) } });
    limiter.consume("key");
    const waiter = createWaiter(limiter, { maxWaitersPerKey: callers });
    const stop = new AbortController();
    const start = performance.now();
    const waits = Array.from({ length: callers }, () => waiter.consume("key", { signal: stop.signal }).catch(() => undefined));
    const joined = performance.now();
    stop.abort();
    await Promise.all(waits);
    const left = performance.now();
    table[`${callers.toLocaleString("en")} callers`] = {
      "µs to join": Number(((1_000 * (joined - start)) / callers).toFixed(2)),
      "µs to be cancelled": Number(((1_000 * (left - joined)) / callers).toFixed(2)),
    };
  }
  show("One queue, cancelled by one signal", table);
}

let version = "not measured";
if (process.argv[2] === "--process") {
  await serveTasks(Number(process.argv[3]));
} else {
  if (only === undefined || only === "store") await asStoreTakesTime();
  if (only === undefined || only === "processes") await asProcessesShare();
  if (only === undefined || only === "queue") await asQueuesGrow();
  finish("waiting", [], { Redis: version });
}
