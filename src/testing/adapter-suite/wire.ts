import type { Socket } from "node:net";

/** One response as it came over the wire. Text is latin1: one character for each byte. */
export interface Answer {
  readonly status: number;
  /** Lower-case names, in their order; a repeated field stands as often as it was sent. */
  readonly fields: ReadonlyArray<readonly [name: string, value: string]>;
  /** Without chunk sizes. */
  readonly body: string;
  readonly trailers: ReadonlyArray<readonly [name: string, value: string]>;
  /** The value of a field, repeated ones joined; null when it is absent. */
  field(name: string): string | null;
}

/** What to ask for. */
export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One connection, read and written by hand so that nothing is hidden: order, repeats, trailers, bytes after a HEAD. */
export interface Line {
  write(text: string): void;
  /** What has arrived once it contains `text`. Fails when it does not in time. */
  until(text: string): Promise<string>;
  /** All that has arrived once the server has closed. Fails when it does not in time. */
  rest(): Promise<string>;
  /** Goes away without a word. */
  drop(): void;
}

/** Connects to a server on this machine, which hangs when it keeps silent for `deadlineMs`. */
export async function connect(port: number, deadlineMs: number): Promise<Line> {
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
  // A server may reset a connection once it has answered; what it said before counts.
  socket.on("error", () => {});
  socket.on("close", () => {
    closed = true;
    wake();
  });

  return {
    write: (text) => void socket.write(text, "latin1"),
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
        reject(new Error(`Expected ${what} from the server, ${why} after ${JSON.stringify(arrived.slice(0, 500))}`));
      };
      const timer = setTimeout(() => fail("nothing more came"), deadlineMs);
      wake = () => {
        if (!done()) return closed ? fail("it closed") : undefined;
        clearTimeout(timer);
        resolve();
      };
      wake();
    });
  }
}

/** A request in the form that goes over the wire. */
export function write(path: string, { method = "GET", headers = {}, body }: Ask = {}): string {
  const all = body === undefined ? headers : { "Content-Length": String(body.length), ...headers };
  const lines = Object.entries({ Host: "localhost", ...all }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body ?? ""}`;
}

/** Asks once, on a connection of which it is the only request. */
export async function ask(line: Line, path: string, request: Ask = {}): Promise<Answer> {
  line.write(write(path, { ...request, headers: { Connection: "close", ...request.headers } }));
  const [answer, more] = readAnswers(await line.rest(), [request.method ?? "GET"]);
  if (answer === undefined || more !== undefined) throw new Error(`Expected one response to ${path}, got ${answer ? "more" : "none"}`);
  return answer;
}

/** Reads responses one after another; `methods` are those of the requests, since a HEAD has no body to read. */
export function readAnswers(text: string, methods: readonly string[]): Answer[] {
  const answers: Answer[] = [];
  let left = text;
  while (left !== "") {
    const end = left.indexOf("\r\n\r\n");
    const [statusLine = "", ...lines] = left.slice(0, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]);
    if (end < 0 || Number.isNaN(status)) throw new Error(`Expected the head of a response, got ${JSON.stringify(left.slice(0, 200))}`);
    left = left.slice(end + 4);
    if (status < 200) continue;

    const fields = lines.map(readField);
    const field = (name: string): string | null => {
      const values = fields.filter(([known]) => known === name.toLowerCase()).map(([, value]) => value);
      return values.length === 0 ? null : values.join(", ");
    };
    const bodiless = methods[answers.length] === "HEAD" || status === 204 || status === 304;
    const read = bodiless ? { body: "", trailers: [], left } : readBody(left, field);
    left = read.left;
    answers.push({ status, fields, body: read.body, trailers: read.trailers, field });
  }
  return answers;
}

type Body = Pick<Answer, "body" | "trailers"> & { left: string };

function readBody(text: string, field: Answer["field"]): Body {
  if (field("transfer-encoding") === "chunked") return readChunks(text);
  const length = field("content-length");
  const size = length === null ? text.length : Number(length);
  if (text.length < size) throw new Error(`Expected ${size} bytes of body, got ${text.length}`);
  return { body: text.slice(0, size), trailers: [], left: text.slice(size) };
}

function readChunks(text: string): Body {
  let body = "";
  let left = text;
  for (;;) {
    const end = left.indexOf("\r\n");
    const size = Number.parseInt(left.slice(0, end), 16);
    if (end < 0 || Number.isNaN(size)) throw new Error(`Expected a chunk, got ${JSON.stringify(left.slice(0, 50))}`);
    if (size === 0) {
      const trailer = left.slice(end + 2);
      if (trailer.startsWith("\r\n")) return { body, trailers: [], left: trailer.slice(2) };
      const stop = trailer.indexOf("\r\n\r\n");
      return { body, trailers: trailer.slice(0, stop).split("\r\n").map(readField), left: trailer.slice(stop + 4) };
    }
    body += left.slice(end + 2, end + 2 + size);
    left = left.slice(end + 2 + size + 2);
  }
}

function readField(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
