/** A tool server over Streamable HTTP, with the official SDK. Its sessions and tools are limited. */
import { randomUUID } from "node:crypto";
import { setTimeout as after } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ErrorCode, isInitializeRequest, ListToolsRequestSchema, McpError, type CallToolResult, type Tool } from "@modelcontextprotocol/sdk/types.js";
import express, { type Request, type RequestHandler } from "express";
import { perHour, type Store } from "sluice";
import { rateLimit } from "sluice/express";
import { createToolBudget, limitTools, type ToolLimits } from "./limits.js";

/** What a tool does. It must stop when `signal` is aborted: until it has settled it holds its place. */
type Work = (given: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<string>;

interface ToolServerOptions extends Pick<ToolLimits, "code"> {
  /** The user of an `Authorization` field. Undefined for one that may not use the server. */
  readonly userOf: (authorization: string | undefined) => string | undefined;
  readonly store: Store;
  /** The work of the tools. Default: {@link WORKS}. */
  readonly works?: Readonly<Record<string, Work>>;
}

const TOOLS: readonly Tool[] = [
  { name: "search", description: "Finds documents by a word.", inputSchema: { type: "object", properties: { word: { type: "string" } }, required: ["word"] } },
  { name: "report", description: "Writes a report. It takes some seconds.", inputSchema: { type: "object" } },
];

/** What a call costs. A report is as expensive as four searches. */
const COSTS = { search: 1, report: 4 };

const WORKS: Readonly<Record<string, Work>> = {
  search: async ({ word }) => `Three documents mention ${String(word)}.`,
  report: async (_, signal) => (await after(3_000, undefined, { signal }), "All is well."),
};

/** Makes the server's Express app, with `/mcp`. */
export function createToolServer({ userOf, store, works = WORKS, code }: ToolServerOptions): express.Express {
  const limited = limitTools({ budget: createToolBudget(store), costs: COSTS, ...(code === undefined ? {} : { code }) });
  const sessions = new Map<string, { readonly user: string; readonly transport: StreamableHTTPServerTransport }>();
  const signedIn = (request: Request): string | undefined => userOf(request.headers.authorization);

  /** A session has a server of its own, because it belongs to one user. */
  async function open(user: string): Promise<StreamableHTTPServerTransport> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, { user, transport }),
    });
    transport.onclose = () => void sessions.delete(transport.sessionId ?? "");
    const server = new Server({ name: "documents", version: "1.0.0" }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...TOOLS] }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { sessionId = "", signal }) => {
      const work = Object.hasOwn(works, params.name) ? works[params.name] : undefined;
      if (work === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no tool of the name ${params.name}.`);
      return limited({ user, session: sessionId }, params, () => answer(work(params.arguments ?? {}, signal)));
    });
    await server.connect(transport as Parameters<typeof server.connect>[0]);
    return transport;
  }

  const app = express();
  app.use(express.json());
  app.use("/mcp", (request, response, next) => {
    if (signedIn(request) === undefined) response.status(401).set("www-authenticate", "Bearer").json({ message: "Send a token." });
    else next();
  });
  // A new session has a budget of its own, so the sessions of one user are limited too.
  const newSessions = rateLimit({
    policy: { name: "sessions", capacity: 5, refill: perHour(60) },
    store,
    key: (request) => ["user", signedIn(request)],
    skip: (request) => !isInitializeRequest(request.body),
  });
  const serve: RequestHandler = async (request, response) => {
    const user = signedIn(request) as string;
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? sessions.get(id) : undefined;
    const transport = known?.user === user ? known.transport : id === undefined && isInitializeRequest(request.body) ? await open(user) : undefined;
    if (transport !== undefined) await transport.handleRequest(request, response, request.body);
    else response.status(404).json({ jsonrpc: "2.0", id: null, error: { code: -32_001, message: "There is no such session. Initialize one." } });
  };
  app.post("/mcp", newSessions, serve);
  app.get("/mcp", serve);
  app.delete("/mcp", serve);
  return app;
}

/** A tool that fails says so to the model. */
async function answer(text: Promise<string>): Promise<CallToolResult> {
  try {
    return { content: [{ type: "text", text: await text }] };
  } catch (error) {
    return { isError: true, content: [{ type: "text", text: `The tool failed: ${(error as Error).message}` }] };
  }
}
