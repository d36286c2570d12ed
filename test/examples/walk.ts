// The example server, walked from outside over HTTP: what every framework and every store must do alike.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { device, phone, user, type ExampleServer, type Reply } from "./example-server.js";

/** A server to walk: its greeting's title, how it starts (with full buckets), and the one that was started. */
export interface Walked {
  readonly title: string;
  readonly start: () => Promise<ExampleServer>;
  server?: ExampleServer;
}

const GREETING_LINES = 19;
const THOUGHT = "A rate limiter for JavaScript servers. A refused caller learns exactly how long to wait.";
const open = ({ url }: ExampleServer): Socket => connect(Number(url.port), url.hostname);
const remaining = ({ headers }: Reply): string | undefined => headers["ratelimit-remaining"] as string | undefined;
const fieldsOfLimits = ({ headers }: Reply): string[] => Object.keys(headers).filter((name) => /^ratelimit|^retry-after$/.test(name));

/** Starts the servers, walks all of them at once, and stops them. */
export function walk(all: readonly Walked[]): void {
  const started = new Set<ExampleServer>();
  afterAll(() => {
    for (const server of started) server.kill();
  });
  const start = async (walked: Walked): Promise<void> => void started.add((walked.server = await walked.start()));

  // Each test has callers of its own, so that none of them changes what another sees.
  describe.concurrent.each(all)("$title", (walked) => {
    beforeAll(() => start(walked));
    // A test that is tried again finds full buckets.
    beforeEach(({ task }) => ((task.result?.retryCount ?? 0) > 0 ? start(walked) : undefined));

    test("greets with its URL, the one thought, and six commands to try", () => {
      const { lines, url } = serverOf(walked);
      const greeting = lines.slice(0, GREETING_LINES).join("\n");
      expect(greeting).toContain(`(${walked.title}) on ${url.origin}`);
      expect(lines.slice(0, GREETING_LINES)).toContain(THOUGHT);
      expect(greeting.match(/^ {2}curl /gm)).toHaveLength(6);
    });

    test("an allowed request says what is left", async () => {
      const reply = await serverOf(walked).ask("GET /inbox?page=1", device("first"));
      expect(reply.status).toBe(200);
      expect(reply.headers).toMatchObject({
        "ratelimit-limit": "10",
        "ratelimit-remaining": "9",
        "ratelimit-reset": "1",
        "ratelimit-policy": '"interactive";q=10;w=5',
        ratelimit: '"interactive";r=9;t=5',
      });
      expect(reply.headers).not.toHaveProperty("retry-after");
      expect(reply.headers["content-type"]).toMatch(/^application\/json/);
      expect(reply.json).toHaveProperty("messages");
    });

    test("a burst ends in 429; after its Retry-After there is room again", async () => {
      const server = serverOf(walked);
      const caller = device("bursting");
      let last: Reply | undefined;
      let reply = await server.ask("GET /inbox", caller);
      for (let i = 0; i < 1_000 && reply.status === 200; i++) {
        last = reply;
        reply = await server.ask("GET /inbox", caller);
      }
      // Tokens come back meanwhile, so the burst may be longer than 10, but it never ends before the last token.
      expect(remaining(last as Reply)).toBe("0");
      expect(reply.status).toBe(429);
      expect(reply.headers["retry-after"]).toBe("1");

      await sleep(Number(reply.headers["retry-after"]) * 1_000);
      expect((await server.ask("GET /inbox", caller)).status).toBe(200);
    });

    test("a refusal is the whole contract", async () => {
      const server = serverOf(walked);
      const caller = device("refused");
      for (const left of ["2", "1", "0"]) {
        const reply = await server.ask("POST /exports", caller);
        expect([reply.status, remaining(reply)]).toEqual([202, left]);
      }
      const { status, headers, json, text } = await server.ask("POST /exports", { ...caller, Accept: "text/html", "If-None-Match": "*" });
      const wait = headers["retry-after"] as string;
      expect(status).toBe(429);
      expect(wait).toMatch(/^[1-9]\d*$/);
      expect(Number(wait)).toBeLessThanOrEqual(10);
      expect(headers).toMatchObject({
        "ratelimit-limit": "3",
        "ratelimit-remaining": "0",
        "ratelimit-reset": wait,
        "ratelimit-policy": '"bulk";q=3;w=30',
        ratelimit: `"bulk";r=0;t=${wait}`,
        "cache-control": "no-store",
        "content-length": String(Buffer.byteLength(text)),
      });
      expect(headers["content-type"]).toMatch(/^application\/problem\+json/);
      expect(headers).not.toHaveProperty("etag");
      expect(json).toEqual({
        type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
        title: "Too Many Requests",
        status: 429,
        detail: json["message"],
        code: "rate_limited",
        message: `Too many requests. Try again in ${wait} seconds.`,
        retry_after: Number(wait),
        "violated-policies": ["bulk"],
      });
    });

    test("HEAD is GET without a body, refused or not", async () => {
      const server = serverOf(walked);
      const caller = device("head");
      let reply = await server.ask("HEAD /inbox", caller);
      expect([reply.status, remaining(reply), reply.text]).toEqual([200, "9", ""]);
      for (let i = 0; i < 1_000 && reply.status === 200; i++) reply = await server.ask("HEAD /inbox", caller);
      expect([reply.status, reply.headers["retry-after"], reply.text]).toEqual([429, "1", ""]);
    });

    test("policies are separate budgets, and so are users and devices", async () => {
      const server = serverOf(walked);
      const left = async (what: string, caller: Record<string, string>, body = "") => remaining(await server.ask(what, caller, body));

      for (const expected of ["2", "1", "0"]) expect(await left("POST /exports", user("alice"))).toBe(expected);
      expect((await server.ask("POST /exports", user("alice"))).json).toMatchObject({ status: 429, "violated-policies": ["bulk"] });

      expect((await server.ask("POST /login/code", user("alice"), phone("+15550101"))).status).toBe(202);
      expect(await left("POST /exports", user("bob"))).toBe("2");
      expect(await left("POST /exports", device("alice"))).toBe("2");
      // Who has both is the user, on whichever device.
      expect(await left("POST /exports", { ...user("bob"), ...device("alice") })).toBe("1");
    });

    test("a phone number gets three codes, from all devices and users together, in any spelling", async () => {
      const server = serverOf(walked);
      const spellings = ["+49 151 5550102", "+49-151-555 0102", " +49 (151) 5550102", "+491515550102"];
      const statuses: number[] = [];
      for (let i = 0; i < 8; i++) {
        const caller = i === 5 ? user("bob") : device(`made-up-${i}`);
        statuses.push((await server.ask("POST /login/code", caller, phone(spellings[i % 4] as string))).status);
      }
      expect(statuses).toEqual([202, 202, 202, 429, 429, 429, 429, 429]);
      expect((await server.ask("POST /login/code", device("made-up-0"), phone("+491515550103"))).status).toBe(202);
    });

    test("who asks for a code cannot tell how many others asked for, and a refusal says when to ask again", async () => {
      const server = serverOf(walked);
      const answerFor = async (number: string) => {
        const { status, headers: { date: _, "retry-after": wait, ...headers }, text } = await server.ask("POST /login/code", device("curious"), phone(number));
        return { status, headers, text, wait };
      };
      await answerFor("+491515550109");
      const used = await answerFor("+491515550109");
      expect(used).toEqual(await answerFor("+491515550110"));
      await answerFor("+491515550109");
      const refused = await answerFor("+491515550109");
      expect([refused.status, Object.keys(refused.headers).filter((name) => name.startsWith("ratelimit"))]).toEqual([429, []]);
      expect(Number(refused.wait)).toBeGreaterThan(1_000);
    });

    test("a request for a code without a number sends none, and counts for its caller", async () => {
      const server = serverOf(walked);
      const numberless = ["", "{", "null", phone("0151 5550104"), JSON.stringify({ phone: ["+491515550105"] }), phone("+491515550105") + " ".repeat(100_000)];
      for (const [i, body] of numberless.entries()) {
        for (let n = 0; n < 3; n++) {
          const reply = await server.ask("POST /login/code", device(`numberless-${i}`), body);
          expect([reply.status, reply.json]).toEqual([400, { code: "invalid_phone", message: expect.stringContaining('{"phone"') }]);
        }
        expect((await server.ask("POST /login/code", device(`numberless-${i}`), body)).status).toBe(429);
      }
      const codes = await Promise.all([1, 2, 3, 4].map(() => server.ask("POST /login/code", device("numberless-0"), phone("+491515550105"))));
      expect(codes.map(({ status }) => status).sort()).toEqual([202, 202, 202, 429]);
    });

    test("who is nobody known gets 401 and costs nobody anything", async () => {
      const server = serverOf(walked);
      const owner = device("impersonated");
      const strangers = [{}, user("mallory"), { ...user("mallory"), ...owner }, { Authorization: "Basic YWxpY2U6" }, device("")];
      for (const stranger of strangers) {
        for (const what of ["GET /inbox", "POST /exports", "POST /reports", "POST /login/code"]) {
          const reply = await server.ask(what, stranger, what === "POST /login/code" ? phone("+15550106") : "");
          expect(reply.status).toBe(401);
          expect(reply.headers["content-type"]).toMatch(/^application\/problem\+json/);
          expect(reply.json).toMatchObject({ status: 401, code: "unidentified", message: expect.stringContaining("X-Device-Id") });
          expect(reply.headers["www-authenticate"]).toBe("Bearer");
          expect(fieldsOfLimits(reply)).toEqual([]);
        }
      }
      expect(remaining(await server.ask("POST /exports", owner))).toBe("2");
      const codes = await Promise.all([1, 2, 3, 4].map(() => server.ask("POST /login/code", owner, phone("+15550106"))));
      expect(codes.map(({ status }) => status).sort()).toEqual([202, 202, 202, 429]);
    });

    test("/health is open to all and never limited", async () => {
      const server = serverOf(walked);
      for (let i = 0; i < 20; i++) {
        const reply = await server.ask("GET /health");
        expect([reply.status, reply.json, fieldsOfLimits(reply)]).toEqual([200, { status: "ok" }, []]);
      }
    });

    test.each(["POST /", "GET /nothing", "POST /health", "PUT /inbox", "GET /exports", "GET /reports", "GET /login/code", "GET /inbox/7", "GET /inbox/", "GET /INBOX", "GET /%ff", "OPTIONS /inbox"])(
      "%s is 404, without a check of the caller",
      async (what) => {
        const reply = await serverOf(walked).ask(what);
        expect(reply.status).toBe(404);
        expect(reply.json).toEqual({ code: "not_found", message: expect.stringMatching(/./) });
        expect(fieldsOfLimits(reply)).toEqual([]);
      },
    );

    test.each([
      ["GET //", 404], ["GET //localhost", 404], ["GET //[", 404], ["GET ///", 404], ["OPTIONS *", 404], ["GET http://[/inbox", 401], ["GET http://localhost/health", 200],
      ["GET http://localhost", 200], ["GET /%", 404], ["GET garbage", 400], ["GET http://", 404],
    ])("%s gets an answer, and the server goes on", async (line, status) => {
      const server = serverOf(walked);
      if (status !== 400) server.asked++; // Node itself refuses what is no target
      expect(await server.askRaw(line)).toBe(status);
      expect((await server.ask("GET /health")).status).toBe(200);
    });

    test("a body of any type, read by nobody, is in nobody's way", async () => {
      const server = serverOf(walked);
      const types = ["application/json", "application/x-www-form-urlencoded", "image/png"];
      for (const type of types) {
        const reply = await server.ask("POST /exports", { ...device("bodies"), "Content-Type": type }, "a=b");
        expect(reply.status).toBe(202);
      }
      expect((await server.ask("POST /exports", device("bodies"), "x".repeat(1_000_000))).status).toBe(429);
      expect((await server.ask("GET /health")).status).toBe(200);
    });
  });

  describe("in the end", () => {
    test.concurrent.for(all)("$title finishes the request in flight, takes no other, and ends with 0", async (walked, { task }) => {
      if ((task.result?.retryCount ?? 0) > 0) await start(walked);
      const server = serverOf(walked);
      await askForEachLine(server);
      const socket = open(server).setEncoding("utf8");
      let received = "";
      socket.on("data", (chunk: string) => (received += chunk));
      await once(socket, "connect");
      // One packet: when the first request is answered, the server has begun to read the second.
      socket.write("GET /health HTTP/1.1\r\nHost: a\r\n\r\nGET /inbox HTTP/1.1\r\nHost: a\r\nX-Dev");
      await once(socket, "data");
      server.asked += 2;

      server.signal("SIGTERM");
      await server.line((line) => line.includes('"stopping"'));
      const [error] = (await once(open(server), "error")) as [NodeJS.ErrnoException];
      expect(error.code).toBe("ECONNREFUSED");

      socket.write("ice-Id: last\r\n\r\n");
      await once(socket, "close");
      expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
      expect(received).toContain('"messages"');
      expect(received).toMatch(/connection: close/i);
      expect(await server.ended).toBe(0);
      expect(server.errors).toBe("");

      const log = server.lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Record<string, unknown>);
      expectLog(log.filter((line) => !("event" in line)), server.asked);
      expect(log.filter((line) => "event" in line)).toEqual([{ time: expect.any(String), event: "stopping", signal: "SIGTERM" }]);
      expect(server.lines.slice(GREETING_LINES).join("\n")).not.toMatch(/alice|bob|mallory|Bearer|impersonated|bursting|5550|127\.0\.0\.1/);
    });
  });
}

