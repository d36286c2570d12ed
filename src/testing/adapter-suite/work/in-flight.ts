import { whenDone } from "../../../limits/in-flight.js";
import { createLimiter } from "../../../limiter/create-limiter.js";
import { LIMIT_KINDS, type AsyncStore } from "../../../port/store.js";
import { STORE_VERBS } from "../../../core/records.js";
import { MemoryStore } from "../../../stores/memory/memory.js";
import { guard } from "../../../guard/guard.js";
import { assertEqual } from "../../assert.js";
import { userKey, type AdapterCase, type ServerUnderTest } from "../server.js";
import { formatRequest, type RawConnection } from "../wire.js";
import { retryDisconnects } from "./outcomes.js";

const ONE_AT_WORK = { name: "suite", capacity: 1, returns: whenDone() };

/** Cases about limits in flight: their tokens come back when the work of a request is done (law L21). */
export const workInFlightCases: readonly AdapterCase[] = [
  {
    name: "L21 · a token in flight comes back when the response is over, and not before",
    cause:
      "The adapter ends the work of the verdict never, or too early. End it when the response has closed and the handler " +
      "is done.",
    needs: "outcomes",
    async run(start) {
      for (const path of ["/slow", "/events"] as const) {
        const { store, freeTokens } = watchedStore();
        const server = await start({ policy: ONE_AT_WORK, store });
        const connection = await openRequest(server, path);
        assertEqual((await server.get("/ok")).status, 429, `the status while ${path} is at work`);
        server.release();
        await server.eventually(() => freeTokens() === 1, `the token of ${path} to come back`);
        connection.drop();
        assertEqual((await server.get("/ok")).status, 200, `the status after ${path}`);
      }
    },
  },
  {
    name: "L21 · a handler that fails gives its token in flight back",
    cause: "The adapter ends the work of the verdict only after a handler that succeeds.",
    needs: "outcomes",
    async run(start) {
      const { store, freeTokens } = watchedStore();
      const server = await start({ policy: ONE_AT_WORK, store });
      for (const path of ["/throws", "/rejects", "/missing", "/broken"]) {
        await server.get(path);
        await server.eventually(() => freeTokens() === 1, `the token of ${path} to come back`);
      }
      assertEqual(server.entered, ["/throws", "/rejects", "/missing", "/broken"], "the requests that reached the handler");
    },
  },
  {
    name: "L21 · a client that leaves gives its token in flight back, at the latest when the handler is done",
    cause: "The adapter ends the work when the response finishes only. Listen to `close` as well.",
    needs: "disconnects",
    async run(start) {
      for (const path of ["/slow", "/events"] as const) {
        const { store, freeTokens } = watchedStore();
        const server = await start({ policy: ONE_AT_WORK, store });
        const connection = await openRequest(server, path);
        connection.drop();
        await letNotice(server);
        server.release();
        await server.eventually(() => freeTokens() === 1, `the token of ${path} to come back`);
      }
    },
  },
  ...(["`key`", "the store"] as const).map((slow): AdapterCase => ({
    name: `L21 · a client that leaves before its decision gets its token in flight back, and no handler begins: during ${slow}`,
    cause:
      "The gate does not hear of the client. Give `createGate` an `onDisconnect`, which also calls its listener at once " +
      "when the client has left already.",
    needs: "disconnects",
    run: retryDisconnects(async (start) => {
      let answer = (): void => {};
      const answered = new Promise<void>((resolve) => (answer = resolve));
      let waiting = 0;
      let isDecided = false;
      const wait = (): Promise<void> => ((waiting += 1), answered);
      const { store, freeTokens } = watchedStore();
      const server = await start({
        policy: ONE_AT_WORK,
        store: slow === "`key`" ? store : slowly(store, wait),
        onDecision: (_decision, { path }) => void (isDecided ||= path === "/slow"),
        async key(request) {
          if (slow === "`key`" && request.path === "/slow") await wait();
          return userKey(request);
        },
      });
      const connection = await server.connect();
      connection.write(formatRequest("/slow", { headers: { "X-User": "ann" } }));
      await server.eventually(() => waiting === 1, `${slow} to be asked`);
      connection.drop();
      await letNotice(server);
      answer();
      server.release();
      await server.eventually(() => isDecided && freeTokens() === 1, "the token to come back");
      assertEqual(server.entered.filter((path) => path === "/slow"), [], "the requests of the client that reached the handler");
    }),
  })),
];

/** Sends a request of which the handler is held, and waits for its handler. */
async function openRequest(server: ServerUnderTest, path: "/slow" | "/events"): Promise<RawConnection> {
  const connection = await server.connect();
  connection.write(formatRequest(path, { headers: { "X-User": "ann" } }));
  if (path === "/events") await connection.until("data: 1");
  await server.eventually(() => server.entered.includes(path), `the request of ${path} to reach the handler`);
  return connection;
}

/** The server usually notices a disconnect before it reads these later requests. */
export async function letNotice(server: ServerUnderTest): Promise<void> {
  for (let i = 0; i < 2; i++) await server.get("/ok", { "X-User": "bob" });
}

/** A store, and the tokens in flight in it that its first user has left. */
function watchedStore(): { readonly store: MemoryStore; freeTokens(): number } {
  const store = new MemoryStore();
  const limiter = createLimiter({ policy: ONE_AT_WORK, store });
  return { store, freeTokens: () => limiter.peek(["user", "ann"], 0).remaining };
}

/** The store with answers that wait for `wait`, for one user. */
function slowly(store: MemoryStore, wait: () => Promise<void>): AsyncStore {
  return {
    sync: false,
    kinds: LIMIT_KINDS,
    clock: store.clock,
    guard: guard({ timeoutMs: 60_000 }),
    verbs: STORE_VERBS,
    async ask(call) {
      const answers = store.ask(call);
      if (call.verb === "consume" && call.parts[0].key.includes("ann")) await wait();
      return answers;
    },
  };
}
