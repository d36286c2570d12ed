import { assert, assertEqual } from "../assert.js";
import { checkFields, checkNoFields, checkRefusal, DEFAULT_FIELDS } from "./response-checks.js";
import type { AdapterCase } from "./server.js";
import { formatRequest, parseResponses, requestOnce, type WireRequest, type WireResponse } from "./wire.js";

const ORIGIN = { Origin: "https://app.example" };
const PREFLIGHT = { ...ORIGIN, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type" };

/** Cases about every kind of response: it has the fields, and scripts of other origins can read them. */
export const responseCases: readonly AdapterCase[] = [
  {
    name: "18 · the fields are on the response to a HEAD",
    cause: "The adapter skips HEAD requests.",
    async run(start) {
      const server = await start();
      checkFields(await server.request("/ok", { method: "HEAD" }), 200, { remaining: 2 });
    },
  },
  fieldsOn("18 · the fields are on a 204", "/empty", 204),
  fieldsOn("18 · the fields are on a 304", "/same", 304),
  {
    name: "18, 20 · the fields are in the head of a streamed response, and not in trailers",
    cause: "The adapter adds the fields after the handler, when the head was already sent.",
    async run(start) {
      const server = await start();
      const response = await server.get("/chunks");
      checkFields(response, 200, { remaining: 2 });
      // When all pieces of a stream are there at once, Bun collects them and sends their length.
      const isFramed = response.field("Transfer-Encoding") === "chunked" || response.field("Content-Length") !== null;
      assert(isFramed, "Expected Transfer-Encoding: chunked or a Content-Length, got neither");
      assert(response.body.length > 0, "Expected the response to /chunks to have a body, got none");
      assertEqual(response.trailers.filter(([name]) => name.startsWith("ratelimit")), [], "the RateLimit fields in trailers");
    },
  },
  {
    name: "18 · the fields are sent before the first event of an open stream",
    cause: "The adapter waits for the end of the response before it adds the fields.",
    async run(start) {
      const server = await start();
      const connection = await server.connect();
      connection.write(formatRequest("/events", { headers: { "X-User": "ann" } }));
      const begun = await connection.until("data: 1");
      assert(/^ratelimit-remaining: 2\r$/im.test(begun), `Expected RateLimit-Remaining: 2 before the first event, got ${begun}`);
      assert(!begun.includes("data: 2"), "Expected the second event after `held()`, got it before");
      server.release();
      const [response] = parseResponses(await connection.until("\r\n0\r\n\r\n"), ["GET"]);
      assert(response !== undefined, "Expected a whole response to /events, got none");
      checkFields(response, 200, { remaining: 2 });
      connection.drop();
    },
  },
  {
    name: "18 · a head that was sent before the limiter ran causes no error, and the request ends",
    cause: "The adapter writes a second head. Check whether the headers were sent (`headersSent` in Node) first.",
    needs: "earlyHead",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } } });
      const allowed = await server.get("/early");
      assertEqual(allowed.status, 200, "the status");
      checkNoFields(allowed);
      checkFields(await server.get("/ok"), 200, { capacity: 2, window: 2, remaining: 0 });
      const refused = await server.get("/early");
      assertEqual(refused.status, 200, "the status that was sent before the limiter ran");
      assertEqual(server.entered, ["/early", "/ok"], "the requests that reached the handler");
      checkRefusal(await server.get("/ok"), { capacity: 2, window: 2, retryAfter: 1 });
    },
  },
  fieldsOn("17 · the fields are on a 404 that the handler sends", "/missing", 404),
  fieldsOn("17 · the fields are on a 500 that the handler sends", "/broken", 500),
  fieldsOn("17 · the fields are on the 500 after a handler throws", "/throws", 500, "errorFields"),
  fieldsOn("17 · the fields are on the 500 after a handler rejects", "/rejects", 500, "errorFields"),
  {
    name: "19 · a RateLimit-Remaining that the handler sets replaces the limiter's, once",
    cause: "The adapter sets its fields after the handler, or appends instead of replacing.",
    needs: "handlerFields",
    async run(start) {
      const server = await start();
      checkHandlerField(await server.get("/own"));
    },
  },
  {
    name: "19 · writeHead with an object: the fields stay, and the handler's own value wins",
    cause: "The adapter adds its fields inside `writeHead`, over the handler's values.",
    needs: "rawHead",
    async run(start) {
      const server = await start();
      checkHandlerField(await server.get("/raw"));
    },
  },
  {
    name: "19 · writeHead with a list: the fields stay, and the handler's own value wins",
    cause: "The adapter does not handle a list of headers, or appends a second field.",
    needs: "rawHead",
    async run(start) {
      const server = await start();
      checkHandlerField(await server.get("/raw-list"));
    },
  },
  {
    name: "43 · a skipped request has no fields and takes no token",
    cause: "The adapter treats the outcome `skip` like `pass`.",
    async run(start) {
      const server = await start({ skip: (request) => request.header("x-skip") === "yes" });
      for (let i = 0; i < 4; i++) {
        const response = await server.request("/ok", { headers: { "X-Skip": "yes" } });
        assertEqual(response.status, 200, "the status");
        checkNoFields(response);
      }
      checkFields(await server.get("/ok"), 200, { remaining: 2 });
      const later = await start({ skip: async (request) => request.header("x-skip") === "yes" });
      checkNoFields(await later.request("/ok", { headers: { "X-Skip": "yes" } }));
      checkFields(await later.get("/ok"), 200, { remaining: 2 });
    },
  },
  {
    name: "37 · scripts of other origins can read the fields, and the names that the CORS middleware exposes",
    cause:
      "The adapter overwrites Access-Control-Expose-Headers. " +
      "Use `answerOnNode` of sluice/node or `applyToResponse` of sluice/web.",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } } });
      const allowed = await server.request("/cors", { headers: ORIGIN });
      checkFields(allowed, 200, { capacity: 1, window: 1, remaining: 0 });
      checkExposed(allowed, ["X-Request-Id", ...DEFAULT_FIELDS]);
      const refused = await server.request("/cors", { headers: ORIGIN });
      checkRefusal(refused, { capacity: 1, window: 1, retryAfter: 1 });
      checkExposed(refused, ["X-Request-Id", ...DEFAULT_FIELDS, "Retry-After"]);
      assertEqual(refused.field("Access-Control-Allow-Origin"), "*", "Access-Control-Allow-Origin on a 429");
    },
  },
  {
    name: "37 · without CORS middleware, the fields are exposed to other origins only",
    cause: "The adapter ignores `expose` of the verdict, or adds it without an Origin header.",
    async run(start) {
      const server = await start();
      checkExposed(await server.request("/ok", { headers: ORIGIN }), DEFAULT_FIELDS);
      checkExposed(await server.request("/missing", { headers: ORIGIN }), DEFAULT_FIELDS);
      assertEqual(
        (await server.get("/ok")).field("Access-Control-Expose-Headers"),
        null,
        "Access-Control-Expose-Headers without an Origin",
      );
    },
  },
  {
    name: "37 · scripts of other origins can read every kind of refusal",
    cause: "The adapter applies `expose` to a 429 only.",
    async run(start) {
      const server = await start({ unidentified: "refuse", cost: () => 9 });
      checkExposed(await server.request("/ok", { headers: ORIGIN }), DEFAULT_FIELDS);
      assertEqual(
        (await server.get("/cors", ORIGIN)).field("Access-Control-Allow-Origin"),
        "*",
        "Access-Control-Allow-Origin on a 401",
      );
    },
  },
  {
    name: "38 · a preflight takes no token and is never refused",
    cause: "The adapter passes a wrong method or wrong headers to the gate, so it does not recognize preflights.",
    async run(start) {
      const server = await start();
      const preflight = async (): Promise<WireResponse> =>
        requestOnce(await server.connect(), "/ok", { method: "OPTIONS", headers: PREFLIGHT });
      for (let i = 0; i < 5; i++) {
        const { status } = await preflight();
        assert(status !== 429, `Expected a preflight to pass, got ${status}`);
      }
      checkFields(await server.get("/ok"), 200, { remaining: 2 });
      for (let i = 0; i < 2; i++) await server.get("/ok");
      checkRefusal(await server.get("/ok"), { retryAfter: 1 });
      const { status, field } = await preflight();
      const got = `${status} with RateLimit ${field("RateLimit")}`;
      assert(status !== 429 && field("RateLimit") === null, `Expected a preflight to pass without fields, got ${got}`);
    },
  },
  {
    name: "38 · a preflight with a key, credentials or a body is a request, and so is the 101st at once",
    cause: "The adapter skips preflights itself. The gate decides which ones cost nothing.",
    async run(start) {
      const server = await start();
      const preflight = async (headers: Record<string, string>, request: WireRequest = {}): Promise<WireResponse> =>
        requestOnce(await server.connect(), "/ok", { method: "OPTIONS", ...request, headers: { ...PREFLIGHT, ...headers } });
      for (let i = 0; i < 3; i++) await preflight({ "X-User": "ann" });
      checkRefusal(await preflight({ "X-User": "ann" }), { retryAfter: 1 });
      await preflight({ Cookie: "session=1" });
      await preflight({ Authorization: "Bearer 1" });
      await preflight({}, { body: "{}" });
      for (let i = 0; i < 100; i++) checkNoFields(await preflight({}));
      // The three requests before took the tokens of the callers without a key.
      checkRefusal(await preflight({}), { retryAfter: 1 });
    },
  },
  {
    name: "38 · an OPTIONS request that is not a preflight is limited",
    cause: "The adapter skips OPTIONS requests itself. The gate decides which ones are preflights.",
    async run(start) {
      const server = await start();
      for (let i = 0; i < 3; i++) await server.request("/ok", { method: "OPTIONS", headers: ORIGIN });
      checkRefusal(await server.get("/ok"), { retryAfter: 1 });
    },
  },
];

function fieldsOn(name: string, path: string, status: number, needs?: AdapterCase["needs"]): AdapterCase {
  return {
    name,
    cause: "The adapter adds the fields after the handler, or the framework's error handler removes them.",
    needs,
    async run(start) {
      const server = await start();
      checkFields(await server.get(path), status, { remaining: 2, reset: 1 });
      checkFields(await server.get(path), status, { remaining: 1, reset: 2 });
    },
  };
}

function checkHandlerField({ status, fields, field }: WireResponse): void {
  assertEqual(status, 200, "the status");
  assertEqual(fields.filter(([name]) => name === "ratelimit-remaining"), [["ratelimit-remaining", "777"]], "RateLimit-Remaining");
  assertEqual([field("RateLimit-Limit"), field("RateLimit")], ["3", '"suite";r=2;t=2'], "RateLimit-Limit and RateLimit");
}

function checkExposed(response: WireResponse, names: readonly string[]): void {
  const exposed = (response.field("Access-Control-Expose-Headers") ?? "").split(",").map((name) => name.trim().toLowerCase());
  assertEqual([...exposed].sort(), names.map((name) => name.toLowerCase()).sort(), "Access-Control-Expose-Headers");
}
