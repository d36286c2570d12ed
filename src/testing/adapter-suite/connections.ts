import { assert, assertEqual } from "../assert.js";
import { checkFields, checkRefusal, parseJson } from "./response-checks.js";
import { userKey, type AdapterCase } from "./server.js";
import { formatRequest, parseResponses } from "./wire.js";

/** Cases about bursts, request bodies, and the order of bytes on a connection. */
export const connectionCases: readonly AdapterCase[] = [
  {
    name: "F1 · of 4 requests written at once to one connection, a bucket of 2 allows the first 2",
    cause: "The adapter calls the gate before earlier requests of the connection were charged.",
    needs: "pipelining",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } } });
      const connection = await server.connect();
      const one = formatRequest("/ok", { headers: { "X-User": "ann" } });
      const last = formatRequest("/ok", { headers: { "X-User": "ann", Connection: "close" } });
      connection.write(one + one + one + last);
      const responses = parseResponses(await connection.rest(), ["GET", "GET", "GET", "GET"]);
      assertEqual(responses.map(({ status }) => status), [200, 200, 429, 429], "the statuses");
      assertEqual(responses.map(({ field }) => field("RateLimit-Remaining")), ["1", "0", "0", "0"], "RateLimit-Remaining");
    },
  },
  {
    name: "32 · a burst over 20 connections with an asynchronous `key` gets exactly the capacity",
    cause: "The adapter reads and writes its own count around an `await`.",
    async run(start) {
      const server = await start({
        policy: { name: "suite", capacity: 5, refill: { tokens: 1, everyMs: 1_000 } },
        key: async (request) => {
          await new Promise((resolve) => setTimeout(resolve, 1));
          return userKey(request);
        },
      });
      const responses = await Promise.all(Array.from({ length: 20 }, () => server.get("/ok")));
      const allowed = responses.filter(({ status }) => status === 200).map(({ field }) => field("RateLimit-Remaining"));
      assertEqual(allowed.sort(), ["0", "1", "2", "3", "4"], "RateLimit-Remaining of the allowed requests");
      for (const response of responses.filter(({ status }) => status !== 200)) {
        checkRefusal(response, { capacity: 5, window: 5, retryAfter: 1 });
      }
      assertEqual(server.entered.length, 5, "the number of requests that reached the handler");
    },
  },
  {
    name: "39 · a 429 is sent before a large body arrives, and the body is not parsed",
    cause: "The limiter runs after the body parser, or the adapter waits for the body.",
    needs: "beforeBodies",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } } });
      await server.get("/ok");
      const connection = await server.connect();
      connection.write(`${jsonHead(LARGE_BODY)}{`);
      const begun = await connection.until("violated-policies");
      assert(begun.startsWith("HTTP/1.1 429 "), `Expected a 429 before the body was sent, got ${begun.split("\r\n")[0]}`);
      connection.drop();
      assertEqual(server.entered, ["/ok"], "the requests that reached the body parser");
    },
  },
  {
    name: "39 · after a 429 with an unread body, the connection is closed or still usable",
    cause: "The rest of the body is parsed as the next request. Discard it or close the connection.",
    needs: "beforeBodies",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } } });
      await server.get("/ok");
      const connection = await server.connect();
      connection.write(
        jsonHead(LARGE_BODY) +
          "x".repeat(LARGE_BODY) +
          formatRequest("/ok", { headers: { "X-User": "bob", Connection: "close" } }),
      );
      const [refused, next] = parseResponses(await connection.rest(), ["POST", "GET"]);
      assert(refused !== undefined, "Expected a 429 although the body was not read, got no response");
      checkRefusal(refused, { capacity: 1, window: 1, retryAfter: 1 });
      if (next !== undefined) checkFields(next, 200, { capacity: 1, window: 1, remaining: 0 });
      assertEqual(server.entered.filter((path) => path === "/json"), [], "the requests that reached the body parser");
      checkFields(await server.get("/ok", { "X-User": "eve" }), 200, { capacity: 1, window: 1, remaining: 0 });
    },
  },
  {
    name: "39 · the body of an allowed request is parsed, also with an asynchronous `key`",
    cause: "The adapter reads the body, or data arrives before the parser listens. Pause the request while the gate decides.",
    async run(start) {
      for (const key of [userKey, async (request: Parameters<typeof userKey>[0]) => userKey(request)]) {
        const server = await start({ key });
        const body = JSON.stringify({ text: "x".repeat(50_000) });
        const response = await server.request("/json", { method: "POST", body, headers: { "Content-Type": "application/json" } });
        checkFields(response, 200, { remaining: 2 });
        assertEqual(parseJson(response), JSON.parse(body), "the parsed body");
      }
    },
  },
  {
    name: "without asynchronous functions, an allowed request reaches the handler before any microtask",
    cause: "The adapter awaits the verdict always. Await it only if `isPromise` says so.",
    needs: "synchronous",
    async run(start) {
      let entered: readonly string[] = [];
      let before: number | undefined;
      const server = await start({
        key(request) {
          queueMicrotask(() => (before = entered.length));
          return userKey(request);
        },
      });
      entered = server.entered;
      checkFields(await server.get("/ok"), 200, { remaining: 2 });
      assertEqual(before, 1, "the requests that reached the handler before the microtask");
    },
  },
];

const LARGE_BODY = 4_000_000;

function jsonHead(length: number): string {
  return formatRequest("/json", {
    method: "POST", headers: { "X-User": "ann", "Content-Type": "application/json", "Content-Length": String(length) },
  });
}
