import type { ReportedCost } from "../../../http/index.js";
import { whenDone } from "../../../limits/in-flight.js";
import { createLimiter } from "../../../limiter/create-limiter.js";
import { combine } from "../../../limiter/several/combine.js";
import { createWaiter } from "../../../limiter/waiting/create-waiter.js";
import { MemoryStore } from "../../../stores/memory/memory.js";
import { assert, assertEqual } from "../../assert.js";
import { ManualClock } from "../../manual-clock.js";
import { checkFields } from "../response-checks.js";
import { userKey, type AdapterCase, type CaseOptions, type StartServer } from "../server.js";
import { formatRequest } from "../wire.js";
import { costOfCase, FIELDS_OF_10, POLICY_OF_10 } from "./costs.js";
import { letNotice } from "./in-flight.js";

const WORK_CAUSE = "The adapter ends the work of the verdict never, or gives `key` another object than the handler.";

const LATE_CAUSE =
  "The adapter settles the charge when the work ends. Call `work.end` then, and nothing else: the handler may report its " +
  "cost later.";

type ReportToSuite = (cost: ReportedCost) => void;

/** Cases about `reportCost`: the handler says what a request really cost. And about requests that wait for tokens. */
export const reportCases: readonly AdapterCase[] = [
  {
    name: "`reportCost` in the handler settles the charge, and the last report wins, also over `actualCost`",
    cause: WORK_CAUSE,
    needs: "outcomes",
    async run(start) {
      for (const actualCost of [undefined, () => 0]) {
        const server = await start({
          policy: POLICY_OF_10,
          cost: costOfCase,
          actualCost,
          reports: (report) => (report(9), report(5)),
        });
        checkFields(await server.get("/report"), 200, { ...FIELDS_OF_10, remaining: 7 });
        await checkLeft(server, 5);
      }
    },
  },
  {
    name: "`reportCost` after the response settles the charge, once",
    cause: WORK_CAUSE,
    needs: "outcomes",
    async run(start) {
      let late: ReportToSuite = () => assert(false, "Expected a call of `setup.reports`, got none");
      const server = await start({ policy: POLICY_OF_10, cost: costOfCase, reports: (report) => (late = report) });
      await server.get("/report");
      await checkLeft(server, 7);
      late(5);
      await checkLeft(server, 5);
      late(1);
      await checkLeft(server, 5);
    },
  },
  {
    name: "L21 · beside a limit in flight, `reportCost` after the response settles the charge, once",
    cause: LATE_CAUSE,
    needs: "outcomes",
    async run(start) {
      for (const limiter of ["plain", "waiting", "combined"] as const) {
        const { server, checkLate } = await startInFlight(start, limiter);
        await server.get("/report");
        await checkLate();
      }
    },
  },
  {
    name: "L21 · beside a limit in flight, `reportCost` after the client has left settles the charge, once",
    cause: LATE_CAUSE,
    needs: ["outcomes", "pipelining"],
    async run(start) {
      const { server, checkLate } = await startInFlight(start, "plain");
      const connection = await server.connect();
      const ofUser = (path: string, user: string): string => formatRequest(path, { headers: { "X-User": user } });
      connection.write(ofUser("/slow", "bob") + ofUser("/report", "ann"));
      await server.eventually(() => server.entered.includes("/report"), "the second request to reach its handler");
      await letNotice(server);
      connection.drop();
      await checkLate();
    },
  },
  {
    name: "with two limiters, `reportCost` is for the one that decided last",
    cause: WORK_CAUSE,
    needs: "outcomes",
    async run(start) {
      const server = await start({ policy: POLICY_OF_10, cost: costOfCase, reports: (report) => report(0) });
      await server.get("/both");
      await server.get("/bulk");
      // A refusal takes no token, so the request may be repeated. Its bucket of 2 had 2 requests before.
      let status = 0;
      for (let tries = 0; status !== 200 && tries < 200; tries++) ({ status } = await server.get("/bulk"));
      assertEqual(status, 200, "the status of a third request to the second limiter");
      await checkLeft(server, 9);
    },
  },
  {
    name: "`reportCost` with a number for a policy of several limits throws a TypeError that lists their names",
    cause: WORK_CAUSE,
    needs: "outcomes",
    async run(start) {
      const limits = ["requests", "tokens"].map((name) => ({ name, capacity: 10, refill: { tokens: 1, everyMs: 1_000 } }));
      let thrown: unknown;
      const server = await start({
        policy: { name: "suite", limits: limits as never },
        cost: (request) => (request.header("x-cost") === "0" ? 0 : { tokens: 5 }),
        reports(report) {
          try {
            report(2);
          } catch (error) {
            thrown = error;
          }
          report({ tokens: 2 });
        },
      });
      const { status } = await server.get("/report");
      assertEqual(status, 200, "the status");
      assert(
        thrown instanceof TypeError && /requests.*tokens/.test(thrown.message),
        `Expected a TypeError with the names of the limits, got ${String(thrown)}`,
      );
      let told: string | null = null;
      for (let tries = 0; told !== '"suite:requests";r=9;t=9, "suite:tokens";r=8;t=8' && tries < 200; tries++) {
        told = (await server.request("/ok", { headers: { "X-Cost": "0" } })).field("RateLimit");
      }
      assertEqual(told, '"suite:requests";r=9;t=9, "suite:tokens";r=8;t=8', "RateLimit");
    },
  },
  {
    name: "a client that disconnects while its request waits for tokens leaves the queue",
    cause: "The reader has no `onDisconnect`, or does not listen while the request waits.",
    needs: "disconnects",
    async run(start) {
      const limiter = createLimiter({ policy: POLICY_OF_10, store: new MemoryStore({ clock: new ManualClock(1_000_000).now }) });
      for (const user of ["ann", "bob"]) limiter.block(["user", user], 3_600_000);
      const waiter = createWaiter(limiter, { maxWaitMs: Infinity });
      const server = await start({ limiter: waiter });
      const [ann, bob] = [await server.connect(), await server.connect()];
      ann.write(formatRequest("/ok", { headers: { "X-User": "ann" } }));
      bob.write(formatRequest("/ok", { headers: { "X-User": "bob" } }));
      await server.eventually(() => waiter.waiting === 2, "two requests that wait");
      ann.drop();
      await server.eventually(() => waiter.waiting === 1, "the disconnected client to leave the queue");
      bob.drop();
      await server.eventually(() => waiter.waiting === 0, "the other client to leave the queue");
      assertEqual(server.entered, [], "the requests that reached the handler");
    },
  },
];

