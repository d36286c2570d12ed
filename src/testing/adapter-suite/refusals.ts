import { draft7, vendorHeaders } from "../../http/headers/other-styles.js";
import { assert, assertEqual } from "../assert.js";
import { failingStores } from "./outages.js";
import { checkFields, checkRefusal, DEFAULT_FIELDS } from "./response-checks.js";
import type { AdapterCase } from "./server.js";
import type { WireResponse } from "./wire.js";

/** Cases about the fields: they count down on every response, and a 429 has all of its fields. */
export const refusalCases: readonly AdapterCase[] = [
  {
    name: "15, 16, 21, 23, 28 · the fields count down to 0, then the next request gets a 429",
    cause: "The adapter sends the fields on some responses only, or sends Retry-After on allowed ones.",
    async run(start) {
      const server = await start();
      checkFields(await server.get("/ok"), 200, { remaining: 2, reset: 1 });
      checkFields(await server.get("/ok"), 200, { remaining: 1, reset: 2 });
      checkFields(await server.get("/ok"), 200, { remaining: 0, reset: 1 });
      checkRefusal(await server.get("/ok"), { retryAfter: 1 });
    },
  },
  {
    name: "1 · a refused request does not reach the handler",
    cause: "The adapter calls the handler although the gate refused.",
    async run(start) {
      const server = await start();
      for (let i = 0; i < 5; i++) await server.get("/ok");
      assertEqual(server.entered, ["/ok", "/ok", "/ok"], "the requests that reached the handler");
    },
  },
  {
    name: "2, 3, 9, 10, 11, 27 · a 429 has one Retry-After, rounded up, and the fields and the body state the same wait",
    cause: "The adapter computes or rounds the wait itself. Send the gate's fields and body unchanged.",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 3, refill: { tokens: 3, everyMs: 70_000 } } });
      for (let i = 0; i < 3; i++) await server.get("/ok");
      server.clock.advance(22_333); // 1000 1/3 ms until the next whole token
      checkRefusal(await server.get("/ok"), { retryAfter: 2, window: 70 });
    },
  },
  {
    name: "4, 6 · a request succeeds after Retry-After seconds, and not 1 second earlier",
    cause: "The adapter changes Retry-After, or the server ignores the clock of its store.",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 4_000 } } });
      const bucket = { capacity: 1, window: 4 };
      await server.get("/ok");
      checkRefusal(await server.get("/ok"), { ...bucket, retryAfter: 4 });
      server.clock.advance(3_000);
      checkRefusal(await server.get("/ok"), { ...bucket, retryAfter: 1 });
      server.clock.advance(1_000);
      checkFields(await server.get("/ok"), 200, { ...bucket, remaining: 0, reset: 4 });
    },
  },
  {
    name: "7 · refused requests do not extend the wait",
    cause: "The adapter calls the gate more than once per request.",
    async run(start) {
      const server = await start();
      for (let i = 0; i < 9; i++) await server.get("/ok");
      checkRefusal(await server.get("/ok"), { retryAfter: 1 });
      server.clock.advance(3_000);
      checkFields(await server.get("/ok"), 200, { remaining: 2, reset: 1 });
    },
  },
  {
    name: "12 · a 429 to a HEAD has the fields of a GET and no body",
    cause: "The adapter skips HEAD requests, or writes a body for them.",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 3_000 } } });
      await server.get("/ok");
      const get = await server.get("/ok");
      const connection = await server.connect();
      connection.write("HEAD /ok HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nConnection: close\r\n\r\n");
      const text = await connection.rest();
      const [head = "", body] = text.split("\r\n\r\n");
      assert(head.startsWith("HTTP/1.1 429 "), `Expected the status line of a 429, got ${head.split("\r\n")[0]}`);
      assertEqual(body, "", "the bytes after the head");
      const names = head.split("\r\n").slice(1).map((field) => field.toLowerCase());
      for (const [name, value] of get.fields) {
        const field = `${name}: ${value}`.toLowerCase();
        // A response to HEAD may omit how its body would have been sent.
        if (name !== "date" && name !== "transfer-encoding") {
          assert(names.includes(field), `Expected the HEAD to carry "${field}", got ${names.join(" | ")}`);
        }
      }
    },
  },
  {
    name: "every kind of refusal has the Content-Length of its body, also for HEAD",
    cause: "The adapter sends the body in chunks, or leaves the length to the framework.",
    needs: "contentLength",
    async run(start) {
      const server = await start({ unidentified: "refuse", cost: (request) => (request.header("x-user") === "ann" ? 1 : 9) });
      for (let i = 0; i < 3; i++) await server.get("/ok");
      const unavailable = await start({ store: failingStores(() => 0)[0], onStoreError: "unavailable" });
      for (const [on, status, user] of [
        [server, 429, "ann"], [server, 400, "bob"], [server, 401, ""], [unavailable, 503, "ann"],
      ] as const) {
        const response = await on.get("/ok", { "X-User": user });
        assertEqual(
          [response.status, response.field("Content-Length")], [status, String(response.body.length)],
          "the status and Content-Length",
        );
        const head = await on.request("/ok", { method: "HEAD", headers: { "X-User": user } });
        assertEqual(
          [head.status, head.field("Content-Length")], [status, String(response.body.length)],
          "the status and Content-Length for a HEAD",
        );
      }
    },
  },
  {
    name: "13 · a 429 is the same JSON for every Accept",
    cause: "The framework negotiates the content type. Send the gate's body without the framework's formatter.",
    async run(start) {
      const server = await start();
      for (let i = 0; i < 3; i++) await server.get("/ok");
      for (const accept of ["text/html", "application/xml", "*/*;q=0", "nonsense"]) {
        checkRefusal(await server.request("/ok", { headers: { Accept: accept } }), { retryAfter: 1 });
      }
    },
  },
  {
    name: "14 · a 429 is never cached: Cache-Control is replaced, and no precondition turns it into a 304",
    cause: "The adapter keeps the earlier Cache-Control, or the framework computes ETag and freshness for refusals.",
    async run(start) {
      const server = await start();
      assertEqual(
        (await server.get("/ok")).field("Cache-Control"), "public, max-age=60",
        "Cache-Control as the server sets it before the limiter",
      );
      for (let i = 0; i < 2; i++) await server.get("/ok");
      for (const headers of [{ "If-None-Match": "*" }, { "If-Modified-Since": "Fri, 31 Dec 2100 23:59:59 GMT" }]) {
        const response = await server.request("/ok", { headers });
        checkRefusal(response, { retryAfter: 1 });
        for (const name of ["ETag", "Last-Modified", "Expires"]) assertEqual(response.field(name), null, name);
      }
    },
  },
  {
    name: "22 · the response has the header styles of the `headers` option, and no others",
    cause: "The adapter drops the `headers` option, or sends other fields.",
    async run(start) {
      const server = await start({ headers: [draft7(), vendorHeaders({ remaining: "X-Left" })] });
      const { fields, field } = await server.get("/ok");
      const limits = fields.filter(([name]) => name.startsWith("ratelimit")).map(([name]) => name);
      assertEqual([...limits].sort(), ["ratelimit", "ratelimit-policy"], "the RateLimit fields");
      assertEqual(field("RateLimit"), "limit=3, remaining=2, reset=1", "RateLimit");
      assertEqual(field("X-Left"), "2", "X-Left");
      const bare = await start({ headers: [] });
      for (let i = 0; i < 3; i++) assertEqual((await bare.get("/ok")).field("RateLimit-Limit"), null, "RateLimit-Limit");
      assertEqual((await bare.get("/ok")).field("Retry-After"), "1", "Retry-After with `headers: []`");
    },
  },
  {
    name: "28 · a full bucket resets in 0 seconds",
    cause: "The adapter replaces a reset of 0 with another number.",
    async run(start) {
      const server = await start({ cost: 0 });
      const response = await server.get("/ok");
      checkFields(response, 200, { remaining: 3, reset: 0 });
      assertEqual(response.field("RateLimit"), '"suite";r=3', "RateLimit");
    },
  },
  {
    name: "the lists of draft 11 of two limiters add up, and the other fields are those of the limiter that binds",
    cause: "The adapter appends fields instead of setting them, or drops fields that are set already.",
    async run(start) {
      const told = ({ field }: WireResponse): readonly unknown[] => DEFAULT_FIELDS.map((name) => field(name));
      const server = await start({ policy: { name: "suite", capacity: 9, refill: { tokens: 1, everyMs: 1_000 } } });
      const policies = '"suite";q=9;w=9, "bulk";q=2;w=20';
      assertEqual(
        told(await server.get("/both")), ["2", "1", "10", policies, '"suite";r=8;t=8, "bulk";r=1;t=10'],
        "the fields of an allowed request",
      );
      await server.get("/both");
      const refused = await server.get("/both");
      assertEqual([refused.status, refused.field("Retry-After")], [429, "10"], "the status and Retry-After");
      assertEqual(
        told(refused), ["2", "0", "10", policies, '"suite";r=6, "bulk";r=0;t=10'],
        "the fields of a refusal by the second limiter",
      );
      const tight = await start({ policy: { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } } });
      assertEqual(
        told(await tight.get("/both")),
        ["1", "0", "1", '"suite";q=1;w=1, "bulk";q=2;w=20', '"suite";r=0;t=1, "bulk";r=1;t=10'],
        "the fields when the first limiter binds",
      );
      assertEqual(
        told(await tight.get("/both")), ["1", "0", "1", '"suite";q=1;w=1', '"suite";r=0;t=1'],
        "the fields of a refusal by the first limiter",
      );
    },
  },
];
