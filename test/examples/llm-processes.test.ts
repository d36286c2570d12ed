// Four gateways in processes of their own over one Redis, in front of one language model: an independent check of each
// limit, of each user and team and model, from the model's own books, Redis's own clock and the clock of the machine.
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import type { ChildProcess } from "node:child_process";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { soon, until } from "../helpers/soon.js";
import { RedisStore } from "sluice/redis";
import type { Bill } from "../../examples/llm/gateway.js";
import { createUpstream } from "../../examples/llm/upstream.js";
import { messageFrom, startProcess } from "../helpers/processes.js";
import { describeWith, redisUrl } from "../helpers/services.js";
import { mostAtOnce, sharedInstant } from "../helpers/spells.js";
import { FULL_MS, models, type Model } from "./llm-models.js";
import { mostAhead, mostInMonth } from "./llm-windows.js";
import { ask, listen, openWorld, type Question } from "./llm-world.js";

const ENDED = 3; // this process is ended in the middle of it
/** The last word on a request, the process that said it, and when its answer began and ended there. */
type Told = Bill & { readonly process: number; readonly began: number; readonly ended: number };

const NAMES = Object.keys(models) as Model[];
const crowd = ["red/ann", "red/bob", "red/cid", "blue/dan", "blue/eve", "gray/hal"];
const LIMITS = ["team:requests", "team:tokens", "user:month", "user:parallel", "user:requests", "user:tokens"];
const LOAD_MS = 5_000;
/** A busy machine asks less often, so the load may last until each limit has refused, but no longer than this. */
const LONGEST_LOAD_MS = 30_000;

