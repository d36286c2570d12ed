// The example server as its users start it, in a process of its own.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { bundled } from "../helpers/bundled.js";

/** What came back, with the names of fields in lower case. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body, parsed. */
  readonly json: Record<string, unknown>;
}

/** Who asks: a user, a device, or whatever fields there are. */
export const user = (name: string): Record<string, string> => ({ Authorization: `Bearer ${name}` });
export const device = (id: string): Record<string, string> => ({ "X-Device-Id": id });

/** What it runs on. */
export const FRAMEWORKS = ["node", "express", "fastify", "hono"];

/** The body of `POST /login/code`. */
export const phone = (number: string): string => JSON.stringify({ phone: number });

export class ExampleServer {
  /** Every line of standard output so far. */
  readonly lines: string[] = [];
  /** How many requests `ask` has made. */
  asked = 0;
  /** Resolves to the exit code once the process is gone and all its output is read. */
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  #errors = "";
  #url = "";

  private constructor(program: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    // Without npm and the shell in between, so that signals reach the server itself.
    this.#child = spawn(process.execPath, [program, ...args], {
      env: { ...inherited(), PORT: "0", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stderr?.on("data", (chunk) => (this.#errors += chunk));
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on("line", (line) => this.lines.push(line));
    this.ended = once(this.#child, "close").then(([code]) => code as number | null);
  }

  /** Starts it and resolves when it listens. Rejects with its complaints when it ends instead. */
  static async start(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<ExampleServer> {
    const server = new ExampleServer(await bundled("examples/server/main.ts"), args, env);
    const greeting = await server.line((line) => line.includes("http://"));
    server.#url = /http:\/\/\S+/.exec(greeting)?.[0] ?? "";
    return server;
  }

  /** Runs it with settings that keep it from starting. */
  static async fail(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<{ code: number | null; errors: string }> {
    const server = new ExampleServer(await bundled("examples/server/main.ts"), args, env);
    try {
      const code = await server.ended;
      return { code, errors: server.errors };
    } finally {
      server.kill();
    }
  }

  get url(): URL {
    return new URL(this.#url);
  }

  /** All of standard error so far. */
  get errors(): string {
    return this.#errors;
  }

  /** Resolves to the first line that fits, past or to come. */
  async line(fits: (line: string) => boolean): Promise<string> {
    const over = this.ended.then((code) => {
      throw new Error(`the server ended with ${code}: ${this.#errors}`);
    });
    over.catch(() => {}); // it ends in every test, mostly after its lines
    for (;;) {
      const found = this.lines.find(fits);
      if (found !== undefined) return found;
      await Promise.race([once(this.#child.stdout as NodeJS.ReadableStream, "data"), over]);
      await new Promise(setImmediate); // the reader of lines has its turn
    }
  }

  /** Asks `"GET /inbox"` and the like. */
  ask(what: string, headers: Record<string, string> = {}, body = ""): Promise<Reply> {
    const [method, path] = what.split(" ") as [string, string];
    this.asked++;
    return new Promise((resolve, reject) => {
      const request = httpRequest(new URL(path, this.#url), { method, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("error", reject).on("end", () => {
          const { statusCode: status = 0, headers: fields } = response;
          resolve({ status, headers: fields, text, json: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) });
        });
      });
      request.on("error", reject).end(body);
    });
  }

  /** Sends a request line as it is, and resolves to the status. */
  async askRaw(line: string, fields = ""): Promise<number> {
    const socket = connect(Number(this.url.port), this.url.hostname).setEncoding("utf8");
    let received = "";
    socket.on("data", (chunk: string) => (received += chunk));
    socket.write(`${line} HTTP/1.1\r\nHost: ${this.url.host}\r\n${fields}Connection: close\r\n\r\n`);
    await once(socket, "close");
    return Number(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1]);
  }

  /** Closes the reader of its standard output. */
  closeOutput(): void {
    this.#child.stdout?.destroy();
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends the process at once, if it still runs. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

// What the person who runs the tests has set for themselves is not for these servers.
function inherited(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(SLUICE_.*|HOST|PORT|NODE_OPTIONS)$/.test(name)));
}
