/** Limits for the tools of a Model Context Protocol server: of one session, and of one tool in a session. */
import { McpError, type CallToolRequest, type CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { combine, createLimiter, perMinute, RefusedError, run, whenDone, type Refused, type Store } from "sluice";
import { retryAfterSeconds } from "sluice/http";

/**
 * The JSON-RPC code of a refusal, as proposed to the protocol (SEP-3304, not decided in November 2026). It is a setting:
 * servers and clients of today use other numbers.
 */
export const RATE_LIMITED = -32_023;

/** The `data` of the error: what a client needs to obey. The names are those of sluice's HTTP document. */
export interface RefusalData {
  readonly code: "rate_limited" | "cost_above_capacity" | "unavailable";
  /** Whole seconds. Absent when waiting does not help. */
  readonly retry_after?: number;
  /** The limit that the call waits for, such as `"session:requests"`. */
  readonly "violated-policies": readonly string[];
}

/** The caller of a tool. */
export interface Caller {
  /** The user whom your sign-in verified. */
  readonly user: string;
  /** The id of the session. */
  readonly session: string;
}

/** Makes the budget: 30 requests a minute and 2 calls in flight for a session, and 12 requests a minute for each tool in it. */
export function createToolBudget(store: Store) {
  const session = createLimiter({
    store,
    policy: {
      name: "session",
      limits: [
        { name: "requests", capacity: 30, refill: perMinute(30) },
        { name: "parallel", capacity: 2, returns: whenDone() },
      ],
    },
  });
  const tool = createLimiter({ store, policy: { name: "tool", limits: [{ name: "requests", capacity: 12, refill: perMinute(12) }] } });
  return combine({ session, tool });
}

export interface ToolLimits {
  readonly budget: ReturnType<typeof createToolBudget>;
  /** What a call of a tool costs, in requests. A tool that is not named costs 1. */
  readonly costs: Readonly<Record<string, number>>;
  /** The JSON-RPC code of a refusal. Default: {@link RATE_LIMITED}. */
  readonly code?: number;
}

/**
 * Makes a function that does the work of a tool within the budget. Its place in `parallel` is free when the work has
 * ended, failed or stopped because it was cancelled. Throws an McpError when the budget refuses.
 */
export function limitTools({ budget, costs, code = RATE_LIMITED }: ToolLimits) {
  return async (caller: Caller, { name }: CallToolRequest["params"], work: () => Promise<CallToolResult>): Promise<CallToolResult> => {
    const requests = (Object.hasOwn(costs, name) ? costs[name] : undefined) ?? 1;
    const { user, session } = caller;
    try {
      return await run(budget, { session: [user, session], tool: [user, session, name] }, work, { cost: { session: { requests }, tool: { requests } } });
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      const data = dataOf(error.decision);
      throw new McpError(code, sentenceOf(name, data), data);
    }
  };
}

function dataOf(decision: Refused): RefusalData {
  const { policy, limit, reason } = decision;
  const violated = { "violated-policies": [`${policy}:${limit}`] };
  const seconds = retryAfterSeconds(decision);
  if (seconds === null) return { code: "cost_above_capacity", ...violated };
  return { code: reason === "limited" ? "rate_limited" : "unavailable", retry_after: seconds, ...violated };
}

/** A sentence that a model understands and can obey. */
function sentenceOf(name: string, { code, retry_after: seconds }: RefusalData): string {
  if (seconds === undefined) return `The tool ${name} can never be called with this cost. Do not call it again like this.`;
  const wait = seconds === 1 ? "1 second" : `${seconds} seconds`;
  return `${code === "rate_limited" ? "Too many calls" : "The limits cannot be checked now"}. Call the tool ${name} again in ${wait}, not earlier.`;
}
