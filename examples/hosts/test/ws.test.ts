// The example for ws on a real server, with real clients. Time stands still.
import { createServer, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../../../test/helpers/soon.js";
import { WebSocket } from "ws";
import { listen } from "../../../test/adapters/rows/listen.js";
import { serveSockets } from "../servers/ws.js";

const tokens = new Map([["Bearer token-of-ann", "ann"], ["Bearer token-of-bob", "bob"]]);
const userOf = (request: IncomingMessage) => {
  if (request.headers.authorization === "Bearer broken") throw new Error("the session is not readable");
  return tokens.get(request.headers.authorization ?? "");
};

/** A server that echoes messages, and its clock. */
async function serve() {
  const clock = new ManualClock();
  const server = createServer();
  serveSockets(server, userOf, (socket, data) => socket.send(`echo ${String(data as Buffer)}`), new MemoryStore({ clock: clock.now }));
  const { port, close } = await listen(server);
  const opened: WebSocket[] = [];
  onTestFinished(async () => {
    // The end of a socket that was refused or is still connecting is an error of its own.
    for (const socket of opened) socket.on("error", () => undefined).terminate();
    await close();
  });
  const open = (token: string): WebSocket => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers: { Authorization: `Bearer ${token}` } });
    opened.push(socket);
    return socket;
  };
  return { clock, port, open };
}

/** What the server answers in place of an upgrade. */
async function refusalOf(socket: WebSocket): Promise<{ status: number; headers: IncomingMessage["headers"]; body: string }> {
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
  let body = "";
  for await (const chunk of response.setEncoding("utf8")) body += chunk as string;
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

/** Sends messages, and collects as many answers. */
async function exchange(socket: WebSocket, ...messages: string[]): Promise<string[]> {
  const answers: string[] = [];
  socket.on("message", (data) => answers.push(String(data as Buffer)));
  for (const message of messages) socket.send(message);
  await until(() => answers.length >= messages.length);
  socket.removeAllListeners("message");
  return answers;
}

test("an upgrade beyond the limit of a user gets a 429 with its fields and its document, and the connection closes", async () => {
  const { open, clock } = await serve();
  for (let i = 0; i < 5; i++) await once(open("token-of-ann"), "open");
  const { status, headers, body } = await refusalOf(open("token-of-ann"));
  expect([status, headers["retry-after"], headers["ratelimit"], headers["connection"]]).toEqual([429, "12", '"upgrades:rate";r=0;t=12', "close"]);
  expect(headers["content-type"]).toBe("application/problem+json");
  expect(JSON.parse(body)).toMatchObject({ code: "rate_limited", retry_after: 12 });
  await once(open("token-of-bob"), "open");
  clock.advance(12_000);
  expect((await refusalOf(open("token-of-ann"))).headers["ratelimit"]).toBe('"upgrades:open";r=0;t=1');
});

test("L21 · a user has five connections open at once, and one that closes makes room", async () => {
  const { open, clock } = await serve();
  const sockets = Array.from({ length: 5 }, () => open("token-of-ann"));
  await Promise.all(sockets.map((socket) => once(socket, "open")));
  clock.advance(12_000); // the rate has a token again
  const { status, headers, body } = await refusalOf(open("token-of-ann"));
  expect([status, headers["retry-after"], JSON.parse(body)]).toMatchObject([429, "1", { "violated-policies": ["upgrades:open"] }]);
  await once(open("token-of-bob"), "open");
  sockets[0]?.close();
  // The server may hear of the end a moment after the client. A refusal takes nothing.
  await until(async () => {
    const next = open("token-of-ann");
    return Promise.race([once(next, "open").then(() => true), once(next, "unexpected-response").then(() => false)]);
  });
});

test("an upgrade without a session gets a 401", async () => {
  const { status, headers } = await refusalOf((await serve()).open("nobody"));
  expect([status, headers["www-authenticate"]]).toEqual([401, "Bearer"]);
});

test("a message beyond the limit gets an error with the wait, over all sockets of the user, and no socket closes", async () => {
  const { open, clock } = await serve();
  const [one, two, other] = [open("token-of-ann"), open("token-of-ann"), open("token-of-bob")];
  await Promise.all([one, two, other].map((socket) => once(socket, "open")));
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => String(i));
  expect(await exchange(one, ...numbers(12))).toEqual(numbers(12).map((number) => `echo ${number}`));
  const answers = await exchange(two, ...numbers(9));
  expect(answers.slice(0, 8)).toEqual(numbers(8).map((number) => `echo ${number}`));
  expect(JSON.parse(answers[8] as string)).toEqual({ error: "rate_limited", retryAfter: 1 });
  expect(await exchange(other, "hello")).toEqual(["echo hello"]);
  clock.advance(100);
  expect(await exchange(two, "again")).toEqual(["echo again"]);
  expect([one, two].map((socket) => socket.readyState)).toEqual([WebSocket.OPEN, WebSocket.OPEN]);
});

test("neither a session that cannot be read nor a client that resets ends the process", async () => {
  const { open, port } = await serve();
  const [error] = (await once(open("broken"), "error")) as [Error];
  expect(error.message).toMatch(/hang up|ECONNRESET/);
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  socket.resetAndDestroy();
  await once(open("token-of-ann"), "open");
});

test("a frame that is none closes its connection, and does not end the process", async () => {
  const { open } = await serve();
  const [broken, other] = [open("token-of-ann"), open("token-of-bob")];
  await Promise.all([broken, other].map((socket) => once(socket, "open")));
  const { _socket: raw } = broken as unknown as { _socket: Socket };
  raw.write(Buffer.from([0xff, 0xff, 0xff]));
  expect((await once(broken, "close"))[0]).toBe(1_002);
  expect(await exchange(other, "hello")).toEqual(["echo hello"]);
});
