import { definePolicy } from "../../core/policy.js";
import { check, checkBudget, checkNoBudget, checkProblem, checkRefusal, same } from "./check.js";
import { BULK, keyOf, type Case, type Server } from "./server.js";

/** Who shares a bucket with whom, and who does not. */
export const callers: readonly Case[] = [
  {
    name: "33 · callers do not share, and one caller does from wherever it comes",
    async run(start) {
      const server = await start();
      for (const address of ["192.0.2.1", "192.0.2.2", "2001:db8::3"]) {
        await server.ask("/ok", { headers: { "X-Forwarded-For": address, "X-Real-IP": address } });
      }
      checkRefusal(await server.ask("/ok", { headers: { "X-Forwarded-For": "192.0.2.4" } }), { retryAfter: 1 });
      checkBudget(await server.get("/ok", { "X-User": "bob" }), 200, { remaining: 2 });
    },
  },
  {
    name: "34 · no two keys meet, whatever separators they hold",
    async run(start) {
      const server = await start({ key: (request) => ["u", request.header("x-a"), request.header("x-b")] });
      const pairs = [["a:b", "c"], ["a", "b:c"], ["a:b:c", ":"], ["a,b", "c"], ["a", "b,c"], ['a"', '"b'], ["{a}", "b"], ["1:a", "2:bb"], ["1:a2:b", "b"]];
      for (const [a = "", b = ""] of pairs) {
        checkBudget(await server.get("/ok", { "X-A": a, "X-B": b }), 200, { remaining: 2 });
      }
      checkBudget(await server.get("/ok", { "X-A": "a:b", "X-B": "c" }), 200, { remaining: 1 });
    },
  },
  {
    name: "34 · keys may hold any character, and differ when their characters do",
    async run(start) {
      const server = await start({ key: (request) => decodeURIComponent(request.header("x-user") ?? "") });
      for (const name of ["é", "e\u0301", "É", "用户", "用戶", "\u{1F984}", "\u{1F984}\u{1F984}", "a b", "\0", "a\r\nb", "constructor", "__proto__"]) {
        const headers = { "X-User": encodeURIComponent(name) };
        checkBudget(await server.get("/ok", headers), 200, { remaining: 2 });
        checkBudget(await server.get("/ok", headers), 200, { remaining: 1 });
      }
    },
  },
  {
    name: "33 · callers without a key share one bucket, which no key names",
    async run(start) {
      const server = await start();
      for (let i = 0; i < 3; i++) checkBudget(await server.get("/ok", {}), 200, { remaining: 2 - i });
      checkRefusal(await server.get("/ok", {}), { retryAfter: 1 });
      checkRefusal(await server.get("/ok", { "X-User": "" }), { retryAfter: 1 });
      for (const user of ["undefined", "null", "anonymous", "("]) {
        checkBudget(await server.get("/ok", { "X-User": user }), 200, { remaining: 2 });
      }
    },
  },
  {
    name: "33 · callers without a key are refused with 401 where that was asked for",
    async run(start) {
      const server = await start({ unidentified: "refuse" });
      const answer = await server.get("/ok", {});
      same(answer.status, 401, "the status");
      check((answer.field("WWW-Authenticate") ?? "") !== "", "Expected WWW-Authenticate on a 401");
      same(answer.field("Retry-After"), null, "Retry-After");
      checkNoBudget(answer);
      checkProblem(answer, "unidentified");
      same((await server.ask("/ok", { method: "HEAD", headers: { "X-User": "" } })).status, 401, "the status for a HEAD");
      same(server.entered, [], "the requests that reached the handler");
      checkBudget(await server.get("/ok"), 200, { remaining: 2 });
    },
  },
  {
    name: "33, 43 · callers without a key are not limited where that was asked for",
    async run(start) {
      const server = await start({ unidentified: "skip" });
      for (let i = 0; i < 4; i++) {
        const answer = await server.get("/ok", {});
        same(answer.status, 200, "the status");
        checkNoBudget(answer);
      }
      checkBudget(await server.get("/ok"), 200, { remaining: 2 });
    },
  },
  {
    name: "two limiters on one server do not touch each other",
    async run(start) {
      const server = await start();
      const bulk = { policy: BULK.name, capacity: BULK.capacity, window: 20 };
      for (let i = 0; i < 3; i++) await server.get("/ok");
      checkRefusal(await server.get("/ok"), { retryAfter: 1 });
      checkBudget(await server.get("/bulk"), 200, { ...bulk, remaining: 1, reset: 10 });
      checkBudget(await server.get("/bulk"), 200, { ...bulk, remaining: 0, reset: 10 });
      checkRefusal(await server.get("/bulk"), { ...bulk, retryAfter: 10 });
      server.clock.advance(1_000);
      checkBudget(await server.get("/ok"), 200, { remaining: 0 });
    },
  },
  {
    name: "a policy may be picked for each request",
    async run(start) {
      const free = definePolicy({ name: "suite", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } });
      const paid = definePolicy({ name: "suite", capacity: 9, refill: { tokens: 1, everyMs: 1_000 } });
      const server = await start({ policy: (request) => (request.header("x-tier") === "paid" ? paid : free) });
      const pay = (user: string) => server.ask("/ok", { headers: { "X-User": user, "X-Tier": "paid" } });
      for (let i = 0; i < 2; i++) checkBudget(await server.get("/ok"), 200, { capacity: 2, window: 2, remaining: 1 - i });
      checkRefusal(await server.get("/ok"), { capacity: 2, window: 2, retryAfter: 1 });
      checkBudget(await pay("bob"), 200, { capacity: 9, window: 9, remaining: 8 });
      checkBudget(await pay("ann"), 200, { capacity: 9, window: 9, remaining: 6 }); // what was spent stays spent
    },
  },
  {
    name: "11, 35 · of several limits the one that refuses is told, and nothing is taken",
    async run(start) {
      const limits = [
        { name: "burst", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } },
        { name: "day", capacity: 5, refill: { tokens: 1, everyMs: 60_000 } },
      ] as const;
      const server = await start({ policy: { name: "suite", limits } });
      for (let i = 0; i < 2; i++) await server.get("/ok");
      const refused = await server.get("/ok");
      same([refused.status, refused.field("Retry-After"), refused.field("RateLimit")], [429, "1", '"suite:burst";r=0;t=1'], "the refusal");
      same(checkProblem(refused, "rate_limited")["violated-policies"], ["suite:burst"], "violated-policies");
      same(refused.field("RateLimit-Policy"), '"suite:burst";q=2;w=2, "suite:day";q=5;w=300', "RateLimit-Policy");
      server.clock.advance(1_000);
      same((await server.get("/ok")).field("RateLimit"), '"suite:burst";r=0;t=1, "suite:day";r=2;t=59', "RateLimit");
    },
  },
  failing("a key that throws fails the request, which does not get in", () => {
    throw new Error("no such session");
  }),
  failing("a key that rejects fails the request, which does not get in", () => Promise.reject(new Error("no such session"))),
  failing("a key that is no key fails the request, which does not get in", () => ["user", Number.NaN]),
];

function failing(name: string, key: () => never | Promise<never> | [string, number]): Case {
  return {
    name,
    async run(start) {
      const server = await start({ key: (request) => (request.header("x-user") === "ann" ? key() : keyOf(request)) });
      await checkFailure(server);
    },
  };
}

/** Checks that the framework's own way with errors answers, and that the server lives on. */
export async function checkFailure(server: Server): Promise<void> {
  const answer = await server.get("/ok");
  same(answer.status, 500, "the status");
  checkNoBudget(answer);
  same(answer.field("Retry-After"), null, "Retry-After");
  same(server.entered, [], "the requests that reached the handler");
  checkBudget(await server.get("/ok", { "X-User": "bob" }), 200, { remaining: 2 });
}
