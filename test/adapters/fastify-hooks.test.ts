import { once } from "node:events";
import { connect } from "node:net";
import { fastify, type FastifyInstance, type FastifyRequest } from "fastify";
import { fastify as fastify4 } from "fastify4";
import { combine, createLimiter, createWaiter } from "sluice";
import { rateLimit, type FastifyRateLimitOptions } from "sluice/fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { oneToken } from "./setup.js";
import { expectWarnings } from "../setup/warnings.js";

const versions = [
  { name: "Fastify 4", framework: fastify4 as unknown as typeof fastify },
  { name: "Fastify 5", framework: fastify },
];
const hooks: ReadonlyArray<NonNullable<FastifyRateLimitOptions["hook"]>> = ["onRequest", "preValidation", "preHandler"];

type Login = FastifyRequest<{ Body: { account: string } }>;
const accountOf = (request: FastifyRequest) => (request as Login).body?.account;
const two = { name: "two", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } };

describe.each(versions)("$name", ({ framework }) => {
  const options = () => ({ ...oneToken(), key: () => "ann" }) satisfies FastifyRateLimitOptions;

  function make(): FastifyInstance {
    const app = framework() as unknown as FastifyInstance;
    onTestFinished(() => void app.close());
    return app;
  }

  /** The status and what remains. */
  async function ask(app: FastifyInstance, url: string, payload?: object): Promise<[number, unknown]> {
    const { statusCode, headers } = await app.inject(payload === undefined ? { url } : { method: "POST", url, payload });
    return [statusCode, headers["ratelimit-remaining"] ?? null];
  }

  test.each(hooks)("a refusal in %s is the whole answer, and no handler runs", async (hook) => {
    const app = make();
    const ran: string[] = [];
    await app.register(rateLimit, { ...options(), hook });
    app.post("/", { preHandler: (_request, _reply, next) => (ran.push("preHandler"), next()) }, async () => (ran.push("handler"), "ok"));
    expect(await ask(app, "/", {})).toEqual([200, "0"]);
    const { statusCode, headers, body } = await app.inject({ method: "POST", url: "/", payload: {} });
    expect([statusCode, headers["retry-after"], headers["ratelimit-remaining"], headers["cache-control"]]).toEqual([429, "1", "0", "no-store"]);
    expect(headers["content-type"]).toMatch(/^application\/problem\+json/);
    expect(headers["content-length"]).toBe(String(body.length));
    expect(JSON.parse(body)).toMatchObject({ code: "rate_limited", retry_after: 1, "violated-policies": ["one"] });
    expect(ran).toEqual(hook === "preHandler" ? ["preHandler", "handler", "preHandler"] : ["preHandler", "handler"]);
  });

  test.each([["onRequest", ["limit", "preParsing", "preValidation", "preHandler"]], ["preValidation", ["preParsing", "preValidation", "limit", "preHandler"]], ["preHandler", ["preParsing", "preValidation", "preHandler", "limit"]]] as const)(
    "%s is where it runs, once: a later hook also runs after what is registered after it", async (hook, order) => {
      const app = make();
      const ran: string[] = [];
      await app.register(rateLimit, { ...options(), hook, key: () => (ran.push("limit"), "ann") });
      app.addHook("preParsing", (_request, _reply, payload, next) => (ran.push("preParsing"), next(null, payload)));
      app.addHook("preValidation", (_request, _reply, next) => (ran.push("preValidation"), next()));
      app.addHook("preHandler", (_request, _reply, next) => (ran.push("preHandler"), next()));
      app.get("/", async () => "ok");
      expect(await ask(app, "/")).toEqual([200, "0"]);
      expect(ran).toEqual(order);
    },
  );

  test.each(["preValidation", "preHandler"] as const)("in %s, the key is in the body", async (hook) => {
    const app = make();
    await app.register(rateLimit, { ...options(), hook, key: (request) => ["account", accountOf(request)] });
    app.post("/login", async () => "ok");
    expect(await ask(app, "/login", { account: "ann" })).toEqual([200, "0"]);
    expect(await ask(app, "/login", { account: "ann" })).toEqual([429, "0"]);
    expect(await ask(app, "/login", { account: "bob" })).toEqual([200, "0"]);
  });

  test.each(["preValidation", "preHandler"] as const)("the key of %s sees what a later hook and the route's own found out", async (hook) => {
    const app = make();
    const users: unknown[] = [];
    const saw = (request: FastifyRequest): string => (request as unknown as { user: string }).user;
    await app.register(rateLimit, { ...options(), hook, key: (request) => (users.push(saw(request)), ["user", saw(request)]) });
    app.addHook(hook as "preHandler", async (request) => void Object.assign(request, { user: (request.query as { user: string }).user }));
    const upper = async (request: FastifyRequest) => void Object.assign(request, { user: saw(request).toUpperCase() });
    app.get("/", { [hook]: upper }, async () => "ok");
    app.register(async (inner) => void inner.get("/inner", { [hook]: [upper, upper] }, async () => "ok"));
    const statuses: number[] = [];
    for (const url of ["/?user=a", "/?user=a", "/?user=b", "/inner?user=a", "/inner?user=c"]) statuses.push((await app.inject(url)).statusCode);
    expect(statuses).toEqual([200, 429, 200, 429, 200]);
    expect(users).toEqual(["A", "A", "B", "A", "C"]);
    // HEAD routes, which Fastify makes of those for GET, are limited too.
    expect((await app.inject({ method: "HEAD", url: "/?user=b" })).statusCode).toBe(429);
  });

  test("a route from before the plugin, and one that is not found, are limited in a later hook too", async () => {
    const app = make();
    const config = {};
    app.get("/before", { config }, async () => "ok");
    await app.register(rateLimit, { ...options(), hook: "preHandler" });
    app.get("/after", { config }, async () => "ok");
    expect([await ask(app, "/after"), await ask(app, "/before"), await ask(app, "/none")].map(([status]) => status)).toEqual([200, 429, 429]);
  });

  test("two plugins in later hooks charge a route once each, whatever its own hook", async () => {
    const app = make();
    const two = { name: "inner", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } };
    await app.register(rateLimit, { ...options(), hook: "preValidation" });
    await app.register(async (inner) => {
      inner.get("/early", async () => "ok");
      await inner.register(rateLimit, { ...options(), policy: two, hook: "preHandler" });
      inner.get("/late", { config: { rateLimit: { hook: "preHandler", policy: { ...two, capacity: 3, name: "three" } } } }, async () => "ok");
    });
    const remaining = async (url: string): Promise<unknown> => (await app.inject(url)).headers["ratelimit-policy"];
    expect(await remaining("/late")).toBe('"one";q=1;w=1, "three";q=3;w=3');
    expect((await app.inject("/early")).statusCode).toBe(429);
  });

  test("a route has a hook of its own, and so has the rest", async () => {
    expectWarnings("SLUICE_UNIDENTIFIED");
    const app = make();
    await app.register(rateLimit, { ...options(), policy: two });
    const account = { policy: { ...two, name: "login", capacity: 1 }, key: accountOf };
    app.post("/late", { config: { rateLimit: { ...account, hook: "preHandler" } } }, async () => "ok");
    app.post("/early", { config: { rateLimit: account } }, async () => "ok");
    app.get("/rest", async () => "ok");
    expect(await ask(app, "/late", { account: "ann" })).toEqual([200, "0"]);
    expect(await ask(app, "/late", { account: "bob" })).toEqual([200, "0"]);
    expect(await ask(app, "/late", { account: "ann" })).toEqual([429, "0"]);
    expect(await ask(app, "/early", { account: "eve" })).toEqual([200, "0"]); // without a body all are unidentified
    expect(await ask(app, "/early", { account: "kim" })).toEqual([429, "0"]);
    expect(await ask(app, "/rest")).toEqual([200, "1"]);
  });

  test("a route goes back to onRequest under a plugin in preHandler, also one that was there before the plugin", async () => {
    const app = make();
    void app.register(rateLimit, { ...options(), hook: "preHandler" });
    const body: unknown[] = [];
    app.post("/", { config: { rateLimit: { hook: "onRequest", key: (request: FastifyRequest) => (body.push(request.body ?? "unread"), "ann") } } }, async () => "ok");
    expect(await ask(app, "/", { account: "ann" })).toEqual([200, "0"]);
    expect(await ask(app, "/", { account: "ann" })).toEqual([429, "0"]);
    expect(body).toEqual(["unread", "unread"]);
  });

  describe("a route's own limit of another kind than the plugin's", () => {
    const limiterOf = (name: string) => createLimiter({ policy: { ...two, name } });
    const both = () => combine({ user: limiterOf("user"), tenant: limiterOf("tenant") });
    const key = () => ({ user: "ann", tenant: "acme" });

    /** The message of the error when a route is declared under a plugin with these options. */
    async function declared(plugin: object, route: object): Promise<string> {
      const app = make();
      await app.register(rateLimit, plugin as FastifyRateLimitOptions);
      try {
        app.get("/", { config: { rateLimit: route } }, async () => "ok");
      } catch (error) {
        return String(error);
      }
      return "declared";
    }

    test("needs a key of its own when it is declared", async () => {
      expect(await declared({ limiter: both(), key }, { policy: two })).toBe(
        "TypeError: Expected `key` beside `policy`, got the one for a combination. Write a `key` for this policy that returns one key, such as `[\"user\", id]`",
      );
      expect(await declared({ limiter: both(), key }, { limiter: limiterOf("one") })).toContain("Expected `key` beside `limiter`, got the one for a combination");
      expect(await declared({ policy: two, key: () => "ann" }, { limiter: both() })).toBe(
        "TypeError: Expected `key` beside `limiter`, got the one for a single key. Write a `key` with the names of the members, such as `key: (request) => ({ user: …, tenant: … })`",
      );
    });

    test("is declared with a key, and so is one of the same kind without", async () => {
      expect(await declared({ limiter: both(), key }, { policy: two, key: () => "ann" })).toBe("declared");
      expect(await declared({ limiter: both(), key }, { limiter: both() })).toBe("declared");
      expect(await declared({ limiter: both(), key }, { cost: 1 })).toBe("declared");
      expect(await declared({ policy: two, key: () => "ann" }, { limiter: createWaiter(limiterOf("one")) })).toBe("declared");
      expect(await declared({ limiter: both(), key }, { policy: () => ({}) })).toBe("declared");
    });
  });

  test("a handler that goes on to the not-found handler is charged once", async () => {
    const app = make();
    await app.register(rateLimit, { ...options(), policy: two, hook: "preHandler" });
    app.get("/gone", (_request, reply) => {
      reply.callNotFound();
    });
    expect(await ask(app, "/gone")).toEqual([404, "1"]);
    expect(await ask(app, "/nowhere")).toEqual([404, "0"]);
    expect(await ask(app, "/nowhere")).toEqual([429, "0"]);
  });

  test("a body that is no JSON or fails its schema is charged in the hooks before that", async () => {
    for (const [hook, remaining] of [["onRequest", "0"], ["preValidation", "1"], ["preHandler", "2"]] as const) {
      const app = make();
      await app.register(rateLimit, { ...options(), policy: { ...two, capacity: 3 }, hook });
      app.post("/", { schema: { body: { type: "object", required: ["account"] } } }, async () => "ok");
      const broken = await app.inject({ method: "POST", url: "/", payload: "{", headers: { "content-type": "application/json" } });
      expect(broken.statusCode).toBe(400);
      expect((await ask(app, "/", {}))[0]).toBe(400);
      expect(await ask(app, "/", { account: "ann" })).toEqual([200, remaining]);
    }
  });

  test("app.rateLimit limits one route by its body, beside the plugin's limit", async () => {
    const app = make();
    await app.register(rateLimit, { ...options(), policy: { ...two, capacity: 4 } });
    app.post<{ Body: { account: string } }>(
      "/login",
      { preHandler: app.rateLimit({ policy: { ...two, name: "login" }, key: (request: Login) => ["account", request.body.account.toLowerCase()] }) },
      async () => "ok",
    );
    expect(await ask(app, "/login", { account: "ann" })).toEqual([200, "1"]);
    expect(await ask(app, "/login", { account: "Ann" })).toEqual([200, "0"]);
    expect(await ask(app, "/login", { account: "ANN" })).toEqual([429, "0"]);
    // Of Bob's two tokens one is left, and of the plugin's four none.
    expect(await ask(app, "/login", { account: "bob" })).toEqual([200, "0"]);
    expect((await app.inject({ method: "POST", url: "/login", payload: { account: "bob" } })).json()).toMatchObject({ "violated-policies": ["two"] });
  });

  test("with global false, only routes that ask for a limit have one", async () => {
    const app = make();
    await app.register(rateLimit, { ...options(), policy: two, global: false });
    app.get("/free", async () => "ok");
    app.get("/off", { config: { rateLimit: false } }, async () => "ok");
    app.get("/config", { config: { rateLimit: {} } }, async () => "ok");
    app.get("/hook", { onRequest: app.rateLimit() }, async () => "ok");
    app.get("/dear", { onRequest: [app.rateLimit({ cost: 2 })] }, async () => "ok");
    for (let i = 0; i < 3; i++) for (const url of ["/free", "/off"]) expect(await ask(app, url)).toEqual([200, null]);
    expect(await ask(app, "/nowhere")).toEqual([404, null]);
    expect(await ask(app, "/config")).toEqual([200, "1"]);
    expect(await ask(app, "/dear")).toEqual([429, "1"]);
    expect(await ask(app, "/hook")).toEqual([200, "0"]);
    expect(await ask(app, "/config")).toEqual([429, "0"]);
  });

  test.each([false, true])("with global %s the not-found handler is charged once, and a handler of its own may ask for it", async (global) => {
    const app = make();
    await app.register(rateLimit, { ...options(), policy: two, global });
    app.setNotFoundHandler({ preHandler: app.rateLimit() }, (_request, reply) => void reply.code(404).send("nothing here"));
    app.get("/", async () => "ok");
    expect(await ask(app, "/nowhere")).toEqual([404, "1"]);
    expect(await ask(app, "/elsewhere")).toEqual([404, "0"]);
    expect(await ask(app, "/nowhere")).toEqual([429, "0"]);
    expect((await ask(app, "/"))[0]).toBe(global ? 429 : 200);
  });

  test("app.rateLimit is that of the nearest plugin, and a second plugin in one scope takes its place", async () => {
    const app = make();
    await app.register(rateLimit, { ...options(), global: false });
    await app.register(async (inner) => {
      await inner.register(rateLimit, { ...options(), policy: two, global: false });
      inner.get("/inner", { preHandler: inner.rateLimit() }, async () => "ok");
    });
    app.get("/outer", { preHandler: app.rateLimit() }, async () => "ok");
    await app.register(rateLimit, { ...options(), policy: { ...two, capacity: 9 }, global: false });
    app.get("/again", { preHandler: app.rateLimit() }, async () => "ok");
    expect(await ask(app, "/inner")).toEqual([200, "1"]);
    expect(await ask(app, "/outer")).toEqual([200, "0"]);
    expect(await ask(app, "/again")).toEqual([200, "8"]);
  });

  test("another package's app.rateLimit stays in its scope, and the plugin limits beside it", async () => {
    const app = make();
    const theirs = () => "theirs";
    (app as { decorate(name: string, value: unknown): unknown }).decorate("rateLimit", theirs);
    await app.register(rateLimit, options());
    expect(app.rateLimit).toBe(theirs);
    app.get("/", async () => "ok");
    await app.register(async (inner) => {
      await inner.register(rateLimit, options());
      expect(inner.rateLimit).not.toBe(theirs);
    });
    expect([await ask(app, "/"), await ask(app, "/")]).toEqual([[200, "0"], [429, "0"]]);
  });

  test("what a key throws in a later hook goes to the error handler", async () => {
    const app = make();
    app.setErrorHandler((error: Error, _request, reply) => void reply.code(418).send(error.message));
    await app.register(rateLimit, { ...options(), hook: "preHandler", key: () => Promise.reject<string>() });
    app.get("/", async () => "ok");
    app.get("/own", { config: { rateLimit: false }, preHandler: app.rateLimit({ key: () => { throw new Error("no body"); } }) }, async () => "ok");
    expect([await ask(app, "/"), await ask(app, "/own")]).toEqual([[418, null], [418, null]]);
  });

  test("wrong hooks and options are refused where they are written", async () => {
    const message = 'Expected `hook` to be "onRequest" or "preValidation" or "preHandler", got "preParsing"';
    await expect(async () => make().register(rateLimit, { ...options(), hook: "preParsing" as never })).rejects.toThrow(message);
    await expect(async () => make().register(rateLimit, { ...options(), global: "no" as never })).rejects.toThrow('Expected `global` to be true or false, got "no"');
    const app = make();
    await app.register(rateLimit, options());
    expect(() => app.get("/", { config: { rateLimit: { hook: "preParsing" as never } } }, async () => "ok")).toThrow(message);
    expect(() => app.get("/", { config: { rateLimit: { global: false } as object } }, async () => "ok")).toThrow("Unknown option `global`");
    expect(() => app.rateLimit({ hook: "preHandler" } as object)).toThrow("Expected no `hook`: the limit runs where you put it");
    expect(() => app.rateLimit({ cost: 2 })).toThrow("Expected `cost` to be at most the capacity, 1, got 2");
    expect(() => app.rateLimit(false as never)).toThrow("Expected `options` to be an object, got false");
  });

  test("a refused body that never ends is not waited for in onRequest, whether by the plugin or by app.rateLimit", async () => {
    const app = make();
    await app.register(rateLimit, { ...options(), global: false });
    app.post("/hook", { onRequest: app.rateLimit() }, async () => "ok");
    app.post("/config", { config: { rateLimit: {} } }, async () => "ok");
    await app.inject({ method: "POST", url: "/hook" });
    const { port } = new URL(await app.listen({ port: 0, host: "127.0.0.1" }));
    for (const path of ["/hook", "/config"]) {
      const socket = connect(Number(port), "127.0.0.1");
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n\r\n{`);
      const [head] = (await once(socket, "data")) as [Buffer];
      expect(head.toString()).toMatch(/^HTTP\/1\.1 429 [^]*\r\nconnection: close\r\n/i);
      socket.destroy();
    }
  });
});
