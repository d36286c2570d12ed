import type { Refusal } from "../../../http/index.js";
import { assert, assertEqual } from "../../assert.js";
import { FAULT_TIMEOUT_MS, faultOr, FAULTS, STORE_KINDS } from "../faults/faults.js";
import { checkNoFields, checkProblem, checkRefusal, DEFAULT_FIELDS } from "../response-checks.js";
import type { AdapterCase } from "../server.js";
import type { SuiteAnswer } from "../setup.js";
import type { WireResponse } from "../wire.js";

/** One token that is back after 3 seconds. */
export const TOKEN_OF_3_S = { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 3_000 } };
// A whole URL that is also the body, because the proxy of Next.js sends no other redirect.
const ELSEWHERE = "https://example.com/slow-down";
const SLOW_DOWN: SuiteAnswer = { status: 429, fields: { "Content-Type": "text/html; charset=utf-8" }, body: "<p>Slow down</p>" };

/** Responses that no server can send. */
const UNSENDABLE: Readonly<Record<string, () => Response | Promise<Response>>> = {
  "a Response whose body was read": async () => {
    const response = new Response(SLOW_DOWN.body, { status: 429 });
    await response.text();
    return response;
  },
  "a Response whose body is locked": () => {
    const response = new Response(SLOW_DOWN.body, { status: 429 });
    response.body?.getReader();
    return response;
  },
  "a network error": () => Response.error(),
  // The constructor refuses this status. Some frameworks make Responses that do not.
  "an informational Response": () => withStatus(new Response(null), 101),
};

/** Cases about responses of `respond` in place of the problem document (law L17). */
export const ownAnswerCases: readonly AdapterCase[] = [
  ownAnswer("`respond` sends a page, with the fields of the limit", () => SLOW_DOWN),
  ownAnswer("`respond` sends a redirect, without the fields of the limit", () => ({
    status: 302, fields: { Location: ELSEWHERE }, body: ELSEWHERE,
  })),
  ownAnswer("`respond` sends another status and a Cache-Control of its own", () => ({
    status: 200, fields: { "Content-Type": "application/json; charset=utf-8", "Cache-Control": "private" },
    body: "{}",
  })),
  ownAnswer("`respond` may answer later", async () => (await new Promise((resolve) => setTimeout(resolve, 1)), SLOW_DOWN)),
  {
    name: "`respond` gets every refusal by a decision, and no 401",
    cause: "The adapter calls `respond` for a 429 only, or with other arguments than those of the verdict's `respond`.",
    needs: "respond",
    async run(start) {
      const seen: unknown[] = [];
      const see = ({ status, code, retryAfter, decision, problem }: Refusal, path: string): SuiteAnswer => {
        seen.push([status, code, retryAfter, decision.reason, problem.status, path]);
        return { ...SLOW_DOWN, status };
      };
      const server = await start({
        policy: TOKEN_OF_3_S, unidentified: "refuse", cost: (request) => Number(request.header("x-cost") ?? 1),
        answer: (refusal, { path }) => see(refusal, path),
      });
      await server.get("/ok");
      assertEqual((await server.get("/ok")).status, 429, "the status");
      checkProblem(await server.get("/ok", {}), "unidentified"); // no decision refused this request
      assertEqual(
        (await server.request("/ok", { headers: { "X-Cost": "2" } })).field("Retry-After"), null,
        "Retry-After on a 400",
      );
      assertEqual(
        seen,
        [
          [429, "rate_limited", 3, "limited", 429, "/ok"],
          [400, "cost_above_capacity", null, "cost_above_capacity", 400, "/ok"],
        ],
        "what `respond` got",
      );
      assertEqual(server.entered, ["/ok"], "the requests that reached the handler");
    },
  },
  {
    name: "scripts of other origins can read the fields beside a response of `respond`",
    cause: "The adapter drops `expose` of the verdict, or the names that the CORS middleware exposes, when it calls `respond`.",
    needs: "respond",
    async run(start) {
      const server = await start({ policy: TOKEN_OF_3_S, answer: () => SLOW_DOWN });
      for (let i = 0; i < 2; i++) {
        const response = await server.request("/cors", { headers: { Origin: "https://app.example" } });
        const exposed = (response.field("Access-Control-Expose-Headers") ?? "").toLowerCase();
        const wanted = ["X-Request-Id", ...DEFAULT_FIELDS, ...(i === 1 ? ["Retry-After"] : [])];
        for (const name of wanted) assert(exposed.includes(name.toLowerCase()), `Expected ${name} to be exposed, got ${exposed}`);
        assertEqual(response.field("Access-Control-Allow-Origin"), "*", "Access-Control-Allow-Origin");
      }
    },
  },
  ...STORE_KINDS.map(([kind, storeOf]): AdapterCase => ({
    name: `a \`respond\` function that fails leaves the standard document, with ${kind}`,
    cause: "The adapter does not watch `respond`. Use `answerOnNode` of sluice/node or `refusalResponse` of sluice/web.",
    needs: "respond",
    async run(start) {
      const faults = { ...FAULTS, "sends nothing": () => undefined, "sends nothing later": async () => undefined };
      const server = await start({
        ...storeOf(), policy: TOKEN_OF_3_S, functionTimeoutMs: FAULT_TIMEOUT_MS,
        answer: (_refusal, request) => faultOr(faults, request, () => SLOW_DOWN),
      });
      await server.get("/ok");
      for (const fault of Object.keys(faults)) {
        checkRefusal(await server.request("/ok", { headers: { "X-Fault": fault } }), { capacity: 1, window: 3, retryAfter: 3 });
      }
      assertEqual((await server.get("/ok")).body, SLOW_DOWN.body, "the body of a `respond` that does not fail");
      assertEqual(server.entered, ["/ok"], "the requests that reached the handler");
    },
  })),
  {
    name: "a `respond` function that sends an informational status leaves the standard document",
    cause:
      "The adapter sends a 1xx as the response, and the client waits for another. " +
      "Use `answerOnNode` of sluice/node or `refusalResponse` of sluice/web.",
    needs: "respond",
    async run(start) {
      const server = await start({
        policy: TOKEN_OF_3_S, functionTimeoutMs: FAULT_TIMEOUT_MS,
        answer: (_refusal, request) => ({ ...SLOW_DOWN, status: Number(request.header("x-status")) }),
      });
      await server.get("/ok");
      for (const status of ["101", "103", "199"]) {
        checkRefusal(await server.request("/ok", { headers: { "X-Status": status } }), { capacity: 1, window: 3, retryAfter: 3 });
      }
      assertEqual(server.entered, ["/ok"], "the requests that reached the handler");
    },
  },
  ...Object.entries(UNSENDABLE).map(([what, make]): AdapterCase => ({
    name: `a \`respond\` function that returns ${what} leaves the standard document`,
    cause: "The server sends the Response after the adapter has returned it, and fails. Use `refusalResponse` of sluice/web.",
    needs: ["responses", "respond"],
    async run(start) {
      const response = await make();
      const server = await start({ policy: TOKEN_OF_3_S, answer: () => ({ ...SLOW_DOWN, returns: response }) });
      await server.get("/ok");
      for (let i = 0; i < 2; i++) checkRefusal(await server.get("/ok"), { capacity: 1, window: 3, retryAfter: 3 });
      assertEqual(server.entered, ["/ok"], "the requests that reached the handler");
    },
  })),
  {
    name: "a `respond` function that returns one Response for all requests sends it once, and then the standard document",
    cause: "The body of a Response can be sent once. Use `refusalResponse` of sluice/web.",
    needs: ["responses", "respond"],
    async run(start) {
      const response = new Response(SLOW_DOWN.body, { status: 420 });
      const server = await start({ policy: TOKEN_OF_3_S, answer: () => ({ ...SLOW_DOWN, returns: response }) });
      await server.get("/ok");
      const all = await Promise.all(Array.from({ length: 5 }, () => server.get("/ok")));
      const [own, ...others] = all.sort((a, b) => a.status - b.status);
      checkLimit(own as WireResponse, 420);
      assertEqual(own?.body, SLOW_DOWN.body, "the body");
      for (const other of others) checkRefusal(other, { capacity: 1, window: 3, retryAfter: 3 });
      assertEqual(server.entered, ["/ok"], "the requests that reached the handler");
    },
  },
  {
    name: "a client that disconnects while `respond` is pending does no harm",
    cause: "The adapter writes to a response that is closed already.",
    needs: "respond",
    async run(start) {
      let waiting = 0;
      let release = (): void => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      const server = await start({ cost: () => 9, answer: async () => ((waiting += 1), await held, SLOW_DOWN) });
      const connection = await server.connect();
      connection.write("GET /ok HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\n\r\n");
      await server.eventually(() => waiting === 1, "`respond` to be called");
      connection.drop();
      release();
      assertEqual((await server.get("/ok")).body, SLOW_DOWN.body, "the body of a later refusal");
    },
  },
];

