import { check, checkBudget, checkRefusal, DEFAULT_FIELDS, same } from "./check.js";
import type { Case } from "./server.js";
import type { Answer } from "./wire.js";

const ORIGIN = { Origin: "https://app.example" };
const PREFLIGHT = { ...ORIGIN, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type" };

/** What scripts of another origin need. */
export const browsers: readonly Case[] = [
  {
    name: "37 · scripts of another origin may read the fields, beside what the CORS middleware lets them read",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } } });
      const allowed = await server.ask("/cors", { headers: ORIGIN });
      checkBudget(allowed, 200, { capacity: 1, window: 1, remaining: 0 });
      checkExposed(allowed, ["X-Request-Id", ...DEFAULT_FIELDS]);
      const refused = await server.ask("/cors", { headers: ORIGIN });
      checkRefusal(refused, { capacity: 1, window: 1, retryAfter: 1 });
      checkExposed(refused, ["X-Request-Id", ...DEFAULT_FIELDS, "Retry-After"]);
      same(refused.field("Access-Control-Allow-Origin"), "*", "Access-Control-Allow-Origin on a 429");
    },
  },
  {
    name: "37 · without CORS middleware the fields are exposed all the same, to other origins only",
    async run(start) {
      const server = await start();
      checkExposed(await server.ask("/ok", { headers: ORIGIN }), DEFAULT_FIELDS);
      checkExposed(await server.ask("/missing", { headers: ORIGIN }), DEFAULT_FIELDS);
      same((await server.get("/ok")).field("Access-Control-Expose-Headers"), null, "Access-Control-Expose-Headers without an Origin");
    },
  },
  {
    name: "37 · a refusal of any other kind can be read by scripts, too",
    async run(start) {
      const server = await start({ unidentified: "refuse", cost: () => 9 });
      checkExposed(await server.ask("/ok", { headers: ORIGIN }), DEFAULT_FIELDS);
      same((await server.get("/cors", ORIGIN)).field("Access-Control-Allow-Origin"), "*", "Access-Control-Allow-Origin on a 401");
    },
  },
  {
    name: "38 · a preflight takes no token and is never refused",
    async run(start) {
      const server = await start();
      const preflight = (): Promise<Answer> => server.ask("/ok", { method: "OPTIONS", headers: PREFLIGHT });
      for (let i = 0; i < 5; i++) check((await preflight()).status !== 429, "Expected a preflight to get in");
      checkBudget(await server.get("/ok"), 200, { remaining: 2 });
      for (let i = 0; i < 2; i++) await server.get("/ok");
      checkRefusal(await server.get("/ok"), { retryAfter: 1 });
      const { status, field } = await preflight();
      check(status !== 429 && field("RateLimit") === null, `Expected a preflight to be left alone, got ${status}`);
    },
  },
  {
    name: "38 · an OPTIONS that is no preflight is a request like any other",
    async run(start) {
      const server = await start();
      for (let i = 0; i < 3; i++) await server.ask("/ok", { method: "OPTIONS", headers: ORIGIN });
      checkRefusal(await server.get("/ok"), { retryAfter: 1 });
    },
  },
];

function checkExposed(answer: Answer, names: readonly string[]): void {
  const exposed = (answer.field("Access-Control-Expose-Headers") ?? "").split(",").map((name) => name.trim().toLowerCase());
  same([...exposed].sort(), names.map((name) => name.toLowerCase()).sort(), "Access-Control-Expose-Headers");
}
