import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import * as http2 from "node:http2";
import { connect, type AddressInfo, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { boundUnreadBody } from "sluice/node";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { soon } from "../../helpers/soon.js";
import { limit } from "../../http/wire.js";

afterEach(() => void vi.restoreAllMocks());

const NEVER = 600_000; // ms: a bound that no test reaches
const MB = 1_000_000;
const BODY = '{"status":429}';

describe("a body that does not end", () => {
  test("39 · is read up to the bound; the response arrives, and the connection closes", async () => {
    const { port, sockets } = await listen(refuse(100_000, 200));
    const client = await open(port);
    client.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    const sent = await client.flood(100 * MB, true);
    expect(await client.rest()).toMatch(/^HTTP\/1\.1 429 [^]*\{"status":429\}$/);
    expect(sent).toBeLessThan(50 * MB); // what the kernel holds in between
    expect(sockets[0]?.bytesRead).toBeLessThan(100_000 + 4 * 65_536);
  });

  test("39 · by default ends after 4 MB and 1 second, also for 50 slow clients at once", async () => {
    const { port, sockets } = await listen(limit({ cost: () => 4 })(() => expect.unreachable()));
    const slow = await Promise.all(Array.from({ length: 50 }, () => open(port)));
    for (const client of slow) client.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx");
    const client = await open(port);
    client.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    await client.flood(100 * MB, true);
    const texts = await Promise.all([client, ...slow].map((each) => each.rest()));
    expect(texts.filter((text) => /^HTTP\/1\.1 400 [^]*cost_above_capacity/.test(text))).toHaveLength(51);
    const read = Math.max(...sockets.map(({ bytesRead }) => bytesRead));
    expect([read > 4 * MB, read < 4 * MB + 4 * 65_536]).toEqual([true, true]);
    expect(sockets.map(({ destroyed }) => destroyed)).not.toContain(false);
  });

  test("39 · that was announced is answered with Connection: close and the end of the stream, and still read a while", async () => {
    const { port, server } = await listen(refuse(100_000, NEVER));
    const client = await open(port);
    client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${MB}\r\n\r\n`);
    await client.ended();
    expect(client.text()).toMatch(/^HTTP\/1\.1 429 [^]*connection: close[^]*\{"status":429\}$/i);
    client.write("x".repeat(50_000));
    expect(await connectionsOf(server)).toBe(1);
    client.socket.destroy();
    await once(server, "client left");
  });

  test("39 · leaves the socket the methods that a server calls on it: @hono/node-server ends it by `destroySoon`", async () => {
    const { port, sockets } = await listen(refuse(MB, NEVER));
    const client = await open(port);
    client.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx");
    await client.until(BODY);
    await soon(() => expect(Object.hasOwn(sockets[0] as Socket, "destroySoon")).toBe(true));
    (sockets[0] as Socket).destroySoon();
    await client.ended();
    expect(client.text()).toMatch(/^HTTP\/1\.1 429 [^]*\{"status":429\}$/);
  });

  test("leaves no timer behind when the client disconnects", async () => {
    const timers = spyOnTimers(NEVER);
    const { port, server } = await listen(refuse(MB, NEVER));
    const client = await open(port);
    client.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx");
    await client.until(BODY);
    await soon(() => expect(timers.open()).toBe(1));
    client.socket.destroy();
    await once(server, "client left");
    expect(timers.open()).toBe(0);
  });

  test("39 · behind an allowed request does not close the connection before that one is answered", async () => {
    const timers = spyOnTimers(1);
    let answer = (): void => {};
    let refused = (): void => {};
    const isRefused = new Promise<void>((resolve) => (refused = resolve));
    const refuseNow = refuse(MB, 1);
    const { port } = await listen((request, response) => {
      if (request.method === "GET") return void (answer = () => void response.end("slow"));
      refuseNow(request, response);
      refused();
    });
    const client = await open(port);
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx");
    await isRefused;
    await new Promise((resolve) => setImmediate(resolve));
    expect(timers.made()).toBe(0);
    answer();
    expect(await client.rest()).toMatch(/slow[^]*429[^]*\{"status":429\}$/);
  });
});

describe("a body that ends", () => {
  test("39 · keeps the connection, and requests behind it are answered", async () => {
    const timers = spyOnTimers(NEVER);
    const { port, sockets, server } = await listen(refuse(MB, NEVER));
    const client = await open(port);
    const post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n";
    for (let i = 1; i <= 20; i++) {
      client.write(post);
      await client.until(BODY, i);
      client.write("x".repeat(100_000));
    }
    client.write(`${post}${"x".repeat(100_000)}GET / HTTP/1.1\r\nHost: x\r\n\r\n`);
    await client.until(BODY, 22);
    expect(client.text()).not.toMatch(/connection: close/i);
    expect(await connectionsOf(server)).toBe(1);
    expect(timers.open()).toBe(0);
    expect(sockets[0]?.listenerCount("close")).toBeLessThan(5);
  });

  test("39 · bounded twice, leaves the socket as it was, so that a later Connection: close still closes it", async () => {
    const refuseNow = refuse(MB, NEVER);
    const { port, server } = await listen((request, response) => {
      boundUnreadBody(response, MB, NEVER); // as after a refusal that could not be sent
      refuseNow(request, response);
    });
    const client = await open(port);
    client.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    await client.until(BODY);
    client.write(`${"x".repeat(1_000)}GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await once(server, "client left");
    await client.until(BODY, 2);
  });

  test("39 · on a connection that is to close is read, so that the client sees no reset", async () => {
    const { port, server } = await listen(refuse(MB, NEVER));
    const client = await open(port);
    client.write("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n");
    await client.ended();
    client.write("x".repeat(100_000));
    await once(server, "client left");
    client.socket.end();
    expect(await client.rest()).toContain(BODY);
    expect(client.error()).toBeUndefined();
  });

  test("costs no timer when it came with its head, and a request without a body not even a listener", async () => {
    const timers = spyOnTimers(NEVER);
    const counts: number[] = [];
    const refuseNow = refuse(MB, NEVER);
    const { port } = await listen((request, response) => {
      const before = response.listenerCount("finish");
      refuseNow(request, response);
      counts.push(response.listenerCount("finish") - before);
    });
    const client = await open(port);
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    await client.until(BODY, 2);
    expect(counts).toEqual([0, 0]);
    client.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await client.until(BODY, 4);
    expect(timers.made()).toBe(0);
  });
});

describe("http2", () => {
  test("39 · a refused upload's stream is reset after the response, and the session lives on", async () => {
    const limited = limit({ cost: () => 4 })(() => expect.unreachable());
    const server = http2.createServer((request, response) => void limited(request as never, response as never));
    const { port, sockets } = await listen(server);
    const session = http2.connect(`http://127.0.0.1:${port}`);
    onTestFinished(() => session.destroy());
    for (let i = 0; i < 5; i++) {
      const stream = session.request({ ":method": "POST" }).setEncoding("utf8");
      let body = "";
      stream.on("data", (text: string) => (body += text));
      stream.on("error", () => {});
      const closed = once(stream, "close");
      for (let sent = 0; sent < 100 * MB && !stream.closed; sent += 65_536) {
        if (!stream.write(Buffer.alloc(65_536))) await Promise.race([once(stream, "drain").catch(() => {}), closed]);
      }
      await closed;
      expect([stream.rstCode, JSON.parse(body)]).toMatchObject([http2.constants.NGHTTP2_NO_ERROR, { status: 400 }]);
    }
    expect(session.closed).toBe(false);
    expect(sockets[0]?.bytesRead).toBeLessThan(5 * MB);
  });
});

test("a response without Node's request is left alone", () => {
  for (const response of [{}, { req: { method: "POST" } }, { req: { complete: true } }]) expect(() => boundUnreadBody(response)).not.toThrow();
});

function refuse(maxBytes: number, maxMs: number): (request: IncomingMessage, response: ServerResponse) => void {
  return (_request, response) => {
    boundUnreadBody(response, maxBytes, maxMs);
    response.writeHead(429, { "Content-Length": BODY.length }).end(BODY);
  };
}

interface Listening {
  readonly port: number;
  readonly server: Server;
  /** The server's ends of all connections so far. */
  readonly sockets: readonly Socket[];
}

/** The server emits "client left" whenever a connection is over. */
async function listen(given: RequestListener | http2.Http2Server): Promise<Listening> {
  const server: Server = typeof given === "function" ? createServer(given) : given;
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => {
    sockets.push(socket);
    socket.once("close", () => server.emit("client left"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, server, sockets };
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))));
}

