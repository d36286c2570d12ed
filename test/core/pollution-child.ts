// What the package does while `Object.prototype` has a member that it should not have: a process of its own for it.
import { combine, createLimiter, createObserver, createWaiter, definePolicy, MemoryStore, run, TokenBucket, unlimited, type AsyncStore, type LimiterEvent } from "sluice";
import { casStore, guard } from "sluice/store";
import { aws, countdown, createFetch, gemini, github, openai, parseRateLimit, parseWait } from "sluice/client";
import { createTraffic } from "sluice/client/traffic";
import { createGate, type GateOptions } from "sluice/http";
import { PostgresStore } from "sluice/postgres";
import { RedisStore } from "sluice/redis";
import { NAMES, OF_CLIENTS, POLLUTIONS, SENT_NAMES, SENT_POLLUTIONS } from "./pollution-names.js";
import { callsOf } from "../../src/testing/store-calls.js";

/** The gate's options that the platform's own `Request` and `Response` read through the prototype. */
const OF_THE_PLATFORM = ["headers", "body"];

/** By name and value: what differed, and how. Empty when nothing did. */
export interface Polluted {
  readonly clean: unknown;
  /** What the client reads of refusals. */
  readonly read: unknown;
  readonly differing: readonly { readonly name: string; readonly value: unknown; readonly got: unknown }[];
}

const clock = (): number => 0;
const refill = { tokens: 1, everyMs: 1_000 };

function verdicts(): string[] {
  const gate = createGate<string>({ policy: { capacity: 2, refill }, key: (user) => user, store: new MemoryStore({ clock }) } as GateOptions<string>, { method: () => "GET", header: () => undefined });
  return ["ann", "ann", "ann", "", "", ""].map((user) => JSON.stringify(gate(user)));
}

async function behavior(): Promise<unknown> {
  const events: string[] = [];
  const observe = createObserver((event: LimiterEvent) => void events.push(event.type === "decision" ? `${event.outcome} ${event.cost}` : event.type));
  const limiter = createLimiter({ policy: { capacity: 5, refill }, store: new MemoryStore({ clock }), observe });
  const decisions = [...Array.from({ length: 6 }, () => limiter.consume("ann")), limiter.consume("bob", {}), limiter.peek("bob")];
  limiter.reset("bob", {});
  const several = createLimiter({ policy: { name: "several", limits: [{ capacity: 3, refill }, { capacity: 9, refill }] }, store: new MemoryStore({ clock }) });
  decisions.push(several.consume("ann"), ...Array.from({ length: 2 }, () => new TokenBucket({ capacity: 2, refill, clock }).consume()));

  const down: AsyncStore = { sync: false, guard: guard(), clock, ask: () => Promise.reject(new Error("down")) };
  const degraded = createLimiter({ policy: { capacity: 6, refill }, store: down, observe });
  for (let i = 0; i < 12; i++) decisions.push(await degraded.consume(`caller ${i % 2}`));

  const settled: unknown[] = [limiter.settle("carl", limiter.consume("carl", 3), 1), limiter.refund("carl", limiter.consume("carl")), limiter.peek("carl").remaining];
  settled.push(await run(limiter, "carl", () => 1, { cost: 2, actualCost: () => 1 }), limiter.peek("carl").remaining);
  const waiter = createWaiter(limiter);
  decisions.push(await waiter.consume("dora", 2), await waiter.consume("dora", {}));
  const both = combine({ user: limiter, tenant: several });
  const together = both.consume({ user: "emil", tenant: "emil" });
  decisions.push(together, both.consume({ user: "emil", tenant: unlimited }, {}), both.consume({ user: "emil", tenant: "emil" }, { cost: {}, policy: {} }));
  settled.push(both.settle({ user: "emil", tenant: "emil" }, together, { cost: {} }), both.peek({ user: "emil", tenant: "emil" }).remaining);
  for (const keys of [{ user: "emil" }, {}]) settled.push(attempt(() => both.consume(keys as never)));

  const kept = new Map<string, string>();
  const cas = casStore<string>({
    read: async (key) => (kept.has(key) ? { value: kept.get(key) as string, version: kept.get(key) as string } : null),
    write: async (key, value) => Boolean(kept.set(key, value)),
  });
  const memory = new MemoryStore();
  const commands: unknown[] = [];
  const redis = new RedisStore({ evalsha: async (_sha: string, keys: number, ...rest: string[]) => (commands.push([keys, ...rest]), null), eval: async () => null });
  const postgres = new PostgresStore({ query: async (text, values) => (commands.push([text, values]), { rows: [] }) });
  const policy = definePolicy({ capacity: 5, refill });
  for (const store of [redis, postgres]) await callsOf(store).peek(policy, "ann", 1).catch(() => undefined);

  const sent: string[] = [];
  const seconds: number[] = [];
  const timing = { now: clock, wallNow: clock, sleep: async (ms: number) => void sent.push(`slept ${ms}`), random: () => 0.5 };
  const answers = [429, 429, 200, 429, 429, 429];
  const fetch = createFetch({ time: timing, traffic: createTraffic(), fetch: async (input) => (sent.push(input as string), new Response(null, { status: answers.shift() ?? 200 })) });
  for (const call of [fetch("http://localhost/a"), fetch("http://localhost/a", {}), fetch("http://localhost/b")]) sent.push(await call.then(({ status }) => String(status), (error: { code?: string }) => String(error.code)));
  await countdown({ retryAt: new Date(2_000) }, (left) => void seconds.push(left), { time: { wallNow: () => Math.min(2_000, 1_000 * seconds.length), sleep: async () => undefined } });

  const told = decisions.map(({ allowed, reason, policy: named, cost, capacity, remaining, retryAfterMs, degraded: isDegraded }) => [allowed, reason, named, cost, capacity, remaining, retryAfterMs, isDegraded].join(" "));
  return { told, events, settled, verdicts: verdicts(), kept: [...kept.keys()], clocks: [cas.clock === Date.now, memory.clock === limiter.store.clock, redis.clock], commands, sent, seconds };
}