const BESIDE_IN_FLIGHT = {
  name: "suite",
  limits: [
    { name: "tokens", capacity: 10, refill: { tokens: 1, everyMs: 1_000 }, cost: 4 },
    { name: "parallel", capacity: 3, returns: whenDone() },
  ],
};

/** Starts a server whose requests take 4 tokens of 10, and 1 of 3 in flight. */
async function startInFlight(start: StartServer, kind: "plain" | "waiting" | "combined") {
  const limiter = createLimiter({ policy: BESIDE_IN_FLIGHT, store: new MemoryStore({ clock: () => 1_000_000 }) });
  const limiters: Readonly<Record<typeof kind, CaseOptions>> = {
    plain: { limiter },
    waiting: { limiter: createWaiter(limiter) },
    combined: { limiter: combine({ user: limiter }), key: (request) => ({ user: userKey(request) }) },
  };
  let late: ReportToSuite = () => assert(false, "Expected a call of `setup.reports`, got none");
  const server = await start({ ...limiters[kind], reports: (report) => (late = report) });
  const left = (): readonly number[] | undefined => limiter.peek(["user", "ann"], 0).limits?.map(({ remaining }) => remaining);
  const report = (tokens: number): void => late(kind === "combined" ? { user: { tokens } } : { tokens });

  /** Waits for the end of the first request, then reports its cost twice. */
  async function checkLate(): Promise<void> {
    await server.eventually(() => left()?.[1] === 3, "the token in flight to come back");
    assertEqual(left(), [6, 3], "the tokens that are left before the report");
    report(9);
    await server.eventually(() => left()?.[0] === 1, "the report to be settled");
    report(0);
    await letNotice(server);
    assertEqual(left(), [1, 3], "the tokens that are left after a second report");
  }
  return { server, checkLate };
}

// The charge may be settled after the response, so the request, which costs nothing, is repeated.
async function checkLeft(server: Awaited<ReturnType<StartServer>>, remaining: number): Promise<void> {
  let left: string | null = null;
  for (let tries = 0; left !== String(remaining) && tries < 200; tries++) {
    left = (await server.request("/ok", { headers: { "X-Cost": "0" } })).field("RateLimit-Remaining");
  }
  assertEqual(left, String(remaining), "RateLimit-Remaining of a request that costs nothing");
}
