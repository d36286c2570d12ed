// The tool server of examples/hosts/mcp, with the official SDK on both sides over real sockets. Time stands still unless a test moves it.
import { createServer } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpError, type CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "../../../test/adapters/rows/listen.js";
import { soon, until } from "../../../test/helpers/soon.js";
import { callTool, type CallOptions } from "../mcp/client.js";
import { createToolBudget, RATE_LIMITED } from "../mcp/limits.js";
import { createToolServer } from "../mcp/server.js";

const tokens = new Map([["Bearer token-of-ann", "ann"], ["Bearer token-of-bob", "bob"]]);

/** A server, its clock, its reports under way, and clients of it. */
async function serve({ code }: { readonly code?: number } = {}) {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock: clock.now });
  /** Ends a report that is under way, with its text or an error. */
  const reports: { readonly end: (text: string) => void; readonly fail: (error: Error) => void; readonly signal: AbortSignal }[] = [];
  const works = {
    search: async ({ word }: Readonly<Record<string, unknown>>) => `found ${String(word)}`,
    report: (_: unknown, signal: AbortSignal) =>
      new Promise<string>((end, fail) => {
        reports.push({ end, fail, signal });
        signal.addEventListener("abort", () => fail(new Error("cancelled")));
      }),
  };
  const app = createToolServer({ userOf: (authorization) => tokens.get(authorization ?? ""), store, works, ...(code === undefined ? {} : { code }) });
  const { port, close } = await listen(createServer(app));
  onTestFinished(async () => void (await close()));
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  const open = async (user: string): Promise<{ readonly client: Client; readonly session: string }> => {
    const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: `Bearer token-of-${user}` } } });
    const client = new Client({ name: "test", version: "1.0.0" });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    onTestFinished(() => client.close());
    return { client, session: transport.sessionId as string };
  };
  /** The free places of a session. */
  const free = (user: string, session: string): number | undefined => {
    const decision = createToolBudget(store).peek({ session: [user, session], tool: [user, session, "none"] }, 0);
    return (decision as Awaited<typeof decision>).limits?.find(({ limit }) => limit === "parallel")?.remaining;
  };
  return { clock, store, url, open, reports, free };
}

const search = { name: "search", arguments: { word: "sluice" } };
const report = { name: "report", arguments: {} };
const text = ({ content }: CallToolResult): string => (content[0] as { readonly text: string }).text;

/** A client that notes its waits, and moves the clock in place of waiting. */
function obeying(clock: ManualClock, options: CallOptions = {}): { readonly waits: number[]; readonly options: CallOptions } {
  const waits: number[] = [];
  const sleep = async (ms: number): Promise<void> => {
    waits.push(ms);
    clock.advance(ms);
  };
  return { waits, options: { sleep, ...options } };
}

test("a tool is refused with a code and data that a client can obey, and after exactly that wait it answers", async () => {
  const { open, clock } = await serve();
  const { client } = await open("ann");
  for (let i = 0; i < 12; i++) expect(text((await client.callTool(search)) as CallToolResult)).toBe("found sluice");
  const refusal = (await client.callTool(search).catch((error: unknown) => error)) as McpError;
  expect(refusal).toBeInstanceOf(McpError);
  expect([refusal.code, refusal.data]).toEqual([RATE_LIMITED, { code: "rate_limited", retry_after: 5, "violated-policies": ["tool:requests"] }]);
  expect(refusal.message).toContain("Too many calls. Call the tool search again in 5 seconds, not earlier.");
  clock.advance(4_999);
  await expect(client.callTool(search)).rejects.toThrow("again in 1 second,");
  clock.advance(1);
  expect(text((await client.callTool(search)) as CallToolResult)).toBe("found sluice");
});

test("the obeying client waits as long as it is told and no longer, and its call succeeds", async () => {
  const { open, clock } = await serve();
  const { client } = await open("ann");
  const { waits, options } = obeying(clock);
  for (let i = 0; i < 13; i++) expect(text(await callTool(client, search, options))).toBe("found sluice");
  expect(waits).toEqual([5_000]);
});

test("the obeying client gives up after its attempts, and before a wait that is too long, with a sentence for the model", async () => {
  const { open, clock } = await serve();
  const { client } = await open("ann");
  for (let i = 0; i < 12; i++) await client.callTool(search);
  const waits: number[] = [];
  const tired = await callTool(client, search, { sleep: async (ms) => void waits.push(ms) }); // its clock stands still
  expect([tired.isError, waits]).toEqual([true, [5_000, 5_000]]);
  expect(text(tired)).toContain("Call the tool search again in 5 seconds, not earlier.");
  const impatient = obeying(clock, { longestWaitMs: 4_999 });
  expect([(await callTool(client, search, impatient.options)).isError, impatient.waits]).toEqual([true, []]);
});