/** A client that keeps its half of a connection when the server ends the other. */
async function open(port: number) {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  let text = "";
  let error: Error | undefined;
  socket.setEncoding("latin1").on("data", (more: string) => (text += more));
  socket.on("error", (met) => (error = met));
  const ended = new Promise<void>((resolve) => socket.once("end", resolve));
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await once(socket, "connect");
  return {
    socket,
    text: () => text,
    error: () => error,
    write: (more: string) => void socket.write(more, "latin1"),
    /** Resolves when the server has ended its half. */
    ended: () => ended,
    /** Resolves to all that arrived when the connection is over. Tries to write until then, because a reset shows up that way. */
    async rest(): Promise<string> {
      void ended.then(() => {
        const poke = setInterval(() => (socket.destroyed ? clearInterval(poke) : socket.write("0")), 5);
      });
      await closed;
      return text;
    },
    until: (part: string, times = 1) => soon(() => expect(text.split(part).length - 1).toBe(times)),
    /** Writes `size` bytes, or as many as the connection takes. Returns how many that were. */
    async flood(size: number, chunked: boolean): Promise<number> {
      const piece = chunked ? `10000\r\n${"x".repeat(65_536)}\r\n` : "x".repeat(65_536);
      let sent = 0;
      while (sent < size && !socket.destroyed) {
        const written = new Promise<void>((resolve) => socket.write(piece, "latin1", () => resolve()));
        await Promise.race([written, closed]);
        if (!socket.destroyed) sent += piece.length;
      }
      return sent;
    },
  };
}

/** Counts the timers of `ms` milliseconds. */
function spyOnTimers(ms: number): { made(): number; open(): number } {
  const timers = new Set<unknown>();
  let made = 0;
  const { setTimeout, clearTimeout } = globalThis;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, delay: number, ...rest: unknown[]) => {
    const timer = setTimeout(run, delay, ...rest);
    if (delay === ms) made += timers.add(timer).size && 1;
    return timer;
  }) as typeof globalThis.setTimeout);
  vi.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    timers.delete(timer);
    clearTimeout(timer);
  });
  return { made: () => made, open: () => timers.size };
}
