import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { perSecond, MemoryStore } from "sluice";
import { rateLimit, type NodeRateLimitOptions } from "sluice/node";

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

/** An answer as its bytes came, taken apart. */
export interface Wire {
  readonly status: number;
  /** The names of the fields as they were sent, in order. */
  readonly names: readonly string[];
  /** All values of a field, in any case, in order. */
  all(name: string): string[];
  /** The only value of a field; undefined when it is absent. Throws when it occurs twice. */
  field(name: string): string | undefined;
  /** Everything after the head, framing included. */
  readonly body: string;
}

/** Listens on a free port of the loopback until the test ends. */
export async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** The same for a listener behind a gate of three tokens on a clock that stands still. */
export async function serve(listener: Handler, options: Partial<NodeRateLimitOptions> = {}): Promise<number> {
  return listen(limit(options)(listener));
}

/** A gate of three tokens for one caller, on a clock that stands still. */
export function limit(options: Partial<NodeRateLimitOptions> = {}): (listener: Handler) => Handler {
  const policy = { name: "wire", capacity: 3, refill: perSecond(1) };
  return rateLimit({ policy, store: new MemoryStore({ clock: () => 0 }), key: () => "ann", ...options } as NodeRateLimitOptions);
}

/** Sends a request as it stands and reads until the server hangs up. */
export async function send(port: number, method = "GET", fields: Readonly<Record<string, string>> = {}, body = ""): Promise<Wire> {
  const socket = connect(port, "127.0.0.1");
  const lines = Object.entries({ host: "localhost", connection: "close", ...fields }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${method} / HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return parse(Buffer.concat(chunks).toString("latin1"));
}

/** Spends the three tokens, then sends the request in question. */
export async function sendRefused(port: number, ...asked: Parameters<typeof send> extends [number, ...infer Rest] ? Rest : never): Promise<Wire> {
  for (let i = 0; i < 3; i++) await send(port);
  return send(port, ...asked);
}

function parse(text: string): Wire {
  const end = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
  const names = lines.map((line) => line.slice(0, line.indexOf(":")));
  const fields = lines.map((line, i): [string, string] => [(names[i] as string).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]);
  const all = (name: string): string[] => fields.flatMap(([known, value]) => (known === name.toLowerCase() ? [value] : []));
  return {
    status: Number(statusLine.split(" ")[1]),
    names,
    all,
    field(name) {
      const values = all(name);
      if (values.length > 1) throw new Error(`${name} occurs ${values.length} times`);
      return values[0];
    },
    body: text.slice(end + 4),
  };
}
