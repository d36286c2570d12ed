import type { AsyncStore, Store } from "../../port/store.js";
import { guard } from "../../guard/guard.js";
import { assert, assertEqual } from "../assert.js";
import { keepRecords } from "../kept-records.js";
import { ManualClock } from "../manual-clock.js";
import { checkNoFields, checkProblem } from "./response-checks.js";
import type { AdapterCase, StartServer } from "./server.js";
import type { WireResponse } from "./wire.js";

// One of the failing stores never answers, so a shorter timeout changes no result.
const TIMEOUT_MS = 10;

/** Stores that fail, and a store that answers later. */
export const outageCases: readonly AdapterCase[] = [
  {
    name: '40 · `onStoreError: "unavailable"` answers 503 without fields while the store fails',
    cause: "The adapter sends 429 for every refusal. Send the status of the verdict.",
    async run(start) {
      for (const store of failingStores(new ManualClock().now)) {
        const server = await start({ store, onStoreError: "unavailable" });
        const response = await server.get("/ok");
        assertEqual(response.status, 503, "the status");
        assert(
          /^[1-9]\d*$/.test(response.field("Retry-After") ?? ""),
          `Expected Retry-After to be whole seconds from 1, got ${response.field("Retry-After")}`,
        );
        checkNoFields(response);
        checkProblem(response, "temporarily_unavailable");
        assertEqual(server.entered, [], "the requests that reached the handler");
      }
    },
  },
  {
    name: '40 · `onStoreError: "allow"` allows every request without fields while the store fails',
    cause: "The adapter refuses, or invents fields, when the verdict has none.",
    async run(start) {
      for (const store of failingStores(new ManualClock().now)) {
        const server = await start({ store, onStoreError: "allow" });
        for (let i = 0; i < 4; i++) {
          const response = await server.get("/ok");
          assertEqual(response.status, 200, "the status");
          checkNoFields(response);
        }
      }
    },
  },
  {
    name: "40 · while the store fails, each key gets a local share of the limit, then 503 with its wait, without fields",
    cause: "The adapter invents fields, or replaces the status or the wait of the verdict.",
    async run(start) {
      const clock = new ManualClock();
      for (const store of failingStores(clock.now)) {
        const server = await start({ store });
        // The local share is half: of 3 tokens at 1 a second, 1 token at 1 per 2 seconds.
        assertEqual((await server.get("/ok")).status, 200, "the status within the local share");
        const response = await server.get("/ok");
        assertEqual(
          [response.status, response.field("Retry-After")],
          [503, "2"],
          "the status and Retry-After beyond the local share",
        );
        checkNoFields(response);
        checkProblem(response, "temporarily_unavailable");
        assertEqual((await server.get("/ok", { "X-User": "bob" })).status, 200, "the status of another caller");
        clock.advance(2_000);
        const later = await server.get("/ok");
        assertEqual(later.status, 200, "the status after the wait");
        checkNoFields(later);
        assertEqual(server.entered.length, 3, "the number of requests that reached the handler");
      }
    },
  },
  {
    name: "a store whose clock contradicts this process's ends the request with the framework's 500, whatever " +
      "`onStoreError` says",
    cause: "The adapter takes a failed `consume` for an outage, or calls the handler after it. Pass the error to the framework.",
    async run(start) {
      for (const onStoreError of ["local", "allow", "unavailable"] as const) {
        const ask = async (): Promise<never> => {
          throw Object.assign(new Error("fault"), { code: "ERR_STORE_CLOCK" });
        };
        const store: Store = { sync: false, clock: new ManualClock().now, guard: guard(), ask };
        const server = await start({ store, onStoreError });
        const response = await server.get("/ok");
        assertEqual([onStoreError, response.status], [onStoreError, 500], "the status");
        checkNoFields(response);
        assertEqual(response.field("Retry-After"), null, "Retry-After");
        assertEqual(server.entered, [], "the requests that reached the handler");
      }
    },
  },
  {
    name: "an asynchronous store gives the same responses, byte for byte",
    cause: "The adapter treats a promised verdict differently from an immediate one.",
    async run(start) {
      const clock = new ManualClock(1_000_000);
      const now = await recordResponses(start, {});
      const later = await recordResponses(start, { store: slowMemoryStore(clock.now) });
      assertEqual(later, now, "the responses with an asynchronous store");
    },
  },
];

async function recordResponses(start: StartServer, options: Parameters<StartServer>[0]): Promise<unknown> {
  const server = await start(options);
  const responses: WireResponse[] = [];
  for (const path of ["/ok", "/empty", "/throws", "/chunks"]) responses.push(await server.get(path));
  for (const path of ["/ok", "/own", "/rejects", "/missing"]) responses.push(await server.get(path, { "X-User": "bob" }));
  responses.push(await server.request("/ok", { method: "HEAD" }));
  return responses.map(({ status, fields, body }) => {
    const failed = status === 500; // the body may hold a stack trace, which differs between the two stores
    return [status, fields.filter(([name]) => name !== "date" && !(failed && name === "content-length")), failed ? "" : body];
  });
}

/** A small asynchronous store. It answers in a later turn of the event loop. */
export function slowMemoryStore(clock: () => number): AsyncStore {
  const answer = keepRecords(clock);
  const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
  return {
    sync: false,
    clock,
    guard: guard(),
    verbs: ["consume", "adjust"],
    async ask(call) {
      await nextTurn();
      return answer(call);
    },
  };
}

/** Stores that fail: one throws, one rejects, and one never answers. */
export function failingStores(clock: () => number): readonly [Store, Store, Store] {
  const fail = (): never => {
    throw new Error("the store fails on purpose");
  };
  return [
    { sync: true, clock, guard: guard(), ask: fail },
    { sync: false, clock, guard: guard(), ask: async () => fail() },
    { sync: false, clock, guard: guard({ timeoutMs: TIMEOUT_MS }), ask: () => new Promise(() => {}) },
  ];
}
