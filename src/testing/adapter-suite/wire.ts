import type { Socket } from "node:net";
import { assert, AssertionError } from "../assert.js";

/** One response as it arrived. Text is latin1: one character per byte. */
export interface WireResponse {
  readonly status: number;
  /** Lower-case names, in the order of arrival. A repeated field is listed each time. */
  readonly fields: ReadonlyArray<readonly [name: string, value: string]>;
  /** The body, without chunk sizes. */
  readonly body: string;
  readonly trailers: ReadonlyArray<readonly [name: string, value: string]>;
  /** Returns the value of a field, with repeated fields joined by ", "; null if it is absent. */
  field(name: string): string | null;
}

/** One request. */
export interface WireRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One connection as text. An HTTP client would hide order, repeated fields, trailers and bytes after a HEAD. */
export interface RawConnection {
  write(text: string): void;
  /** Writes `size` bytes, or as many as the connection takes. Returns a function that counts the bytes taken. */
  flood(size: number): () => number;
  /** Waits until `text` has arrived. Resolves to everything that has arrived; fails after the deadline. */
  until(text: string): Promise<string>;
  /** Waits until the server closes. Resolves to everything that has arrived; fails after the deadline. */
  rest(): Promise<string>;
  /** Disconnects without ending the request. */
  drop(): void;
}

/** Connects to 127.0.0.1. Reading fails after `timeoutMs` of waiting. */
export async function openConnection(port: number, timeoutMs: number): Promise<RawConnection> {
  const net = await import("node:net");
  const socket: Socket = net.connect({ port, host: "127.0.0.1" });
  socket.setEncoding("latin1");
  let arrived = "";
  let closed = false;
  let wake = (): void => {};
  socket.on("data", (text: string) => {
    arrived += text;
    wake();
  });
  // A server may reset a connection after its response. The bytes that arrived before still count.
  socket.on("error", () => {});
  socket.on("close", () => {
    closed = true;
    wake();
  });

  return {
    write: (text) => void socket.write(text, "latin1"),
    flood(size) {
      const piece = "x".repeat(50_000);
      let taken = -piece.length;
      const more = (error?: Error | null): void => {
        if (error || closed) return;
        taken += piece.length;
        if (taken < size) socket.write(piece, more);
      };
      more();
      return () => taken;
    },
    until: async (text) => {
      await wait(`"${text}"`, () => arrived.includes(text));
      return arrived;
    },
    rest: async () => {
      await wait("the end of the connection", () => closed);
      return arrived;
    },
    drop: () => void socket.destroy(),
  };

  function wait(what: string, done: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (why: string): void => {
        clearTimeout(timer);
        socket.destroy();
        const got = arrived === "" ? "nothing" : JSON.stringify(arrived.slice(0, 500));
        reject(new AssertionError(`Expected ${what} from the server, got ${got}, then ${why}`));
      };
      const timer = setTimeout(() => fail(`no data for ${timeoutMs} ms`), timeoutMs);
      wake = () => {
        if (!done()) return closed ? fail("the connection closed") : undefined;
        clearTimeout(timer);
        resolve();
      };
      wake();
    });
  }
}

/** Formats a request as HTTP/1.1 text. */
export function formatRequest(path: string, { method = "GET", headers = {}, body }: WireRequest = {}): string {
  const all = body === undefined ? headers : { "Content-Length": String(body.length), ...headers };
  const lines = Object.entries({ Host: "localhost", ...all }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body ?? ""}`;
}

/** Sends the only request of a connection and reads the response. */
export async function requestOnce(connection: RawConnection, path: string, request: WireRequest = {}): Promise<WireResponse> {
  connection.write(formatRequest(path, { ...request, headers: { Connection: "close", ...request.headers } }));
  const [response, more] = parseResponses(await connection.rest(), [request.method ?? "GET"]);
  assert(response !== undefined && more === undefined, `Expected one response to ${path}, got ${response ? "more" : "none"}`);
  return response;
}

/** Parses consecutive responses. `methods` are the methods of the requests: a response to HEAD has no body. */
export function parseResponses(text: string, methods: readonly string[]): WireResponse[] {
  const responses: WireResponse[] = [];
  let left = text;
  while (left !== "") {
    const end = left.indexOf("\r\n\r\n");
    const [statusLine = "", ...lines] = left.slice(0, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]);
    assert(end >= 0 && !Number.isNaN(status), `Expected the head of a response, got ${JSON.stringify(left.slice(0, 200))}`);
    left = left.slice(end + 4);
    if (status < 200) continue;

    const fields = lines.map(parseField);
    const field = (name: string): string | null => {
      const values = fields.filter(([known]) => known === name.toLowerCase()).map(([, value]) => value);
      return values.length === 0 ? null : values.join(", ");
    };
    const bodiless = methods[responses.length] === "HEAD" || status === 204 || status === 304;
    const read = bodiless ? { body: "", trailers: [], left } : parseBody(left, field);
    left = read.left;
    responses.push({ status, fields, body: read.body, trailers: read.trailers, field });
  }
  return responses;
}

type ParsedBody = Pick<WireResponse, "body" | "trailers"> & { left: string };

function parseBody(text: string, field: WireResponse["field"]): ParsedBody {
  if (field("transfer-encoding") === "chunked") return parseChunks(text);
  const length = field("content-length");
  const size = length === null ? text.length : Number(length);
  assert(text.length >= size, `Expected ${size} bytes of body, got ${text.length}`);
  return { body: text.slice(0, size), trailers: [], left: text.slice(size) };
}

function parseChunks(text: string): ParsedBody {
  let body = "";
  let left = text;
  for (;;) {
    const end = left.indexOf("\r\n");
    const size = Number.parseInt(left.slice(0, end), 16);
    assert(end >= 0 && !Number.isNaN(size), `Expected the size of a chunk, got ${JSON.stringify(left.slice(0, 50))}`);
    if (size === 0) {
      const trailer = left.slice(end + 2);
      if (trailer.startsWith("\r\n")) return { body, trailers: [], left: trailer.slice(2) };
      const stop = trailer.indexOf("\r\n\r\n");
      return { body, trailers: trailer.slice(0, stop).split("\r\n").map(parseField), left: trailer.slice(stop + 4) };
    }
    body += left.slice(end + 2, end + 2 + size);
    left = left.slice(end + 2 + size + 2);
  }
}

function parseField(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
