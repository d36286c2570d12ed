import { check, checkBudget, checkRefusal, same } from "./check.js";
import { keyOf, type Case } from "./server.js";
import { readAnswers, write } from "./wire.js";

/** Bursts, bodies and the order of things on the wire. */
export const connections: readonly Case[] = [
  {
    name: "F1 · four requests written at once to one connection, with room for two: two are allowed, two refused",
    needs: "pipelining",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } } });
      const line = await server.connect();
      const one = write("/ok", { headers: { "X-User": "ann" } });
      const last = write("/ok", { headers: { "X-User": "ann", Connection: "close" } });
      line.write(one + one + one + last);
      const answers = readAnswers(await line.rest(), ["GET", "GET", "GET", "GET"]);
      same(answers.map(({ status }) => status), [200, 200, 429, 429], "the statuses");
      same(answers.map(({ field }) => field("RateLimit-Remaining")), ["1", "0", "0", "0"], "RateLimit-Remaining");
    },
  },
  {
    name: "32 · a burst over many connections, with a key that answers later, gets exactly what there is",
    async run(start) {
      const server = await start({
        policy: { name: "suite", capacity: 5, refill: { tokens: 1, everyMs: 1_000 } },
        key: async (request) => {
          await new Promise((resolve) => setTimeout(resolve, 1));
          return keyOf(request);
        },
      });
      const answers = await Promise.all(Array.from({ length: 20 }, () => server.get("/ok")));
      const allowed = answers.filter(({ status }) => status === 200).map(({ field }) => field("RateLimit-Remaining"));
      same(allowed.sort(), ["0", "1", "2", "3", "4"], "RateLimit-Remaining on what was allowed");
      for (const answer of answers.filter(({ status }) => status !== 200)) checkRefusal(answer, { capacity: 5, window: 5, retryAfter: 1 });
      same(server.entered.length, 5, "the number of requests that reached the handler");
    },
  },
  {
    name: "39 · a large body is answered with 429 before it is sent, and not parsed",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } } });
      await server.get("/ok");
      const line = await server.connect();
      line.write(`${jsonHead(LARGE)}{`);
      const begun = await line.until("violated-policies");
      check(begun.startsWith("HTTP/1.1 429 "), `Expected a 429 while the body is awaited, got ${begun.split("\r\n")[0]}`);
      line.drop();
      same(server.entered, ["/ok"], "the requests that got past the limiter, to the parser");
    },
  },
  {
    name: "39 · a large body that is not read leaves the connection usable or closes it",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } } });
      await server.get("/ok");
      const line = await server.connect();
      line.write(jsonHead(LARGE) + "x".repeat(LARGE) + write("/ok", { headers: { "X-User": "bob", Connection: "close" } }));
      const [refused, next] = readAnswers(await line.rest(), ["POST", "GET"]);
      check(refused !== undefined, "Expected the 429 to arrive");
      checkRefusal(refused, { capacity: 1, window: 1, retryAfter: 1 });
      if (next !== undefined) checkBudget(next, 200, { capacity: 1, window: 1, remaining: 0 });
      same(server.entered.filter((path) => path === "/json"), [], "the requests that got past the limiter, to the parser");
      checkBudget(await server.get("/ok", { "X-User": "eve" }), 200, { capacity: 1, window: 1, remaining: 0 });
    },
  },
  {
    name: "39 · an allowed body is parsed, also when the key answers later",
    async run(start) {
      for (const key of [keyOf, async (request: Parameters<typeof keyOf>[0]) => keyOf(request)]) {
        const server = await start({ key });
        const body = JSON.stringify({ text: "x".repeat(50_000) });
        const answer = await server.ask("/json", { method: "POST", body, headers: { "Content-Type": "application/json" } });
        checkBudget(answer, 200, { remaining: 2 });
        same(JSON.parse(answer.body), JSON.parse(body), "the body that came back");
      }
    },
  },
  {
    name: "an allowed request is handled before any microtask when nothing answers later",
    needs: "synchronous",
    async run(start) {
      let entered: readonly string[] = [];
      let before: number | undefined;
      const server = await start({
        key(request) {
          queueMicrotask(() => (before = entered.length));
          return keyOf(request);
        },
      });
      entered = server.entered;
      checkBudget(await server.get("/ok"), 200, { remaining: 2 });
      same(before, 1, "the requests that reached the handler before the microtask");
    },
  },
];

const LARGE = 4_000_000;

function jsonHead(length: number): string {
  return write("/json", { method: "POST", headers: { "X-User": "ann", "Content-Type": "application/json", "Content-Length": String(length) } });
}
