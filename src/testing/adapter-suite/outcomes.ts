import type { Decision } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import { definePolicy } from "../../core/policy.js";
import { consumeRecords } from "../../core/records.js";
import type { Outcome } from "../../http/index.js";
import { AssertionError, assertEqual } from "../assert.js";
import { ManualClock } from "../manual-clock.js";
import { slowMemoryStore } from "./outages.js";
import { checkFields, checkNoFields, checkProblem, checkRefusal } from "./response-checks.js";
import { userKey, type AdapterCase, type CaseOptions } from "./server.js";
import { formatRequest, type WireResponse } from "./wire.js";

const POLICY_OF_10 = { name: "suite", capacity: 10, refill: { tokens: 1, everyMs: 1_000 } };
const FIELDS_OF_10 = { capacity: 10, window: 10 };

/** Cases about the cost of a request, and about the time after the handler. */
export const outcomeCases: readonly AdapterCase[] = [
  {
    name: "a request can cost several tokens, and a refusal can leave some",
    cause: "The adapter drops the `cost` option, or reports 0 remaining on every 429.",
    async run(start) {
      const server = await start({ policy: POLICY_OF_10, cost: (request) => Number(request.header("x-cost") ?? 1) });
      const spend = (cost: number): Promise<WireResponse> => server.request("/ok", { headers: { "X-Cost": String(cost) } });
      checkFields(await spend(3), 200, { ...FIELDS_OF_10, remaining: 7, reset: 3 });
      checkFields(await spend(5), 200, { ...FIELDS_OF_10, remaining: 2, reset: 8 });
      checkRefusal(await spend(5), { ...FIELDS_OF_10, remaining: 2, retryAfter: 3 });
      checkFields(await spend(2), 200, { ...FIELDS_OF_10, remaining: 0, reset: 1 });
      const later = await start({ policy: POLICY_OF_10, cost: async () => 4 });
      checkFields(await later.get("/ok"), 200, { ...FIELDS_OF_10, remaining: 6 });
    },
  },
  {
    name: "8, 21 · a cost above the capacity is a 400 without Retry-After, and takes no token",
    cause: "The adapter sends 429 for every refusal. Send the status of the verdict.",
    async run(start) {
      const server = await start({ cost: (request) => (request.header("x-user") === "ann" ? 4 : 1) });
      const response = await server.get("/ok");
      assertEqual(response.status, 400, "the status");
      assertEqual(response.field("Retry-After"), null, "Retry-After");
      checkProblem(response, "cost_too_high");
      assertEqual(server.entered, [], "the requests that reached the handler");
    },
  },
  {
    name: "`onDecision` gets every decision before the response is sent",
    cause: "The adapter drops the `onDecision` option.",
    async run(start) {
      const seen: Array<[Decision["reason"], string]> = [];
      const server = await start({ onDecision: ({ reason }, { path }) => void seen.push([reason, path]) });
      for (let i = 0; i < 4; i++) await server.get("/ok");
      assertEqual(seen, [[null, "/ok"], [null, "/ok"], [null, "/ok"], ["limited", "/ok"]], "the reasons and paths that `onDecision` got");
    },
  },
  {
    name: "a refund by outcome returns the token, once",
    cause: "The adapter calls `settle` of the verdict never, twice, or before the status is known.",
    needs: "outcomes",
    async run(start) {
      for (const store of [{}, { store: slowMemoryStore(new ManualClock().now) }]) {
        const outcomes: Outcome[] = [];
        const server = await start({ ...store, policy: POLICY_OF_10, refundWhen: (outcome) => outcomes.push(outcome) > 0 && outcome.status === 404 });
        checkFields(await server.get("/ok"), 200, { ...FIELDS_OF_10, remaining: 9 });
        checkFields(await server.get("/ok"), 200, { ...FIELDS_OF_10, remaining: 8 });
        checkFields(await server.get("/missing"), 404, { ...FIELDS_OF_10, remaining: 7 });
        await server.eventually(() => outcomes.length === 3, "three outcomes");
        checkFields(await server.get("/ok"), 200, { ...FIELDS_OF_10, remaining: 7 });
        await server.eventually(() => outcomes.length === 4, "four outcomes");
        assertEqual(outcomes.map(({ status }) => status), [200, 200, 404, 200], "the statuses");
        assertEqual(outcomes.filter(({ aborted }) => aborted), [], "the outcomes with `aborted: true`");
      }
    },
  },
  {
    name: "the outcome of a failed handler is a 500, reported once",
    cause: "The adapter calls `settle` before the framework's error handler has set the status.",
    needs: "outcomes",
    async run(start) {
      const outcomes: Outcome[] = [];
      const server = await start({ refundWhen: (outcome) => outcomes.push(outcome) > 0 && outcome.status === 500 });
      await server.get("/throws");
      await server.eventually(() => outcomes.length === 1, "an outcome");
      await server.get("/rejects");
      await server.eventually(() => outcomes.length === 2, "a second outcome");
      checkFields(await server.get("/ok"), 200, { remaining: 2 });
      await server.eventually(() => outcomes.length === 3, "a third outcome");
      assertEqual(outcomes.map(({ status }) => status), [500, 500, 200], "the statuses");
    },
  },
  {
    name: "a refused request has no outcome",
    cause: "The adapter calls `settle` for refusals.",
    async run(start) {
      let asked = 0;
      const server = await start({ refundWhen: () => (asked += 1) > 99 });
      for (let i = 0; i < 5; i++) await server.get("/ok");
      await server.eventually(() => asked === 3, "three outcomes");
      checkRefusal(await server.get("/ok"), { retryAfter: 1 });
      assertEqual(asked, 3, "the number of outcomes");
    },
  },
  {
    name: "a client that disconnects is reported once, and its token can be refunded",
    cause: "The adapter calls `settle` when the response finishes only. Listen to `close` as well.",
    needs: "disconnects",
    run: retryDisconnects(async (start) => {
      const outcomes: Outcome[] = [];
      const server = await start({ refundWhen: (outcome) => outcomes.push(outcome) > 0 && outcome.aborted });
      const connection = await server.connect();
      connection.write(formatRequest("/slow", { headers: { "X-User": "ann" } }));
      await server.eventually(() => server.entered.includes("/slow"), "the request to reach the handler");
      connection.drop();
      // The server usually notices the disconnect before it reads these later requests.
      for (let i = 0; i < 2; i++) await server.get("/ok", { "X-User": "bob" });
      server.release();
      await server.eventually(() => outcomes.length === 3, "three outcomes");
      assertEqual(outcomes.filter(({ aborted }) => aborted).length, 1, "the number of outcomes with `aborted: true`");
      checkFields(await server.get("/ok"), 200, { remaining: 2 });
    }),
  },
  {
    name: "a client that disconnects while its request waits for tokens leaves the queue",
    cause: "The reader has no `onDisconnect`, or does not listen while the request waits.",
    needs: "disconnects",
    async run(start) {
      const waiting = new Set<string>();
      const hold = (key: Key, { signal }: { readonly signal?: AbortSignal | undefined }): Promise<Decision> =>
        new Promise((_resolve, reject) => {
          const leave = (): void => (waiting.delete(String(key)), reject(signal?.reason as Error));
          waiting.add(String(key));
          if (signal?.aborted) leave();
          signal?.addEventListener("abort", leave);
        });
      const policy = definePolicy(POLICY_OF_10);
      const peek = (): Decision => consumeRecords(new Map(), policy, 1, 0).decision;
      const limiter = { policy, store: { sync: true, peek }, consume: peek, peek } as unknown as NonNullable<CaseOptions["limiter"]>;
      // Replaces a waiter that never gets tokens. It has the waiter's brand, so the suite does not load the waiter's
      // code.
      const wait = Object.defineProperty({ wait: hold }, Symbol.for("sluice.holder"), { value: { limiter, hold } });
      const server = await start({ limiter, wait });
      const [ann, bob] = [await server.connect(), await server.connect()];
      ann.write(formatRequest("/ok", { headers: { "X-User": "ann" } }));
      bob.write(formatRequest("/ok", { headers: { "X-User": "bob" } }));
      await server.eventually(() => waiting.size === 2, "two requests that wait");
      ann.drop();
      await server.eventually(() => !waiting.has("user,ann"), "the disconnected client to leave the queue");
      assertEqual([...waiting], ["user,bob"], "the clients that wait");
      bob.drop();
      await server.eventually(() => waiting.size === 0, "the other client to leave the queue");
      assertEqual(server.entered, [], "the requests that reached the handler");
    },
  },
  {
    name: "a client that disconnects before the decision is reported once, too",
    cause: "The adapter listens for a disconnect too late. Check whether the request was closed while the gate decided.",
    needs: "disconnects",
    run: retryDisconnects(async (start) => {
      const outcomes: Outcome[] = [];
      let answerKey = (): void => {};
      const asked = new Promise<void>((resolve) => (answerKey = resolve));
      let waiting = 0;
      const server = await start({
        async key(request) {
          if (request.path === "/slow") await ((waiting += 1), asked);
          return userKey(request);
        },
        refundWhen: (outcome) => outcomes.push(outcome) > 0 && outcome.aborted,
      });
      const connection = await server.connect();
      connection.write(formatRequest("/slow", { headers: { "X-User": "ann" } }));
      await server.eventually(() => waiting === 1, "the `key` function to be called");
      connection.drop();
      for (let i = 0; i < 2; i++) await server.get("/ok", { "X-User": "bob" });
      answerKey();
      server.release();
      await server.eventually(() => outcomes.length === 3, "three outcomes");
      assertEqual(outcomes.filter(({ aborted }) => aborted).length, 1, "the number of outcomes with `aborted: true`");
      checkFields(await server.get("/ok"), 200, { remaining: 2 });
    }),
  },
  {
    name: "`shadow: true` refuses no request and sends no fields",
    cause: "The adapter refuses or sends fields although the verdict says `pass` without fields.",
    async run(start) {
      const server = await start({ shadow: true, unidentified: "refuse" });
      for (let i = 0; i < 5; i++) {
        const response = await server.get("/ok");
        assertEqual(response.status, 200, "the status");
        checkNoFields(response);
      }
      assertEqual((await server.get("/ok", {})).status, 200, "the status without a key");
    },
  },
];

// A busy machine may report a disconnect late, so a case gets 5 attempts. An adapter that does not listen fails all 5.
function retryDisconnects(run: AdapterCase["run"]): AdapterCase["run"] {
  return async (start) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run(start);
      } catch (error) {
        if (attempt === 5 || !(error instanceof AssertionError)) throw error;
      }
    }
  };
}
