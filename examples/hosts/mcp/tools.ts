/** For `McpServer` of the official SDK: `server.registerTool("search", config, limited("search", handler))`. */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { combine, createLimiter, perMinute, type Store } from "sluice";
import { retryAfterSeconds } from "sluice/http";

/** What this file reads of the second argument that a handler gets: the client whose token was verified, and the user in its `extra`. */
interface Extra { readonly authInfo?: { readonly clientId: string; readonly extra?: Readonly<Record<string, unknown>> } | undefined }

type Handler<Args, More> = (args: Args, extra: More) => CallToolResult | Promise<CallToolResult>;

/** Makes `limited(name, handler)`: 30 calls a minute for each agent, and 10 of them for one tool. */
export function limitMcpTools(store: Store) {
  const agent = createLimiter({ policy: { name: "agent", capacity: 30, refill: perMinute(30) }, store });
  const tool = createLimiter({ policy: { name: "agent-tool", capacity: 10, refill: perMinute(10) }, store });
  const both = combine({ agent, tool });

  return <Args, More extends Extra>(name: string, handler: Handler<Args, More>) => async (args: Args, extra: More): Promise<CallToolResult> => {
    const { authInfo } = extra;
    const userId = authInfo?.extra?.["userId"];
    const who = typeof userId === "string" ? userId : (authInfo?.clientId ?? "stdio"); // over stdio, a process serves one agent
    const decision = await both.consume({ agent: ["agent", who], tool: ["agent", who, name] });
    if (decision.allowed) return handler(args, extra);
    // An error result, and no exception: a model reads it.
    const seconds = retryAfterSeconds(decision) ?? 1;
    const isLimited = decision.reason === "limited";
    const why = isLimited ? "Too many calls." : "The limits cannot be read now.";
    const text = `${why} Call the tool ${name} again in ${seconds} s, not earlier. Until then, go on with other work.`;
    return { isError: true, content: [{ type: "text", text }], structuredContent: { code: isLimited ? "rate_limited" : decision.reason, retry_after: seconds } };
  };
}
