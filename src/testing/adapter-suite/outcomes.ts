import type { Decision } from "../../core/decision.js";
import type { Outcome } from "../../http/index.js";
import { checkFailure } from "./callers.js";
import { check, checkBudget, checkNoBudget, checkProblem, checkRefusal, same } from "./check.js";
import { keyOf, type Case, type Start } from "./server.js";
import { deadStores, laterStore } from "./stores.js";
import { write, type Answer } from "./wire.js";
import { ManualClock } from "../manual-clock.js";

const TEN = { name: "suite", capacity: 10, refill: { tokens: 1, everyMs: 1_000 } };
const ten = { capacity: 10, window: 10 };
// One of the stores that are down never answers, so a shorter timeout changes no result.
const DEAD_AFTER_MS = 10;

/** What a request costs, what becomes of it, and what the store has to do with it. */
export const outcomes: readonly Case[] = [
  {
    name: "requests may weigh more, and a refused one may leave tokens",
    async run(start) {
      const server = await start({ policy: TEN, cost: (request) => Number(request.header("x-cost") ?? 1) });
      const spend = (cost: number): Promise<Answer> => server.ask("/ok", { headers: { "X-Cost": String(cost) } });
      checkBudget(await spend(3), 200, { ...ten, remaining: 7, reset: 3 });
      checkBudget(await spend(5), 200, { ...ten, remaining: 2, reset: 8 });
      checkRefusal(await spend(5), { ...ten, remaining: 2, retryAfter: 3 });
      checkBudget(await spend(2), 200, { ...ten, remaining: 0, reset: 1 });
      const later = await start({ policy: TEN, cost: async () => 4 });
      checkBudget(await later.get("/ok"), 200, { ...ten, remaining: 6 });
    },
  },
  {
    name: "8, 21 · a cost that can never fit is a 400 without Retry-After, and takes nothing",
    async run(start) {
      const server = await start({ cost: (request) => (request.header("x-user") === "ann" ? 4 : 1) });
      const answer = await server.get("/ok");
      same(answer.status, 400, "the status");
      same(answer.field("Retry-After"), null, "Retry-After");
      checkProblem(answer, "cost_too_high");
      same(server.entered, [], "the requests that reached the handler");
    },
  },
  {
    name: "a cost that is no number fails the request, which does not get in",
    async run(start) {
      await checkFailure(await start({ cost: (request) => (request.header("x-user") === "ann" ? Number.NaN : 1) }));
    },
  },
  {
    name: "every decision is seen, before it is answered",
    async run(start) {
      const seen: Array<[Decision["reason"], string]> = [];
      const server = await start({ onDecision: ({ reason }, { path }) => void seen.push([reason, path]) });
      for (let i = 0; i < 4; i++) await server.get("/ok");
      same(seen, [[null, "/ok"], [null, "/ok"], [null, "/ok"], ["limited", "/ok"]], "the decisions");
    },
  },
  {
    name: "a request that is uncounted by its outcome gives its token back, once",
    async run(start) {
      for (const store of [{}, { store: laterStore(new ManualClock().now) }]) {
        const outcomes: Outcome[] = [];
        const server = await start({ ...store, policy: TEN, refundWhen: (outcome) => outcomes.push(outcome) > 0 && outcome.status === 404 });
        checkBudget(await server.get("/ok"), 200, { ...ten, remaining: 9 });
        checkBudget(await server.get("/ok"), 200, { ...ten, remaining: 8 });
        checkBudget(await server.get("/missing"), 404, { ...ten, remaining: 7 });
        await server.eventually(() => outcomes.length === 3, "three outcomes");
        checkBudget(await server.get("/ok"), 200, { ...ten, remaining: 7 });
        await server.eventually(() => outcomes.length === 4, "four outcomes");
        same(outcomes.map(({ status }) => status), [200, 200, 404, 200], "the statuses");
        same(outcomes.filter(({ aborted }) => aborted), [], "the outcomes of clients that went away");
      }
    },
  },
  {
    name: "the outcome of a handler that fails is a 500, asked about once",
    async run(start) {
      const outcomes: Outcome[] = [];
      const server = await start({ refundWhen: (outcome) => outcomes.push(outcome) > 0 && outcome.status === 500 });
      await server.get("/throws");
      await server.eventually(() => outcomes.length === 1, "an outcome");
      await server.get("/rejects");
      await server.eventually(() => outcomes.length === 2, "a second outcome");
      checkBudget(await server.get("/ok"), 200, { remaining: 2 });
      await server.eventually(() => outcomes.length === 3, "a third outcome");
      same(outcomes.map(({ status }) => status), [500, 500, 200], "the statuses");
    },
  },
  {
    name: "a refused request has no outcome to ask about",
    async run(start) {
      let asked = 0;
      const server = await start({ refundWhen: () => (asked += 1) > 99 });
      for (let i = 0; i < 5; i++) await server.get("/ok");
      await server.eventually(() => asked === 3, "three outcomes");
      checkRefusal(await server.get("/ok"), { retryAfter: 1 });
      same(asked, 3, "the number of outcomes");
    },
  },
  {
    name: "a client that goes away is told as such, once, and its token can be given back",
    needs: "disconnects",
    run: hearingOfIt(async (start) => {
      const outcomes: Outcome[] = [];
      const server = await start({ refundWhen: (outcome) => outcomes.push(outcome) > 0 && outcome.aborted });
      const line = await server.connect();
      line.write(write("/slow", { headers: { "X-User": "ann" } }));
      await server.eventually(() => server.entered.includes("/slow"), "the request to reach the handler");
      line.drop();
      // As a rule the server hears of it before it hears of what is sent after it.
      for (let i = 0; i < 2; i++) await server.get("/ok", { "X-User": "bob" });
      server.release();
      await server.eventually(() => outcomes.length === 3, "three outcomes");
      same(outcomes.filter(({ aborted }) => aborted).length, 1, "the number of clients that went away");
      checkBudget(await server.get("/ok"), 200, { remaining: 2 });
    }),
  },
  {
    name: "a client that goes away before it is allowed is told as such, too",
    needs: "disconnects",
    run: hearingOfIt(async (start) => {
      const outcomes: Outcome[] = [];
      let answerKey = (): void => {};
      const asked = new Promise<void>((resolve) => (answerKey = resolve));
      let waiting = 0;
      const server = await start({
        async key(request) {
          if (request.path === "/slow") await ((waiting += 1), asked);
          return keyOf(request);
        },
        refundWhen: (outcome) => outcomes.push(outcome) > 0 && outcome.aborted,
      });
      const line = await server.connect();
      line.write(write("/slow", { headers: { "X-User": "ann" } }));
      await server.eventually(() => waiting === 1, "the key to be asked for");
      line.drop();
      for (let i = 0; i < 2; i++) await server.get("/ok", { "X-User": "bob" });
      answerKey();
      server.release();
      await server.eventually(() => outcomes.length === 3, "three outcomes");
      same(outcomes.filter(({ aborted }) => aborted).length, 1, "the number of clients that went away");
      checkBudget(await server.get("/ok"), 200, { remaining: 2 });
    }),
  },
  {
    name: "40 · a store that is down can be answered with 503, which is not a 429 and tells no budget",
    async run(start) {
      for (const store of deadStores(new ManualClock().now)) {
        const server = await start({ store, storeTimeoutMs: DEAD_AFTER_MS, onStoreError: "unavailable" });
        const answer = await server.get("/ok");
        same(answer.status, 503, "the status");
        check(/^[1-9]\d*$/.test(answer.field("Retry-After") ?? ""), `Expected Retry-After, got ${answer.field("Retry-After")}`);
        checkNoBudget(answer);
        checkProblem(answer, "temporarily_unavailable");
        same(server.entered, [], "the requests that reached the handler");
      }
    },
  },
  {
    name: "40 · a store that is down lets everybody in where that was asked for, and tells no budget",
    async run(start) {
      for (const store of deadStores(new ManualClock().now)) {
        const server = await start({ store, storeTimeoutMs: DEAD_AFTER_MS, onStoreError: "allow" });
        for (let i = 0; i < 4; i++) {
          const answer = await server.get("/ok");
          same(answer.status, 200, "the status");
          checkNoBudget(answer);
        }
      }
    },
  },
  {
    name: "40 · a store that is down leaves each caller a share of the limit, then 503 with its wait, and tells no budget",
    async run(start) {
      const clock = new ManualClock();
      for (const store of deadStores(clock.now)) {
        const server = await start({ store, storeTimeoutMs: DEAD_AFTER_MS });
        // Of three tokens at one a second, one at one in two seconds.
        same((await server.get("/ok")).status, 200, "the status within the share");
        const answer = await server.get("/ok");
        same([answer.status, answer.field("Retry-After")], [503, "2"], "the status and the wait beyond the share");
        checkNoBudget(answer);
        checkProblem(answer, "temporarily_unavailable");
        same((await server.get("/ok", { "X-User": "bob" })).status, 200, "the status of another caller");
        clock.advance(2_000);
        const later = await server.get("/ok");
        same(later.status, 200, "the status after the wait");
        checkNoBudget(later);
        same(server.entered.length, 3, "the number of requests that reached the handler");
      }
    },
  },
  {
    name: "limits on trial refuse nobody, and tell nothing",
    async run(start) {
      const server = await start({ shadow: true, unidentified: "refuse" });
      for (let i = 0; i < 5; i++) {
        const answer = await server.get("/ok");
        same(answer.status, 200, "the status");
        checkNoBudget(answer);
      }
      same((await server.get("/ok", {})).status, 200, "the status without a key");
    },
  },
  {
    name: "a store that answers later gives the same responses, byte for byte",
    async run(start) {
      const clock = new ManualClock(1_000_000);
      const now = await storyOf(start, {});
      const later = await storyOf(start, { store: laterStore(clock.now) });
      same(later, now, "the responses");
    },
  },
];

async function storyOf(start: Start, options: Parameters<Start>[0]): Promise<unknown> {
  const server = await start(options);
  const answers: Answer[] = [];
  for (const path of ["/ok", "/empty", "/throws", "/chunks"]) answers.push(await server.get(path));
  for (const path of ["/ok", "/own", "/rejects", "/missing"]) answers.push(await server.get(path, { "X-User": "bob" }));
  answers.push(await server.ask("/ok", { method: "HEAD" }));
  return answers.map(({ status, fields, body }) => {
    const failed = status === 500; // its body may hold a stack trace, which tells the two apart
    return [status, fields.filter(([name]) => name !== "date" && !(failed && name === "content-length")), failed ? "" : body];
  });
}

// A busy machine may tell the server of a lost client late. So a server gets a few chances to hear of one; an adapter that
// does not listen misses them all.
function hearingOfIt(run: Case["run"]): Case["run"] {
  return async (start) => {
    for (let chance = 1; ; chance++) {
      try {
        return await run(start);
      } catch (error) {
        if (chance === 5) throw error;
      }
    }
  };
}
