import type { UnidentifiedRefusal } from "../../../http/index.js";
import { assert, assertEqual } from "../../assert.js";
import { FAULT_TIMEOUT_MS, faultOr, FAULTS, STORE_KINDS } from "../faults/faults.js";
import { checkFields, checkNoFields, checkProblem, checkRefusal, parseJson } from "../response-checks.js";
import type { AdapterCase } from "../server.js";
import type { SuiteAnswer } from "../setup.js";
import type { WireResponse } from "../wire.js";
import { TOKEN_OF_3_S } from "./own-answers.js";

const LOGIN_ANSWER: SuiteAnswer = {
  status: 303, fields: { Location: "https://example.com/login" }, body: "https://example.com/login",
};
const answerOf = (returns: unknown): SuiteAnswer => ({ status: 0, fields: {}, body: "", returns });

const circularAnswer: Record<string, unknown> = {};
circularAnswer["self"] = circularAnswer;

/** Object literals that JSON cannot hold. */
const NOT_JSON: Readonly<Record<string, () => unknown>> = {
  "a circle": () => circularAnswer,
  "a BigInt": () => ({ id: 1n }),
  "a toJSON without a result": () => ({ toJSON() {} }),
  "a toJSON that throws": () => ({ toJSON: FAULTS["throws undefined"] }),
};

/** Cases about object literals that `respond` returns, and about an `unidentified` function (law L17). */
export const jsonAnswerCases: readonly AdapterCase[] = [
  {
    name: "`respond` returns an object literal, which is sent as JSON with the status and the fields of the limit",
    cause: "The adapter drops what `respond` returns. Use `answerOnNode` or `refusalResponse`.",
    needs: "respond",
    async run(start) {
      for (const later of [false, true]) {
        const server = await start({
          policy: TOKEN_OF_3_S,
          cost: (request) => Number(request.header("x-cost") ?? 1),
          answer({ problem }) {
            const answer = answerOf({ ...problem, docs: "\u00e9", violated: undefined });
            return later ? Promise.resolve(answer) : answer;
          },
        });
        await server.get("/ok");
        const response = await server.get("/ok");
        checkFields(response, 429, { capacity: 1, window: 3, remaining: 0, reset: 3 });
        checkJson(response);
        assertEqual(checkProblem(response, "rate_limited")["docs"], "\u00c3\u00a9", "the bytes of `docs`"); // \u00e9 in UTF-8
        const tooHigh = await server.request("/ok", { headers: { "X-Cost": "2" } });
        assertEqual(
          [tooHigh.status, tooHigh.field("Retry-After")],
          [400, null],
          "the status and Retry-After of a cost above the capacity",
        );
        checkJson(tooHigh);
        const head = await server.request("/ok", { method: "HEAD" });
        assertEqual(
          [head.status, head.field("Retry-After"), head.body],
          [429, "3", ""],
          "the status, Retry-After and body for a HEAD",
        );
        assertEqual(server.entered, ["/ok"], "the requests that reached the handler");
      }
    },
  },
  {
    name: "a `respond` function that returns an object that JSON cannot hold leaves the standard document",
    cause: "The adapter does not watch `respond`. Use `answerOnNode` or `refusalResponse`.",
    needs: "respond",
    async run(start) {
      const server = await start({
        policy: TOKEN_OF_3_S,
        functionTimeoutMs: FAULT_TIMEOUT_MS,
        answer(_refusal, request) {
          const answer = answerOf(NOT_JSON[request.header("x-object") ?? ""]?.());
          return request.header("x-later") === "yes" ? Promise.resolve(answer) : answer;
        },
      });
      await server.get("/ok");
      for (const what of Object.keys(NOT_JSON)) {
        for (const later of ["yes", "no"]) {
          checkRefusal(await server.request("/ok", { headers: { "X-Object": what, "X-Later": later } }), {
            capacity: 1, window: 3, retryAfter: 3,
          });
        }
      }
      assertEqual(server.entered, ["/ok"], "the requests that reached the handler");
    },
  },
  {
    name: "an `unidentified` function answers requests without a key, with a refusal of status 401 and without a decision",
    cause: "The adapter passes `unidentified` on with other arguments than those of `respond`.",
    needs: "respond",
    async run(start) {
      const seen: unknown[] = [];
      const see = ({ status, code, retryAfter, decision, problem }: UnidentifiedRefusal, path: string): void =>
        void seen.push([status, code, retryAfter, decision, problem.status, path]);
      const server = await start({ answerUnidentified: (refusal, { path }) => (see(refusal, path), LOGIN_ANSWER) });
      const redirect = await server.get("/ok", {});
      assertEqual(
        [redirect.status, redirect.field("Location"), redirect.field("Cache-Control")],
        [303, LOGIN_ANSWER.body, "no-store"],
        "the status, Location and Cache-Control",
      );
      checkNoFields(redirect);
      assertEqual(redirect.field("WWW-Authenticate"), null, "WWW-Authenticate of a redirect");
      assertEqual(seen, [[401, "unidentified", null, null, 401, "/ok"]], "what `unidentified` got");
      assertEqual(server.entered, [], "the requests that reached the handler");
      for (let i = 0; i < 3; i++) checkFields(await server.get("/ok"), 200, { remaining: 2 - i });
      checkRefusal(await server.get("/ok"), { retryAfter: 1 }); // the function is not for a 429
    },
  },
  {
    name: "an `unidentified` function returns an object literal, which is sent as JSON with the status 401",
    cause: "The adapter drops what the function returns. Use `answerOnNode` or `refusalResponse`.",
    needs: "respond",
    async run(start) {
      const server = await start({ answerUnidentified: async ({ problem }) => answerOf({ ...problem, login: "/login" }) });
      const response = await server.get("/ok", {});
      assertEqual(response.status, 401, "the status");
      assert((response.field("WWW-Authenticate") ?? "") !== "", "Expected WWW-Authenticate on a 401, got none");
      checkJson(response);
      assertEqual(checkProblem(response, "unidentified")["login"], "/login", "`login` in the body");
    },
  },
  ...STORE_KINDS.map(([kind, storeOf]): AdapterCase => ({
    name: `an \`unidentified\` function that fails leaves the standard document, with ${kind}`,
    cause: "The adapter does not watch the function. Use `answerOnNode` or `refusalResponse`.",
    needs: "respond",
    async run(start) {
      const unreadable = Object.entries(NOT_JSON).map(([what, make]) => [`returns ${what}`, () => answerOf(make())] as const);
      const faults = {
        ...FAULTS,
        ...Object.fromEntries(unreadable),
        "sends nothing": () => undefined,
        "sends nothing later": async () => undefined,
      };
      const server = await start({
        ...storeOf(),
        functionTimeoutMs: FAULT_TIMEOUT_MS,
        answerUnidentified: (_refusal, request) => faultOr(faults, request, () => LOGIN_ANSWER),
      });
      for (const fault of Object.keys(faults)) {
        const response = await server.get("/ok", { "X-Fault": fault });
        assertEqual([fault, response.status], [fault, 401], `the status when \`unidentified\` ${fault}`);
        checkProblem(response, "unidentified");
        checkNoFields(response);
      }
      assertEqual((await server.get("/ok", {})).status, 303, "the status of a function that does not fail");
      assertEqual(server.entered, [], "the requests that reached the handler");
    },
  })),
];

function checkJson(response: WireResponse): void {
  assert(
    /^application\/json\b/.test(response.field("Content-Type") ?? ""),
    `Expected Content-Type: application/json, got ${response.field("Content-Type")}`,
  );
  assertEqual(typeof parseJson(response), "object", "the type of the body");
}
