import type { Decision } from "../../../core/decision.js";
import { assertEqual } from "../../assert.js";
import { checkFields, checkNoFields, checkProblem, checkRefusal } from "../response-checks.js";
import type { AdapterCase } from "../server.js";
import type { SuiteRequest } from "../setup.js";
import type { WireResponse } from "../wire.js";

/** A bucket of 10 tokens that gets 1 a second. */
export const POLICY_OF_10 = { name: "suite", capacity: 10, refill: { tokens: 1, everyMs: 1_000 } };
/** What its fields state. */
export const FIELDS_OF_10 = { capacity: 10, window: 10 };

/**
 * The cost of a request: its `X-Cost`, or 3. 1 behind the second limiter, because routes of some frameworks inherit the
 * cost, and the bucket of that limiter holds 2 tokens.
 */
export function costOfCase(request: SuiteRequest): number {
  return request.path === "/bulk" || request.path === "/both" ? 1 : Number(request.header("x-cost") ?? 3);
}

/** Cases about the cost of a request before its work, and about what the gate tells. */
export const costCases: readonly AdapterCase[] = [
  {
    name: "a request can cost several tokens, and a refusal can leave some",
    cause: "The adapter drops the `cost` option, or reports 0 remaining on every 429.",
    async run(start) {
      const server = await start({ policy: POLICY_OF_10, cost: (request) => Number(request.header("x-cost") ?? 1) });
      const spend = (cost: number): Promise<WireResponse> => server.request("/ok", { headers: { "X-Cost": String(cost) } });
      checkFields(await spend(3), 200, { ...FIELDS_OF_10, remaining: 7, reset: 3 });
      checkFields(await spend(5), 200, { ...FIELDS_OF_10, remaining: 2, reset: 8 });
      checkRefusal(await spend(5), { ...FIELDS_OF_10, remaining: 2, retryAfter: 3 });
      checkFields(await spend(2), 200, { ...FIELDS_OF_10, remaining: 0, reset: 1 });
      const later = await start({ policy: POLICY_OF_10, cost: async () => 4 });
      checkFields(await later.get("/ok"), 200, { ...FIELDS_OF_10, remaining: 6 });
    },
  },
  {
    name: "8, 21 · a cost above the capacity is a 400 without Retry-After, and takes no token",
    cause: "The adapter sends 429 for every refusal. Send the status of the verdict.",
    async run(start) {
      const server = await start({ cost: (request) => (request.header("x-user") === "ann" ? 4 : 1) });
      const response = await server.get("/ok");
      assertEqual(response.status, 400, "the status");
      assertEqual(response.field("Retry-After"), null, "Retry-After");
      checkProblem(response, "cost_above_capacity");
      assertEqual(server.entered, [], "the requests that reached the handler");
    },
  },
  {
    name: "`onDecision` gets every decision before the response is sent",
    cause: "The adapter drops the `onDecision` option.",
    async run(start) {
      const seen: Array<[Decision["reason"], string]> = [];
      const server = await start({ onDecision: ({ reason }, { path }) => void seen.push([reason, path]) });
      for (let i = 0; i < 4; i++) await server.get("/ok");
      assertEqual(
        seen,
        [[null, "/ok"], [null, "/ok"], [null, "/ok"], ["limited", "/ok"]],
        "the reasons and paths that `onDecision` got",
      );
    },
  },
  {
    name: "`shadow: true` refuses no request and sends no fields",
    cause: "The adapter refuses or sends fields although the verdict says `pass` without fields.",
    async run(start) {
      const server = await start({ shadow: true, unidentified: "refuse" });
      for (let i = 0; i < 5; i++) {
        const response = await server.get("/ok");
        assertEqual(response.status, 200, "the status");
        checkNoFields(response);
      }
      assertEqual((await server.get("/ok", {})).status, 200, "the status without a key");
    },
  },
];
