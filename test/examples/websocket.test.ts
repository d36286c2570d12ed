import { createServer, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { createLimiter, MemoryStore, perMinute, whenDone } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, onTestFinished, test } from "vitest";
import { openConnection } from "../../src/testing/adapter-suite/wire.js";
import { limitUpgrades } from "../../examples/websocket/upgrades.js";
import { listen } from "../adapters/rows/listen.js";
import { soon } from "../helpers/soon.js";
import type { ManyLimitsPolicy } from "../../src/core/policy.js";

const userOf = (request: IncomingMessage) => request.headers["x-user"]?.toString();

async function serve(limits: ManyLimitsPolicy["limits"] = [{ name: "rate", capacity: 2, refill: perMinute(6) }]) {
  const clock = new ManualClock();
  const accepted: string[] = [];
  const server = createServer();
  const open: Duplex[] = [];
  const limiter = createLimiter({ policy: { name: "upgrades", limits }, store: new MemoryStore({ clock: clock.now }) });
  limitUpgrades(server, limiter, userOf, (request, socket) => {
    open.push(socket.resume().on("end", () => socket.end())); // as a library for WebSocket does
    accepted.push(userOf(request) ?? "");
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  });
  const { port, close } = await listen(server);
  onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    await close();
  });
  const upgrade = async (user?: string) => {
    const connection = await openConnection(port, 5_000);
    connection.write(`GET /chat HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${user === undefined ? "" : `X-User: ${user}\r\n`}\r\n`);
    return connection;
  };
  return { clock, accepted, open, limiter, upgrade };
}

test("an upgrade above the limit gets a whole 429 and its socket is closed; another user is not held up", async () => {
  const { clock, accepted, upgrade } = await serve();
  for (let i = 0; i < 2; i++) await (await upgrade("ann")).until("101 Switching Protocols");
  expect(await (await upgrade("ann")).rest()).toBe("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 10\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  await (await upgrade("bob")).until("101 Switching Protocols");
  clock.advance(10_000);
  await (await upgrade("ann")).until("101 Switching Protocols");
  expect(accepted).toEqual(["ann", "ann", "bob", "ann"]);
});

test("L21 · a limit in flight counts an upgraded socket until it closes, from either side", async () => {
  const { accepted, open, limiter, upgrade } = await serve([{ name: "open", capacity: 2, returns: whenDone() }]);
  const left = (): number => limiter.peek(["user", "ann"]).remaining;
  const first = await upgrade("ann");
  for (const connection of [first, await upgrade("ann")]) await connection.until("101 Switching Protocols");
  expect(await (await upgrade("ann")).rest()).toBe("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  first.drop();
  await soon(() => expect(left()).toBe(1));
  open[1]?.destroy();
  await soon(() => expect(left()).toBe(2));
  await (await upgrade("ann")).until("101 Switching Protocols");
  expect([left(), accepted]).toEqual([1, ["ann", "ann", "ann"]]);
});

test("an upgrade of a caller that is not signed in gets a 401", async () => {
  const { accepted, upgrade } = await serve();
  expect(await (await upgrade()).rest()).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/);
  expect(accepted).toEqual([]);
});

test("a client that resets its refused upgrade does not end the process", async () => {
  const server = createServer();
  const limiter = createLimiter({ policy: { name: "upgrades", capacity: 1, refill: perMinute(1) } });
  let refused: Duplex | undefined;
  server.on("upgrade", (_request, socket) => (refused = socket));
  limitUpgrades(server, limiter, () => undefined, () => expect.unreachable());
  const { port, close } = await listen(server);
  onTestFinished(() => void close());
  const connection = await openConnection(port, 5_000);
  connection.write("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  await connection.rest();
  expect(() => refused?.emit("error", new Error("ECONNRESET"))).not.toThrow();
});

test("a session that cannot be read closes the socket and does not end the process", async () => {
  const server = createServer();
  const limiter = createLimiter({ policy: { name: "upgrades", capacity: 1, refill: perMinute(1) } });
  limitUpgrades(server, limiter, () => Promise.reject(new Error("no database")), () => expect.unreachable());
  const { port, close } = await listen(server);
  onTestFinished(() => void close());
  const connection = await openConnection(port, 5_000);
  connection.write("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  expect(await connection.rest()).toBe("");
});
