import { draft7, vendorHeaders } from "../../http/headers/other-styles.js";
import { check, checkBudget, checkRefusal, same } from "./check.js";
import type { Case } from "./server.js";

/** What is left is told on every response, and a 429 tells all that it must. */
export const budgets: readonly Case[] = [
  {
    name: "15, 16, 21, 23, 28 · responses count down to 0, then come 429s",
    async run(start) {
      const server = await start();
      checkBudget(await server.get("/ok"), 200, { remaining: 2, reset: 1 });
      checkBudget(await server.get("/ok"), 200, { remaining: 1, reset: 2 });
      checkBudget(await server.get("/ok"), 200, { remaining: 0, reset: 1 });
      checkRefusal(await server.get("/ok"), { retryAfter: 1 });
    },
  },
  {
    name: "1 · a refused request does not reach the handler",
    async run(start) {
      const server = await start();
      for (let i = 0; i < 5; i++) await server.get("/ok");
      same(server.entered, ["/ok", "/ok", "/ok"], "the requests that reached the handler");
    },
  },
  {
    name: "2, 3, 9, 10, 11, 27 · a 429 carries one Retry-After, rounded up, and says the same in its fields and its body",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 3, refill: { tokens: 3, everyMs: 70_000 } } });
      for (let i = 0; i < 3; i++) await server.get("/ok");
      server.clock.advance(22_333); // 1000 1/3 ms before a token is whole
      checkRefusal(await server.get("/ok"), { retryAfter: 2, window: 70 });
    },
  },
  {
    name: "4, 6 · a request gets in after Retry-After, and not a second before",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 4_000 } } });
      const bucket = { capacity: 1, window: 4 };
      await server.get("/ok");
      checkRefusal(await server.get("/ok"), { ...bucket, retryAfter: 4 });
      server.clock.advance(3_000);
      checkRefusal(await server.get("/ok"), { ...bucket, retryAfter: 1 });
      server.clock.advance(1_000);
      checkBudget(await server.get("/ok"), 200, { ...bucket, remaining: 0, reset: 4 });
    },
  },
  {
    name: "7 · refused requests do not push the wait out",
    async run(start) {
      const server = await start();
      for (let i = 0; i < 9; i++) await server.get("/ok");
      checkRefusal(await server.get("/ok"), { retryAfter: 1 });
      server.clock.advance(3_000);
      checkBudget(await server.get("/ok"), 200, { remaining: 2, reset: 1 });
    },
  },
  {
    name: "12 · HEAD 429 has the fields of a GET and no body",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 3_000 } } });
      await server.get("/ok");
      const get = await server.get("/ok");
      const line = await server.connect();
      line.write("HEAD /ok HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nConnection: close\r\n\r\n");
      const text = await line.rest();
      const [head = "", body] = text.split("\r\n\r\n");
      check(head.startsWith("HTTP/1.1 429 "), `Expected a 429, got ${head.split("\r\n")[0]}`);
      same(body, "", "what follows the head");
      const names = head.split("\r\n").slice(1).map((field) => field.toLowerCase());
      for (const [name, value] of get.fields) {
        const field = `${name}: ${value}`.toLowerCase();
        if (name !== "date") check(names.includes(field), `Expected the HEAD to carry "${field}", got ${names.join(" | ")}`);
      }
    },
  },
  {
    name: "13 · no Accept turns a 429 into anything else",
    async run(start) {
      const server = await start();
      for (let i = 0; i < 3; i++) await server.get("/ok");
      for (const accept of ["text/html", "application/xml", "*/*;q=0", "nonsense"]) {
        checkRefusal(await server.ask("/ok", { headers: { Accept: accept } }), { retryAfter: 1 });
      }
    },
  },
  {
    name: "14 · no cache keeps a 429, whatever was set before, and no precondition makes a 304 of it",
    async run(start) {
      const server = await start();
      same((await server.get("/ok")).field("Cache-Control"), "public, max-age=60", "what the server sets before the limiter");
      for (let i = 0; i < 2; i++) await server.get("/ok");
      for (const headers of [{ "If-None-Match": "*" }, { "If-Modified-Since": "Fri, 31 Dec 2100 23:59:59 GMT" }]) {
        const answer = await server.ask("/ok", { headers });
        checkRefusal(answer, { retryAfter: 1 });
        for (const name of ["ETag", "Last-Modified", "Expires"]) same(answer.field(name), null, name);
      }
    },
  },
  {
    name: "22 · the header families are those that were asked for",
    async run(start) {
      const server = await start({ headers: [draft7, vendorHeaders({ remaining: "X-Left" })] });
      const { fields, field } = await server.get("/ok");
      const limits = fields.filter(([name]) => name.startsWith("ratelimit")).map(([name]) => name);
      same([...limits].sort(), ["ratelimit", "ratelimit-policy"], "the RateLimit fields");
      same(field("RateLimit"), "limit=3, remaining=2, reset=1", "RateLimit");
      same(field("X-Left"), "2", "X-Left");
      const bare = await start({ headers: [] });
      for (let i = 0; i < 3; i++) same((await bare.get("/ok")).field("RateLimit-Limit"), null, "RateLimit-Limit");
      same((await bare.get("/ok")).field("Retry-After"), "1", "Retry-After, which is sent regardless");
    },
  },
  {
    name: "28 · a full bucket resets in 0 seconds",
    async run(start) {
      const server = await start({ cost: 0 });
      const answer = await server.get("/ok");
      checkBudget(answer, 200, { remaining: 3, reset: 0 });
      same(answer.field("RateLimit"), '"suite";r=3', "RateLimit");
    },
  },
];