function ownAnswer(name: string, answer: () => SuiteAnswer | Promise<SuiteAnswer>): AdapterCase {
  return {
    name,
    cause: "The adapter does not set the fields before `respond` runs, or sends a second response.",
    needs: "respond",
    async run(start) {
      const server = await start({ policy: TOKEN_OF_3_S, answer });
      const { status, fields, body } = await answer();
      await server.get("/ok");
      const response = await server.get("/ok");
      checkAnswer(response, status);
      assertEqual(response.field("Cache-Control"), fields["Cache-Control"] ?? "no-store", "Cache-Control");
      for (const [field, value] of Object.entries(fields)) assertEqual(response.field(field), value, field);
      assertEqual(response.body, body, "the body");
      const head = await server.request("/ok", { method: "HEAD" });
      checkAnswer(head, status);
      assertEqual(head.body, "", "the body for a HEAD");
      assertEqual(server.entered, ["/ok"], "the requests that reached the handler");
      server.clock.advance(3_000);
      assertEqual((await server.get("/ok")).status, 200, "the status after the wait");
    },
  };
}

function withStatus(response: Response, status: number): Response {
  return Object.defineProperty(response, "status", { value: status });
}

// Clients wait for `Retry-After` before they follow a redirect (RFC 9110, section 10.2.3).
function checkAnswer(response: WireResponse, status: number): void {
  if (status < 300 || status > 399) return checkLimit(response, status);
  assertEqual([response.status, response.field("Retry-After")], [status, null], "the status and Retry-After of a redirect");
  checkNoFields(response);
}

function checkLimit(response: WireResponse, status: number): void {
  assertEqual(response.status, status, "the status");
  const told = [...DEFAULT_FIELDS, "Retry-After"].map((name) => response.field(name));
  assertEqual(told, ["1", "0", "3", '"suite";q=1;w=3', '"suite";r=0;t=3', "3"], "the fields of the limit");
}