/** What the client reads of refusals that say little. */
async function readings(): Promise<unknown> {
  const fields = [{ RateLimit: '"a";r=0, "b"' }, { RateLimit: "remaining=0" }, { "RateLimit-Policy": '"a";q=5', RateLimit: '"a";r=1' }, { RateLimit: '"a";r=1;t=3' }, { "RateLimit-Limit": "5, 5", "RateLimit-Remaining": "1", "RateLimit-Reset": "2" }];
  const read = fields.map((each) => [parseRateLimit(each, 0), parseWait(each, 0)]);
  const bodies = ["{}", '{"error":{}}', '{"error":{"details":{}}}', '{"parameters":{}}', "[]", '"text"', "none"];
  const told = bodies.map(async (body) => {
    const fetch = createFetch({ maxAttempts: 1, fetch: async () => new Response(body, { status: 429, headers: { RateLimit: '"a";q=1' } }) });
    const error = await fetch("http://localhost/a").catch((reason: unknown) => reason);
    const { code, message, serverCode, serverMessage, waitMs, policies } = error as Record<string, unknown>;
    const parsed: unknown = /^[{[]/.test(body) ? JSON.parse(body) : body;
    const vendors = [aws, gemini, github, openai].map(({ refusal }) => refusal(new Response(body, { status: 403 }), parsed));
    return [code, message, serverCode, serverMessage, waitMs, policies, vendors];
  });
  // Of a limit, and of a call that an earlier one made wait.
  const slept: number[] = [];
  let at = 0;
  const now = (): number => at;
  const sleep = async (ms: number): Promise<void> => ((at += ms), void slept.push(ms));
  const timing = { now, wallNow: now, random: () => 0, sleep };
  const paced = createFetch({ traffic: createTraffic(), time: timing, fetch: async () => new Response("here", { headers: { RateLimit: '"a";r=4;t=1', "RateLimit-Policy": '"a";q=5;w=1' } }) });
  for (let i = 0; i < 5; i++) await (await paced("http://localhost/a")).text();
  return { read, told: await Promise.all(told), slept };
}

function firstDifference(text: string, right: string): string {
  const at = Array.from(text).findIndex((character, i) => character !== right[i]);
  return `…${text.slice(Math.max(0, at - 60), at + 90)}… in place of …${right.slice(Math.max(0, at - 60), at + 90)}…`;
}

function attempt(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return (error as Error).message;
  }
}

/** What happens with these members on every object. */
async function pollutedBy(names: readonly string[], value: unknown, run: () => unknown): Promise<unknown> {
  const { prototype } = Object as unknown as { prototype: Record<string, unknown> };
  try {
    for (const name of names) prototype[name] = value;
    return await run();
  } catch (error) {
    return String((error as Error).stack);
  } finally {
    for (const name of names) delete prototype[name];
  }
}

if (process.send !== undefined) {
  process.removeAllListeners("warning");
  console.warn = () => undefined; // Node's own fails with such members
  const clean = await behavior();
  const differing: { name: string; value: unknown; got: unknown }[] = [];
  /** What differs with these members on every object, by as few members as it needs. */
  const compare = async (names: readonly string[], run: () => unknown, right: unknown, pollutions = POLLUTIONS): Promise<void> => {
    for (const [label, value] of Object.entries(pollutions)) {
      const before = differing.length;
      const got = await pollutedBy(names, value, run);
      const [text, rightText] = [JSON.stringify(got), JSON.stringify(right)];
      if (text === rightText) continue;
      const half = names.length / 2;
      if (half >= 1) for (const some of [names.slice(0, half), names.slice(half)]) await compare(some, run, right, { [label]: value });
      if (differing.length === before) differing.push({ name: names.join(), value: label, got: firstDifference(text, rightText) });
    }
  };
  const names = [...new Set([...NAMES, ...SENT_NAMES, ...process.argv.slice(2)])];
  await compare(names.filter((name) => !OF_CLIENTS.includes(name)), behavior, clean);
  const read = await readings();
  await compare(names, readings, read, { ...POLLUTIONS, ...SENT_POLLUTIONS });
  for (const name of OF_THE_PLATFORM) await compare([name], verdicts, verdicts());
  process.send({ clean, read, differing } satisfies Polluted, () => process.exit());
}