test("a report costs as much as four searches, and all tools of a session share its budget", async () => {
  const { open, reports } = await serve();
  const { client } = await open("ann");
  for (let i = 0; i < 3; i++) {
    const call = client.callTool(report);
    await until(() => reports.length === i + 1);
    reports[i]?.end(`report ${i}`);
    expect(text((await call) as CallToolResult)).toBe(`report ${i}`);
  }
  const fourth = (await client.callTool(report).catch((error: unknown) => error)) as McpError;
  expect(fourth.data).toEqual({ code: "rate_limited", retry_after: 20, "violated-policies": ["tool:requests"] });
  for (let i = 0; i < 12; i++) await client.callTool(search); // another tool has a budget of its own
  expect(((await client.callTool(report).catch((error: unknown) => error)) as McpError).data).toMatchObject({ retry_after: 20 });
});

test("a session's calls in flight are limited, and a place comes back when a tool ends, fails or is cancelled", async () => {
  const { open, reports, clock, free } = await serve();
  const { client, session } = await open("ann");
  const first = client.callTool(report);
  const cancel = new AbortController();
  const second = client.callTool(report, undefined, { signal: cancel.signal }).catch((error: unknown) => error);
  await until(() => reports.length === 2);
  const third = (await client.callTool(search).catch((error: unknown) => error)) as McpError;
  expect(third.data).toEqual({ code: "rate_limited", retry_after: 1, "violated-policies": ["session:parallel"] });
  expect(free("ann", session)).toBe(0);
  cancel.abort();
  await second;
  await until(() => reports[1]?.signal.aborted);
  await soon(() => expect(free("ann", session)).toBe(1));
  reports[0]?.fail(new Error("the disk is full"));
  const failed = (await first) as CallToolResult;
  expect([failed.isError, text(failed)]).toEqual([true, "The tool failed: the disk is full"]);
  expect(free("ann", session)).toBe(2);
  // The obeying client gets the place that is free after its wait.
  const [fourth, fifth] = [client.callTool(report), client.callTool(search)];
  await fifth;
  await until(() => reports.length === 3);
  const { waits, options } = obeying(clock);
  clock.advance(60_000);
  expect(text(await callTool(client, search, options))).toBe("found sluice");
  reports[2]?.end("done");
  expect([text((await fourth) as CallToolResult), waits]).toEqual(["done", []]);
});

test("a session that is closed leaves no place behind", async () => {
  const { open, reports, free } = await serve();
  const { client, session } = await open("ann");
  const gone = client.callTool(report).catch((error: unknown) => error);
  await until(() => reports.length === 1);
  await (client.transport as StreamableHTTPClientTransport).terminateSession();
  await soon(() => expect(free("ann", session)).toBe(2));
  await client.close();
  await gone;
});

test("another session, and another user, have budgets of their own, and nobody uses the session of another", async () => {
  const { open, url } = await serve();
  const { client, session } = await open("ann");
  for (let i = 0; i < 12; i++) await client.callTool(search);
  await expect(client.callTool(search)).rejects.toThrow("Too many calls");
  for (const user of ["ann", "bob"]) expect(text((await (await open(user)).client.callTool(search)) as CallToolResult)).toBe("found sluice");
  const call = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: search });
  const fields = { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-session-id": session };
  const statuses = await Promise.all(
    [{ authorization: "Bearer token-of-bob" }, { authorization: "Bearer nobody" }, {}].map(async (who) => (await fetch(url, { method: "POST", headers: { ...fields, ...who }, body: call })).status),
  );
  expect(statuses).toEqual([404, 401, 401]);
});

test("new sessions of one user are limited by a 429 with its fields, because each has a budget of its own", async () => {
  const { open } = await serve();
  for (let i = 0; i < 5; i++) await open("ann");
  await expect(open("ann")).rejects.toThrow("429");
  await open("bob");
});

test("the code is a setting of the server and of the client", async () => {
  const { open, clock } = await serve({ code: -32_029 });
  const { client } = await open("ann");
  for (let i = 0; i < 12; i++) await client.callTool(search);
  expect(((await client.callTool(search).catch((error: unknown) => error)) as McpError).code).toBe(-32_029);
  await expect(callTool(client, search)).rejects.toThrow(McpError); // it does not know this code
  const { waits, options } = obeying(clock, { codes: [RATE_LIMITED, -32_029] });
  expect(text(await callTool(client, search, options))).toBe("found sluice");
  expect(waits).toEqual([5_000]);
});

test("a tool that does not exist costs nothing, and is no refusal", async () => {
  const { open } = await serve();
  const { client } = await open("ann");
  for (let i = 0; i < 40; i++) await expect(callTool(client, { name: "delete" })).rejects.toThrow("There is no tool");
  expect(text((await client.callTool(search)) as CallToolResult)).toBe("found sluice");
});