const serverOf = ({ server }: Walked): ExampleServer => server as ExampleServer;

/** Asks for what `expectLog` looks for, also if the tests above did not ask this server. */
async function askForEachLine(server: ExampleServer): Promise<void> {
  await server.ask("GET /inbox", device("bursting in the end"));
  for (let i = 0; i < 4; i++) await server.ask("POST /login/code", user("bob"), phone("+15550199"));
  await server.ask("POST /login/code", user("bob"));
  for (const what of ["GET /health", "GET /inbox", "PUT /inbox"]) await server.ask(what);
}

/** One line for each request, of one shape, that says how it went. */
function expectLog(log: Record<string, unknown>[], asked: number): void {
  expect(log).toHaveLength(asked);
  for (const line of log) {
    expect(line).toEqual({
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      method: expect.stringMatching(/^[A-Z]+$/),
      path: expect.stringMatching(/^(?:\/|\*|http:)[^?]*$/),
      status: expect.any(Number),
      ms: expect.any(Number),
      policy: expect.toSatisfy((policy) => [null, "interactive", "bulk", "login-code", "reports"].includes(policy as string)),
      remaining: line["policy"] === null ? null : expect.any(Number),
      retryAfterMs: line["policy"] === null ? null : expect.any(Number),
    });
  }
  const like = (facts: Record<string, unknown>): object => expect.objectContaining(facts);
  expect(log).toContainEqual(like({ method: "GET", path: "/inbox", status: 200, policy: "interactive", remaining: 9, retryAfterMs: 0 }));
  expect(log).toContainEqual(like({ method: "POST", path: "/login/code", status: 429, policy: "login-code", remaining: 0 }));
  expect(log).toContainEqual(like({ method: "POST", path: "/login/code", status: 400, policy: "login-code" }));
  expect(log).toContainEqual(like({ method: "GET", path: "/health", status: 200, policy: null }));
  expect(log).toContainEqual(like({ method: "GET", path: "/inbox", status: 401, policy: null }));
  expect(log).toContainEqual(like({ method: "PUT", path: "/inbox", status: 404, policy: null }));
  for (const line of log.filter(({ status }) => status === 429)) expect(line["retryAfterMs"]).toBeGreaterThan(0);
}
