import { inFlightCode, whenDone } from "../../../limits/in-flight.js";
import type { Outcome } from "../../../http/index.js";
import { createLimiter } from "../../../limiter/create-limiter.js";
import type { SyncStore } from "../../../port/store.js";
import { MemoryStore } from "../../../stores/memory/memory.js";
import { assertEqual } from "../../assert.js";
import type { AdapterCase, ServerUnderTest, StartServer } from "../server.js";
import { formatRequest, type RawConnection } from "../wire.js";
import { letNotice } from "./in-flight.js";

const CAPACITY = 3;

const OUTER_CAUSE = "The adapter waits for the handler's own response. Wait for the one that the client gets.";

let servers = 0;

// `whenDone` allows no less than a second. Here tokens come back by themselves after a tenth of it. Each server has a
// time, and so a beat, of its own: a test runner may clear the timers of another case.
function briefly() {
  const times = { staleAfterMs: 100 + (servers++ % 100), retryAfterMs: 1_000, maxWorkMs: 3_600_000 };
  // A renewal would come too late on a busy machine, which is a warning.
  const store: SyncStore = Object.assign(new MemoryStore(), { verbs: ["consume", "peek", "adjust"] as const });
  return { returns: { ...times, kindCode: inFlightCode(times) }, store };
}

/** Cases about the end of work, where the response does not tell it: tokens in flight come back all the same (L21). */
export const endOfWorkCases: readonly AdapterCase[] = [
  {
    name: "L21 · pipelined and gone: requests that wait behind another give their tokens in flight back when their client leaves",
    cause:
      "The adapter waits for `close` of the response. Node does not emit it on a response that waits behind another. Listen " +
      "to the connection, too.",
    needs: "pipelining",
    async run(start) {
      const { server, outcomes, freeTokens } = await startWatched(start);
      const connection = await server.connect();
      const queued = formatRequest("/ok", { headers: { "X-User": "ann" } });
      connection.write(formatRequest("/slow", { headers: { "X-User": "bob" } }) + queued.repeat(CAPACITY));
      await server.eventually(() => server.entered.includes("/slow"), "the first request to reach its handler");
      await letNotice(server);
      connection.drop();
      await letNotice(server);
      server.release();
      await server.eventually(() => freeTokens() === CAPACITY, "all tokens to come back");
      await checkOutcomes(server, outcomes);
    },
  },
  {
    name: "L21 · dropped by an outer middleware: the token in flight of a response that is not sent comes back",
    cause: OUTER_CAUSE,
    needs: "outerMiddleware",
    async run(start) {
      await checkRoute(await startWatched(start, briefly()), "/dropped", 504);
    },
  },
  {
    name: "L21 · throws after next(): the token in flight comes back when an outer middleware fails after the handler",
    cause: OUTER_CAUSE,
    needs: "outerMiddleware",
    async run(start) {
      await checkRoute(await startWatched(start, briefly()), "/fails-after", 500);
    },
  },
  {
    name: "L21 · compressed: the token in flight comes back after a response that an outer middleware compresses",
    cause: "The adapter looks at the response right after its `end`, but its bytes are sent later.",
    needs: "outerMiddleware",
    async run(start) {
      const watched = await startWatched(start);
      await checkRoute(watched, "/compressed", 200);
      assertEqual(watched.outcomes, [{ status: 200, aborted: false }], "the outcomes");
    },
  },
  {
    name: "L21 · no socket: an upgraded connection holds its token in flight until it closes",
    cause:
      "The adapter waits for `close` of the response. A response made for a WebSocket may have no socket, and emits no event. " +
      "Listen to the connection of the request, too.",
    needs: "upgrades",
    async run(start) {
      const { server, outcomes, freeTokens } = await startWatched(start);
      const headers = { "X-User": "ann", Connection: "Upgrade", Upgrade: "suite" };
      const sockets: RawConnection[] = [];
      try {
        for (let open = 1; open <= CAPACITY; open++) {
          const socket = await server.connect();
          sockets.push(socket);
          socket.write(formatRequest("/socket", { headers }));
          await socket.until("HTTP/1.1 101");
          assertEqual(freeTokens(), CAPACITY - open, `the tokens that are left beside ${open} open sockets`);
        }
        assertEqual((await server.get("/ok")).status, 429, "the status beside open sockets");
      } finally {
        for (const socket of sockets) socket.drop();
      }
      await server.eventually(() => freeTokens() === CAPACITY, "all tokens to come back");
      await server.eventually(() => outcomes.length === CAPACITY, `${CAPACITY} outcomes`);
    },
  },
  {
    name: "L21 · never ends after its client left: a handler keeps its token in flight for four times `staleAfterMs` at most",
    cause: "The adapter waits for the handler before it ends the work. End it when the client leaves, and tell `work.holdUntil`.",
    needs: "disconnects",
    async run(start) {
      const { server, outcomes, freeTokens } = await startWatched(start, briefly());
      for (const path of ["/slow", "/events"]) {
        const connection = await server.connect();
        connection.write(formatRequest(path, { headers: { "X-User": "ann" } }));
        await server.eventually(() => server.entered.includes(path), `the request of ${path} to reach the handler`);
        connection.drop();
      }
      await server.eventually(() => freeTokens() === CAPACITY && outcomes.length === 2, "two tokens and two outcomes");
      assertEqual(outcomes.map(({ status }) => status), [499, 499], "the statuses of the outcomes");
    },
  },
];

interface Watched {
  readonly server: ServerUnderTest;
  /** The outcomes so far. */
  readonly outcomes: readonly Outcome[];
  /** The tokens in flight that are left. */
  freeTokens(): number;
}

async function startWatched(
  start: StartServer, { returns, store }: ReturnType<typeof briefly> = { returns: whenDone(), store: new MemoryStore() },
): Promise<Watched> {
  const policy = { name: "suite", capacity: CAPACITY, returns };
  const limiter = createLimiter({ policy, store });
  const outcomes: Outcome[] = [];
  const server = await start({ policy, store, actualCost: (outcome) => void outcomes.push(outcome) });
  return { server, outcomes, freeTokens: () => limiter.peek(["user", "ann"], 0).remaining };
}

async function checkRoute({ server, freeTokens, outcomes }: Watched, path: string, status: number): Promise<void> {
  assertEqual((await server.get(path)).status, status, `the status of ${path}`);
  server.release();
  await server.eventually(() => freeTokens() === CAPACITY, "the token to come back");
  await checkOutcomes(server, outcomes);
}

async function checkOutcomes(server: ServerUnderTest, outcomes: readonly Outcome[]): Promise<void> {
  await server.eventually(() => outcomes.length >= server.entered.length, "an outcome of each request");
  assertEqual(outcomes.length, server.entered.length, "the number of outcomes");
}
