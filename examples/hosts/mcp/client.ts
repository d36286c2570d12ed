/** A client of tool servers that obeys their limits. */
import { setTimeout as after } from "node:timers/promises";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { McpError, type CallToolRequest, type CallToolResult } from "@modelcontextprotocol/sdk/types.js";

/** What `tools.ts` writes as the code of a refusal. */
const REFUSED = ["rate_limited", "store_unavailable"];

export interface CallOptions {
  /** The codes of errors that servers use for a refusal. Default: -32023, a proposal to the protocol. */
  readonly codes?: readonly number[];
  /** At most so many calls. Default 3. */
  readonly attempts?: number;
  /** The client does not wait longer than this for one call. Default 30,000. */
  readonly longestWaitMs?: number;
  /** Cancels the call or the wait. */
  readonly signal?: AbortSignal;
  /** Waits. A test passes its own. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<unknown>;
}

/**
 * Calls a tool, and waits as long as the server says when it refuses, by an error result or by an McpError. After the last attempt, or when the wait is too
 * long, the result is an error that the model reads: it says when to call again. Rejects with all other errors.
 */
export async function callTool(client: Client, params: CallToolRequest["params"], options: CallOptions = {}): Promise<CallToolResult> {
  const { codes = [-32_023], attempts = 3, longestWaitMs = 30_000, signal, sleep = (ms, signal) => after(ms, undefined, signal && { signal }) } = options;
  for (let attempt = 1; ; attempt++) {
    let refusal: CallToolResult;
    let waitMs: number;
    try {
      refusal = (await client.callTool(params, undefined, signal && { signal })) as CallToolResult;
      if (!refusal.isError || !REFUSED.includes(refusal.structuredContent?.["code"] as string)) return refusal;
      waitMs = waitOf(refusal.structuredContent);
    } catch (error) {
      if (!(error instanceof McpError) || !codes.includes(error.code)) throw error;
      refusal = { isError: true, content: [{ type: "text", text: error.message }] };
      waitMs = waitOf(error.data);
    }
    if (attempt >= attempts || waitMs > longestWaitMs) return refusal;
    await sleep(waitMs, signal);
  }
}

/** The wait in milliseconds: a second if the server says nothing, and Infinity if waiting does not help. */
function waitOf(data: unknown): number {
  if (typeof data !== "object" || data === null) return 1_000;
  const { retry_after: seconds, code } = data as { readonly retry_after?: unknown; readonly code?: unknown };
  if (typeof seconds === "number" && seconds >= 0) return seconds * 1_000;
  return code === "cost_above_capacity" ? Infinity : 1_000;
}
