import type { Outcome } from "../../../http/index.js";
import { AssertionError, assertEqual } from "../../assert.js";
import { ManualClock } from "../../manual-clock.js";
import { slowMemoryStore } from "../outages.js";
import { checkFields, checkRefusal } from "../response-checks.js";
import { userKey, type AdapterCase } from "../server.js";
import type { SuiteRequest } from "../setup.js";
import { formatRequest } from "../wire.js";
import { costOfCase, FIELDS_OF_10, POLICY_OF_10 } from "./costs.js";

const CLIENT_LEFT: Outcome = { status: 499, aborted: true };

/** Cases about `actualCost`: what a request really cost, when its work has ended. */
export const outcomeCases: readonly AdapterCase[] = [
  {
    name: "an `actualCost` of 0 returns the token, once, and undefined leaves it",
    cause: "The adapter ends the work of the verdict never, or before the status is known.",
    needs: "outcomes",
    async run(start) {
      for (const store of [{}, { store: slowMemoryStore(new ManualClock().now) }]) {
        const outcomes: Outcome[] = [];
        const server = await start({
          ...store,
          policy: POLICY_OF_10,
          actualCost: (outcome) => (outcomes.push(outcome), outcome.status === 404 ? 0 : undefined),
        });
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
    name: "work that cost more than its charge takes the difference, and work that cost less gives it back",
    cause: "The adapter never ends the work of the verdict.",
    needs: "outcomes",
    async run(start) {
      let ended = 0;
      const actualCost = (_outcome: Outcome, { path }: SuiteRequest): number => (path === "/chunks" ? 6 : 1);
      const server = await start({
        policy: POLICY_OF_10,
        cost: costOfCase,
        actualCost: async (outcome, request) => ((ended += 1), actualCost(outcome, request)),
      });
      checkFields(await server.get("/ok"), 200, { ...FIELDS_OF_10, remaining: 7 });
      await server.eventually(() => ended === 1, "an outcome");
      checkFields(await server.get("/chunks"), 200, { ...FIELDS_OF_10, remaining: 6 });
      await server.eventually(() => ended === 2, "a second outcome");
      checkFields(await server.get("/ok"), 200, { ...FIELDS_OF_10, remaining: 0 });
    },
  },
  {
    name: "the work of a streamed response ends with its body, and not before",
    cause: "The adapter ends the work when the handler returns. Wait until the body was read (`close` of the response in Node).",
    needs: "outcomes",
    async run(start) {
      const outcomes: Outcome[] = [];
      const server = await start({ actualCost: (outcome) => void outcomes.push(outcome) });
      const connection = await server.connect();
      connection.write(formatRequest("/events", { headers: { "X-User": "ann" } }));
      await connection.until("data: 1");
      // A later request has a whole round trip, so an outcome that comes too early is here by then.
      await server.get("/ok", { "X-User": "bob" });
      await server.eventually(() => outcomes.length > 0, "the outcome of the other request");
      assertEqual(outcomes.length, 1, "the number of outcomes while the stream is open");
      server.release();
      await connection.until("data: 2");
      await server.eventually(() => outcomes.length === 2, "an outcome after the stream");
      assertEqual(outcomes.map(({ status, aborted }) => [status, aborted]), [[200, false], [200, false]], "the outcomes");
      connection.drop();
    },
  },
  {
    name: "the work of a response without a body ends with its status",
    cause: "The adapter waits for the body of a response that has none.",
    needs: "outcomes",
    async run(start) {
      const statuses: number[] = [];
      const server = await start({ policy: POLICY_OF_10, actualCost: ({ status }) => void statuses.push(status) });
      for (const [path, method, status] of [
        ["/empty", "GET", 204], ["/same", "GET", 304], ["/ok", "HEAD", 200], ["/chunks", "HEAD", 200],
      ] as const) {
        const before = statuses.length;
        checkFields(await server.request(path, { method }), status, { ...FIELDS_OF_10, remaining: 9 - before });
        await server.eventually(() => statuses.length === before + 1, `the outcome of ${method} ${path}`);
      }
      assertEqual(statuses, [204, 304, 200, 200], "the statuses");
    },
  },
  {
    name: "the outcome of a failed handler is a 500, reported once",
    cause: "The adapter ends the work before the framework's error handler has set the status.",
    needs: "outcomes",
    async run(start) {
      const outcomes: Outcome[] = [];
      const server = await start({ actualCost: (outcome) => (outcomes.push(outcome), outcome.status === 500 ? 0 : undefined) });
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
    cause: "The adapter ends work for refusals.",
    async run(start) {
      let asked = 0;
      const server = await start({ actualCost: () => void (asked += 1) });
      for (let i = 0; i < 5; i++) await server.get("/ok");
      await server.eventually(() => asked === 3, "three outcomes");
      checkRefusal(await server.get("/ok"), { retryAfter: 1 });
      assertEqual(asked, 3, "the number of outcomes");
    },
  },
  {
    name: "a client that disconnects is reported once, with the status 499, and its token can be returned",
    cause: "The adapter ends the work when the response finishes only. Listen to `close` as well.",
    needs: "disconnects",
    run: retryDisconnects(async (start) => {
      const outcomes: Outcome[] = [];
      const server = await start({ actualCost: (outcome) => (outcomes.push(outcome), outcome.status === 499 ? 0 : undefined) });
      const connection = await server.connect();
      connection.write(formatRequest("/slow", { headers: { "X-User": "ann" } }));
      await server.eventually(() => server.entered.includes("/slow"), "the request to reach the handler");
      connection.drop();
      // The server usually notices the disconnect before it reads these later requests.
      for (let i = 0; i < 2; i++) await server.get("/ok", { "X-User": "bob" });
      server.release();
      await server.eventually(() => outcomes.length === 3, "three outcomes");
      assertEqual(
        outcomes.filter(({ aborted, status }) => aborted || status !== 200),
        [CLIENT_LEFT],
        "the outcomes that are not 200",
      );
      checkFields(await server.get("/ok"), 200, { remaining: 2 });
    }),
  },
  {
    name: "a client that disconnects from an open stream is reported once, with the status 499",
    cause: "The adapter does not notice that the body was cancelled.",
    needs: "disconnects",
    async run(start) {
      const outcomes: Outcome[] = [];
      const server = await start({ actualCost: (outcome) => void outcomes.push(outcome) });
      const connection = await server.connect();
      connection.write(formatRequest("/events", { headers: { "X-User": "ann" } }));
      await connection.until("data: 1");
      connection.drop();
      await server.eventually(() => outcomes.length === 1, "an outcome");
      assertEqual(outcomes, [CLIENT_LEFT], "the outcomes");
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
        actualCost: (outcome) => (outcomes.push(outcome), outcome.aborted ? 0 : undefined),
      });
      const connection = await server.connect();
      connection.write(formatRequest("/slow", { headers: { "X-User": "ann" } }));
      await server.eventually(() => waiting === 1, "the `key` function to be called");
      connection.drop();
      for (let i = 0; i < 2; i++) await server.get("/ok", { "X-User": "bob" });
      answerKey();
      server.release();
      await server.eventually(() => outcomes.length === 3, "three outcomes");
      assertEqual(outcomes.filter(({ aborted }) => aborted), [CLIENT_LEFT], "the outcomes with `aborted: true`");
      checkFields(await server.get("/ok"), 200, { remaining: 2 });
    }),
  },
];

/**
 * Makes 5 attempts, because a busy machine may report a disconnect late. An adapter that does not listen fails all 5.
 */
export function retryDisconnects(run: AdapterCase["run"]): AdapterCase["run"] {
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
