// The tools of an McpServer with a limit for each agent and tool. Server and client of the official SDK speak in memory.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { callTool } from "../mcp/client.js";
import { limitMcpTools } from "../mcp/tools.js";

/** A server, its clock, and clients whose tokens were verified. */
function serve() {
  const clock = new ManualClock();
  const limited = limitMcpTools(new MemoryStore({ clock: clock.now }));
  const open = async (clientId?: string): Promise<Client> => {
    const server = new McpServer({ name: "documents", version: "1.0.0" });
    const text = (known: string): CallToolResult => ({ content: [{ type: "text", text: known }] });
    server.registerTool("search", { inputSchema: { word: z.string() } }, limited("search", ({ word }: { word: string }) => text(`found ${word}`)));
    for (const name of ["read", "list", "fails"]) {
      server.registerTool(name, { inputSchema: {} }, limited(name, () => (name === "fails" ? { ...text("the disk is full"), isError: true } : text(name))));
    }
    const [near, far] = InMemoryTransport.createLinkedPair();
    const send = near.send.bind(near);
    if (clientId !== undefined) near.send = (message, options) => send(message, { ...options, authInfo: { clientId, token: "", scopes: [] } });
    const client = new Client({ name: "agent", version: "1.0.0" });
    await Promise.all([server.connect(far), client.connect(near)]);
    onTestFinished(() => client.close());
    return client;
  };
  return { clock, open };
}
const search = { name: "search", arguments: { word: "sluice" } };
const textOf = ({ content }: CallToolResult): string => (content[0] as { readonly text: string }).text;

test("each agent has a limit for each tool: the refusal is a result that a model reads, and after its wait the tool answers", async () => {
  const { clock, open } = serve();
  const ann = await open("ann");
  const call = async (client = ann, params: { name: string; arguments?: object } = search) => (await client.callTool(params as typeof search)) as CallToolResult;
  for (let i = 0; i < 10; i++) expect(textOf(await call())).toBe("found sluice");
  expect(await call()).toEqual({
    isError: true,
    content: [{ type: "text", text: "Too many calls. Call the tool search again in 6 s, not earlier. Until then, go on with other work." }],
    structuredContent: { code: "rate_limited", retry_after: 6 },
  });
  expect(textOf(await call(ann, { name: "read" }))).toBe("read"); // other work
  expect(textOf(await call(await open("bob")))).toBe("found sluice");
  expect(textOf(await call(await open()))).toBe("found sluice"); // without a token, as over stdio
  expect((await call(await open("ann"))).isError).toBe(true); // another session is no other agent
  clock.advance(5_999);
  expect((await call()).isError).toBe(true);
  clock.advance(1);
  expect(textOf(await call())).toBe("found sluice");
});

test("an agent has a limit over all tools, and a refused tool costs it nothing", async () => {
  const { open } = serve();
  const ann = await open("ann");
  for (const name of ["read", "list"]) for (let i = 0; i < 10; i++) await ann.callTool({ name });
  for (let i = 0; i < 20; i++) await ann.callTool({ name: "read" }); // refused
  for (let i = 0; i < 10; i++) expect((await ann.callTool(search)).isError).toBeUndefined();
  expect((await ann.callTool({ name: "fails" })).structuredContent).toEqual({ code: "rate_limited", retry_after: 2 });
});

test("the obeying client waits as long as the result says, gives up when that is too long, and leaves other errors alone", async () => {
  const { clock, open } = serve();
  const ann = await open("ann");
  const waits: number[] = [];
  const sleep = async (ms: number): Promise<void> => (waits.push(ms), clock.advance(ms));
  for (let i = 0; i < 11; i++) expect(textOf(await callTool(ann, search, { sleep }))).toBe("found sluice");
  expect(waits).toEqual([6_000]);
  const refused = await callTool(ann, search, { sleep, longestWaitMs: 5_999 });
  expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining("again in 6 s")]);
  expect(textOf(await callTool(ann, { name: "fails" }, { sleep }))).toBe("the disk is full");
  expect(waits).toEqual([6_000]);
});
