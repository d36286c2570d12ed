import { check, checkBudget, checkNoBudget, checkRefusal, same } from "./check.js";
import type { Case } from "./server.js";
import { readAnswers, write, type Answer } from "./wire.js";

/** The fields are on every kind of answer. */
export const answers: readonly Case[] = [
  {
    name: "18 · on the answer to a HEAD",
    async run(start) {
      const server = await start();
      checkBudget(await server.ask("/ok", { method: "HEAD" }), 200, { remaining: 2 });
    },
  },
  simple("18 · on a 204", "/empty", 204),
  simple("18 · on a 304", "/same", 304),
  {
    name: "18, 20 · on a streamed answer, in its head and not in trailers",
    async run(start) {
      const server = await start();
      const answer = await server.get("/chunks");
      checkBudget(answer, 200, { remaining: 2 });
      same(answer.field("Transfer-Encoding"), "chunked", "Transfer-Encoding");
      check(answer.body.length > 0, "Expected a body");
      same(answer.trailers.filter(([name]) => name.startsWith("ratelimit")), [], "the RateLimit fields in trailers");
    },
  },
  {
    name: "18 · before the first event of a stream that goes on",
    async run(start) {
      const server = await start();
      const line = await server.connect();
      line.write(write("/events", { headers: { "X-User": "ann" } }));
      const begun = await line.until("data: 1");
      check(/^ratelimit-remaining: 2\r$/im.test(begun), `Expected RateLimit-Remaining before the first event, got ${begun}`);
      check(!begun.includes("data: 2"), "Expected the stream to be held");
      server.release();
      const [answer] = readAnswers(await line.until("\r\n0\r\n\r\n"), ["GET"]);
      check(answer !== undefined, "Expected an answer");
      checkBudget(answer, 200, { remaining: 2 });
      line.drop();
    },
  },
  {
    name: "18 · a head that was sent before the limiter was asked is no error, and nothing hangs",
    needs: "earlyHead",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } } });
      const allowed = await server.get("/early");
      same(allowed.status, 200, "the status");
      checkNoBudget(allowed);
      checkBudget(await server.get("/ok"), 200, { capacity: 2, window: 2, remaining: 0 });
      const refused = await server.get("/early");
      same(refused.status, 200, "the status that was sent before the refusal");
      same(server.entered, ["/early", "/ok"], "the requests that reached the handler");
      checkRefusal(await server.get("/ok"), { capacity: 2, window: 2, retryAfter: 1 });
    },
  },
  simple("17 · on a handler's own 404", "/missing", 404),
  simple("17 · on a handler's own 500", "/broken", 500),
  simple("17 · when the handler throws", "/throws", 500, "errorFields"),
  simple("17 · when the handler fails later", "/rejects", 500, "errorFields"),
  {
    name: "19 · a RateLimit-Remaining that the handler sets itself wins, once",
    async run(start) {
      const server = await start();
      checkBudgetOf777(await server.get("/own"));
    },
  },
  {
    name: "19 · with writeHead and an object: the fields stay and the handler's own wins",
    needs: "rawHead",
    async run(start) {
      const server = await start();
      checkBudgetOf777(await server.get("/raw"));
    },
  },
  {
    name: "19 · with writeHead and a list: the fields stay and the handler's own wins",
    needs: "rawHead",
    async run(start) {
      const server = await start();
      checkBudgetOf777(await server.get("/raw-list"));
    },
  },
  {
    name: "43 · not on what is skipped, which takes no token",
    async run(start) {
      const server = await start({ skip: (request) => request.header("x-skip") === "yes" });
      for (let i = 0; i < 4; i++) {
        const answer = await server.ask("/ok", { headers: { "X-Skip": "yes" } });
        same(answer.status, 200, "the status");
        checkNoBudget(answer);
      }
      checkBudget(await server.get("/ok"), 200, { remaining: 2 });
      const later = await start({ skip: async (request) => request.header("x-skip") === "yes" });
      checkNoBudget(await later.ask("/ok", { headers: { "X-Skip": "yes" } }));
      checkBudget(await later.get("/ok"), 200, { remaining: 2 });
    },
  },
];

function simple(name: string, path: string, status: number, needs?: Case["needs"]): Case {
  return {
    name,
    ...(needs && { needs }),
    async run(start) {
      const server = await start();
      checkBudget(await server.get(path), status, { remaining: 2, reset: 1 });
      checkBudget(await server.get(path), status, { remaining: 1, reset: 2 });
    },
  };
}

function checkBudgetOf777({ status, fields, field }: Answer): void {
  same(status, 200, "the status");
  same(fields.filter(([name]) => name === "ratelimit-remaining"), [["ratelimit-remaining", "777"]], "RateLimit-Remaining");
  same([field("RateLimit-Limit"), field("RateLimit")], ["3", '"suite";r=2;t=1'], "RateLimit-Limit and RateLimit");
}