describeWith("redis", "four gateways over one Redis", () => {
  // A try leaves nothing for the next one.
  let prefix: string;
  let held: Map<string, Promise<void>>;
  /** The last word on each request, and the process that said it. */
  let bills: Map<string, Told>;
  /** When a request was sent and its header fields came, by Redis's clock. */
  let brackets: Map<string, readonly [before: number, after: number]>;
  /** The limits that refused, without the names of their models. */
  let violated: Set<string>;
  let redis: Redis;
  let model: ReturnType<typeof createUpstream>;
  let children: ChildProcess[];
  let urls: string[];
  /** Requests that the ended process did not answer. */
  let lost: number;
  /** Counts the tries that have ended, because a client of a failed one may still wait to ask again. */
  let tries = 0;
  /** When that process was ended, on the clock of the machine. */
  let endedAt: number;

  beforeEach(async () => {
    prefix = `llm-${process.pid}-${Date.now()}`;
    [held, bills, brackets, violated, lost, endedAt] = [new Map(), new Map(), new Map(), new Set(), 0, Infinity];
    redis = new Redis(redisUrl());
    model = createUpstream({ pace: async ({ user = "" }) => held.get(user) ?? (user === "green/fay" ? new Promise(setImmediate) : delay(2)) });
    const upstream = await listen(model.server);
    children = await Promise.all(Array.from({ length: 4 }, () => startProcess("test/examples/llm-child.ts", [redisUrl(), prefix, upstream])));
    urls = await Promise.all(children.map((child) => messageFrom<string>(child)));
    children.forEach((child, process) =>
      child.on("message", (bill: Bill & { readonly told: number }) => {
        const began = bills.get(bill.id)?.began ?? bill.told;
        bills.set(bill.id, { ...bill, process, began, ended: bill.outcome === "running" ? Infinity : bill.told });
      }),
    );
  });
  afterEach(async () => {
    tries += 1;
    for (const child of children) child.kill("SIGKILL");
    model.server.close().closeAllConnections();
    const keys = await redis.keys(`*${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });

  const now = async (): Promise<number> => {
    const [seconds, micros] = (await redis.time()) as [number, number];
    return Math.floor(Number(seconds) * 1_000 + Number(micros) / 1_000);
  };
  const sleepUntil = async (instant: number): Promise<void> => {
    for (let left = instant - (await now()); left > 0; left = instant - (await now())) await delay(left);
  };

  /** Holds the answers to a user back, until the function that it returns is called. */
  function hold(as: string): () => void {
    let go = (): void => undefined;
    held.set(as, new Promise((resolve) => (go = resolve)));
    return () => (held.delete(as), go());
  }

  /** Asks a gateway. Null when the process has ended. */
  async function request(process: number, question: Question): Promise<Response | null> {
    const before = await now();
    const response = await ask(urls[process] as string, question).catch(() => null);
    if (response === null) return null;
    const after = await now();
    const id = response.headers.get("request-id");
    if (id !== null) brackets.set(id, [before, after]);
    if (response.status !== 429) return response;
    const document = (await response.json()) as { readonly "violated-policies": readonly string[] };
    for (const each of document["violated-policies"]) violated.add(each.replace(/-\w+/, ""));
    return response;
  }

  /** Reads a stream to its end, or `events` pieces of it. */
  async function read(response: Response | null, pieces = Infinity): Promise<void> {
    if (response === null || response.status === 429) return;
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    try {
      for (let i = 0; i < pieces && !(await reader.read()).done; i++);
      await reader.cancel();
    } catch {
      // The language model broke off, or the gateway ended.
    }
  }

  /** Asks again and again, of one process after another. */
  async function client(question: Question, start: number, pieces?: number): Promise<void> {
    const own = tries;
    const goesOn = (elapsedMs: number): boolean =>
      tries === own && elapsedMs < (violated.size < LIMITS.length ? LONGEST_LOAD_MS : LOAD_MS);
    for (let i = 0; goesOn((await now()) - start); i++) {
      const response = await request(i % 4, question);
      if (response === null) lost += 1;
      await read(response, pieces);
      if (response?.status === 429) await delay(40); // far too early, so that every wait is tried
    }
  }

  /** An answer takes all tokens and writes slowly; meanwhile they come back and are taken again; then the first one ends. */
  async function lateSettlement(): Promise<void> {
    const go = hold("green/fay");
    const first = await request(0, { as: "green/fay", prompt: "write 10", maxTokens: 1_198 });
    await sleepUntil((await now()) + FULL_MS);
    const second = await request(1, { as: "green/fay", prompt: "write 1198", maxTokens: 1_197 });
    expect([first?.status, second?.status]).toEqual([200, 200]);
    go();
    await read(first); // what it did not use has come back long ago
    await request(2, { as: "green/fay", prompt: "write 900", maxTokens: 900 }).then((response) => read(response)); // so this is far too much
    await read(second);
  }

  test("L1, L10, L19, L20, L21 · every limit of every user and team holds at every instant, and nothing is lost", async () => {
    const start = await now();
    const load = NAMES.flatMap((model) =>
      crowd.flatMap((as, i) => [
        client({ as, model, prompt: "write 40", maxTokens: 300 }, start),
        client({ as, model, prompt: "write 1", maxTokens: 1 }, start),
        client({ as, model, prompt: "write 150", maxTokens: 200 }, start, 8), // and goes away
        client({ as, model, prompt: i % 3 === 0 ? "write 30, break after 5" : "write 4", maxTokens: 250, stream: i % 2 === 0 }, start),
      ]),
    );
    // Each is alone in a team, whose limits are larger: so the user's own limits refuse.
    load.push(...Array.from({ length: 2 }, () => client({ as: "mint/kim", model: "large", prompt: "write 20", maxTokens: 880 }, start)));
    load.push(...Array.from({ length: 6 }, () => client({ as: "lime/lea", model: "large", prompt: "write 1", maxTokens: 1 }, start)));
    // A request that is given back while it refills may be there twice for a part (docs/guides/settling.md), so it is alone.
    load.push(client({ as: "white/zoe", prompt: "fail", maxTokens: 250 }, start));
    // Writes 400 tokens more than it was asked for.
    const overrun = request(ENDED, { as: "gold/gus", prompt: "write 500, ignore the limit", maxTokens: 100 }).then((response) => read(response));
    // Takes everything through a process that then ends in the middle of the answer.
    const ivy = hold("gold/ivy");
    const abandoned = await request(ENDED, { as: "gold/ivy", prompt: "write 100", maxTokens: 1_197 });
    expect(abandoned?.status).toBe(200);
    await overrun;
    const crash = sleepUntil(start + 2_500).then(() => {
      endedAt = sharedInstant();
      children[ENDED]?.kill("SIGKILL");
    });
    await Promise.all([...load, crash, read(abandoned), lateSettlement()]);
    ivy();
    await settled();

    // One refill later every token of every dimension can be used, at once and through any process.
    await sleepUntil((await now()) + FULL_MS);
    for (const as of [...crowd, "mint/kim", "lime/lea", "green/fay", "gold/gus", "gold/ivy"]) {
      for (const name of ["small", "large"] as const) {
        const all = models[name].user.tokens.capacity;
        // The language model refuses, so all of them are there for the next caller of the team.
        expect([as, name, (await request(0, { as, model: name, prompt: "fail", maxTokens: all - 1 }))?.status]).toEqual([as, name, 502]);
      }
    }
    const two = ["red/ann", "red/bob", "blue/dan", "blue/eve"];
    const free = two.map(hold); // so that nothing is given back before all have asked
    const halves = two.map((as) => request(1, { as, prompt: "write 2", maxTokens: 998 }));
    const singles = two.flatMap((as) => Array.from({ length: 7 }, () => request(2, { as, model: "large", prompt: "write 1", maxTokens: 1 })));
    const answers = await Promise.all([...halves, ...singles]);
    expect(new Set(answers.map((response) => response?.status))).toEqual(new Set([200]));
    // Now both budgets have refused, in both dimensions: what refills meanwhile is far from enough for all of these.
    const more = [{ as: "red/ann", prompt: "write 2", maxTokens: 998 }, ...["red/cid", "gray/hal"].flatMap((as) => Array<Question>(24).fill({ as, model: "large", prompt: "write 1", maxTokens: 1 }))];
    answers.push(...(await Promise.all(more.map((question) => request(0, question)))));
    for (const go of free) go();
    await Promise.all(answers.map((response) => read(response)));
    await settled();
    judge();
  });

  /** Until the three processes that live have ended all answers that they began. */
  async function settled(): Promise<void> {
    await until(() => [...bills.values()].every(({ outcome, process }) => outcome !== "running" || process === ENDED));
  }

  function judge(): void {
    const all = [...bills.values()];
    const rows = new Map(model.served.map((row) => [row.id, row]));

    // The gateways' books are right: instants by Redis's clock, tokens by what the language model served.
    const outcomes = new Map<string, number>();
    for (const bill of all) {
      const { id, at, caller, estimate, used, answer, outcome } = bill;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      const [before, after] = brackets.get(id) ?? [-Infinity, Infinity];
      expect([before <= at, at <= after]).toEqual([true, true]);
      const row = answer === null ? undefined : rows.get(answer);
      if (row !== undefined) expect([row.user, row.model]).toEqual([`${caller.team}/${caller.user}`, bill.model]);
      if (outcome === "complete") expect(used).toBe((row?.promptTokens ?? 0) + (row?.completionTokens ?? 0));
      else if (outcome === "cancelled") expect([row, used]).toEqual([undefined, 0]);
      // Until its end the language model does not say how many tokens the prompt had, and the gateway guesses.
      else if (row !== undefined) expect(used).toBeLessThanOrEqual(row.completionTokens + 7);
      else expect(used ?? 0).toBeLessThanOrEqual(estimate);
    }
    // Of the answers that no book names, the process that ended had one for each request that it allowed, or had not told of it yet.
    const named = new Set(all.map(({ answer }) => answer));
    const unsettled = all.filter(({ outcome }) => outcome === "running").length;
    expect(model.served.filter(({ id }) => !named.has(id)).length).toBeLessThanOrEqual(unsettled + lost);

    // In every window, of every bucket: granted and not given back, at the instant when it was granted.
    const broken: string[] = [];
    const ahead = { requests: 0, tokens: 0 };
    for (const name of NAMES) {
      for (const whose of ["user", "team"] as const) {
        const bucketOf = ({ caller, model }: Bill): string => `${model} ${whose === "user" ? `${caller.team}/${caller.user}` : caller.team}`;
        for (const bucket of new Set(all.filter((bill) => bill.model === name).map(bucketOf))) {
          const own = all.filter((bill) => bucketOf(bill) === bucket);
          const granted = {
            requests: own.map(({ at, outcome }) => [at, outcome === "cancelled" ? 0 : 1] as const),
            // An answer that was not settled keeps its estimate. What an answer takes beyond it is not granted but owed.
            tokens: own.map(({ at, used, estimate }) => [at, Math.min(used ?? estimate, estimate)] as const),
          };
          for (const dimension of ["requests", "tokens"] as const) {
            const numbers = models[name][whose][dimension];
            const most = mostAhead(granted[dimension], numbers);
            if (most > numbers.capacity) broken.push(`${bucket}: ${dimension} ${most} of ${numbers.capacity} ahead of the rate`);
            ahead[dimension] = Math.max(ahead[dimension], most / numbers.capacity);
          }
        }
      }
    }
    // At every instant, of every user: answers under way. And in every month: tokens of answers.
    const used = { parallel: 0, month: 0 };
    for (const name of NAMES) {
      const { month, parallel } = models[name].user;
      for (const as of new Set(all.map(({ caller }) => `${caller.team}/${caller.user}`))) {
        const own = all.filter(({ caller, model }) => model === name && `${caller.team}/${caller.user}` === as);
        const atOnce = mostAtOnce(own.map(({ began, ended, process }) => ({ began, ended: process === ENDED ? Math.min(ended, endedAt) : ended })));
        if (atOnce > parallel.capacity) broken.push(`${name} ${as}: ${atOnce} of ${parallel.capacity} answers at once`);
        const inMonth = mostInMonth(own.map(({ at, used, estimate }) => [at, Math.min(used ?? estimate, estimate)]));
        if (inMonth > month.capacity) broken.push(`${name} ${as}: ${inMonth} of ${month.capacity} tokens in a month`);
        used.parallel = Math.max(used.parallel, atOnce / parallel.capacity);
        used.month = Math.max(used.month, inMonth / month.capacity);
      }
    }
    console.log(
      `four gateways: ${all.length} answers (${[...outcomes].map(([name, count]) => `${count} ${name}`).join(", ")}), ` +
        `at most ${ahead.requests.toFixed(3)} of the requests and ${ahead.tokens.toFixed(3)} of the tokens of a bucket ahead of the rate, ` +
        `at most ${used.month.toFixed(3)} of a month and ${used.parallel.toFixed(3)} of the answers at once`,
    );
    expect(broken).toEqual([]);

    // Each limit has refused, each way to end has happened, and some bucket was used up.
    expect([...violated].sort()).toEqual(LIMITS);
    expect([...outcomes.keys()].sort()).toEqual(["aborted", "broken", "cancelled", "complete", "running"]);
    expect(ahead.requests).toBeGreaterThan(0.5);
    expect(ahead.tokens).toBeGreaterThan(0.99);
    expect(used.month).toBeGreaterThan(0.2); // a busy machine gets less done in the time
    expect(used.parallel).toBe(1);
  }
});

describeWith("redis", "a gateway over Redis", () => {
  test("takes requests, tokens, month and a place, of user and team, in one call, and settles in another", async () => {
    const redis = new Redis(redisUrl());
    const prefix = `llm-one-${process.pid}-${Date.now()}`;
    let go = (): void => undefined;
    let hold: Promise<void> | null = null;
    const store = new RedisStore(redis, { prefix, timeoutMs: Infinity });
    const world = await openWorld({ store }, { pace: async () => hold });
    try {
      const answered = async (): Promise<void> => {
        await until(() => world.open() === 0);
      };
      await world.ask({ as: "red/ann", prompt: "write 1" }).then((response) => response.text()); // Redis knows the scripts now
      await answered();
      const calls = vi.spyOn(redis, "sendCommand");
      hold = new Promise((resolve) => (go = resolve));
      const response = await world.ask({ as: "red/ann", prompt: "write 1" });
      expect(response.status).toBe(200);
      const names = (): string[] => calls.mock.calls.map(([command]) => (command as { name: string }).name);
      expect(names()).toEqual(["evalsha"]);
      go();
      await response.text();
      await soon(() => expect(names()).toEqual(["evalsha", "evalsha"]));
    } finally {
      world.close();
      const keys = await redis.keys(`*${prefix}*`);
      if (keys.length > 0) await redis.del(...keys);
      redis.disconnect();
    }
  });
});
