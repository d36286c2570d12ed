// What compiles for users of the adapters, and what must not.
import type { IncomingMessage, ServerResponse } from "node:http";
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { createServer } from "node:http";
import { expectTypeOf } from "expect-type";
import express, { type Request as ExpressRequest, type RequestHandler } from "express";
import { fastify, type FastifyRequest } from "fastify";
import { Hono, type Context } from "hono";
import { combine, createLimiter, createObserver, definePolicy, perSecond, unlimited, type Decision } from "sluice";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forHono from "sluice/hono";
import { createGate, draft7, trackWork, triple, vendorHeaders, xRateLimit, type GateOptions, type Outcome, type Problem, type RefuseVerdict, type Verdict } from "sluice/http";
import * as forNode from "sluice/node";
import { adapterSuite, type AdapterSetup, type RunningServer } from "sluice/testing";
import * as forWeb from "sluice/web";

const policy = { capacity: 30, refill: perSecond(5) };
const limiter = createLimiter({ policy });

// The key gets the framework's own request.

forNode.rateLimit({ policy, key: (request) => (expectTypeOf(request).toEqualTypeOf<IncomingMessage>(), "ann") });
forExpress.rateLimit({ policy, key: (request) => (expectTypeOf(request).toEqualTypeOf<ExpressRequest>(), "ann") });
forHono.rateLimit({ policy, key: (c) => (expectTypeOf(c).toExtend<Context>(), c.req.header("x-user")) });
forWeb.rateLimit({ policy, key: (request) => (expectTypeOf(request).toEqualTypeOf<Request>(), request.headers.get("x-user")) });
void fastify().register(forFastify.rateLimit, { policy, key: (request) => (expectTypeOf(request).toExtend<FastifyRequest>(), request.ip) });

// So do the other functions, which see what they decide about.

forExpress.rateLimit({
  policy: (request) => (expectTypeOf(request).toEqualTypeOf<ExpressRequest>(), definePolicy(policy)),
  key: () => ["user", 42, 42n],
  cost: (request) => Number(request.get("x-cost")),
  skip: async (request) => request.path === "/health",
  onDecision: (decision, request) => void [decision.remaining.toFixed(), request.path],
  actualCost: ({ status, aborted }, request) => (aborted || status < 400 || request.path === "/" ? 0 : undefined),
});

// A key may be missing in part, and may answer later.

forExpress.rateLimit({ policy, key: (request) => ["device", request.get("x-device-id")] });
forWeb.rateLimit({ policy, key: async (request) => request.headers.get("x-user") });
forNode.rateLimit({ policy, key: () => undefined });

// A text or a list from a header or a query string is not a key: its sender would choose all parts. Beside a written part it is one.

forNode.rateLimit({ policy, key: (request) => ["client", request.headers["x-client"]] });
forExpress.rateLimit({ policy, key: (request) => ["client", request.get("x-client")] });
// @ts-expect-error
forNode.rateLimit({ policy, key: (request) => request.headers["x-client"] });
// @ts-expect-error
forExpress.rateLimit({ policy, key: (request) => request.query["client"] as string | string[] | undefined });

// A function that several limits share needs no `as const`: TypeScript sees a list there. So a list of the client compiles, too, and is a warning.

const sharedByExpress = (request: ExpressRequest) => ["user", request.ip];
forExpress.rateLimit({ policy, key: sharedByExpress });
const sharedByFastify = (request: FastifyRequest) => ["user", request.ip];
void fastify().register(forFastify.rateLimit, { policy, key: sharedByFastify });
forWeb.rateLimit({ policy, key: async (request) => new URL(request.url).searchParams.getAll("client") });
const perUser = combine({ user: createLimiter({ policy }), tenant: createLimiter({ policy: { ...policy, name: "tenant" } }) });
const sharedKeys = (request: ExpressRequest) => ({ user: ["user", request.ip], tenant: ["tenant", request.ip] });
forExpress.rateLimit({ limiter: perUser, key: sharedKeys });
// @ts-expect-error
forExpress.rateLimit({ limiter: perUser, key: sharedByExpress });
// @ts-expect-error
forExpress.rateLimit({ policy, key: (request) => [request.ip, { not: "a part" }] });

// Every function may answer later.

forWeb.rateLimit({
  policy: async () => definePolicy(policy),
  key: async () => "ann",
  skip: async () => false,
  cost: async () => 1,
  respond: async ({ code }) => ({ code }),
  onDecision: async (decision) => console.log(decision.policy),
  actualCost: async ({ status }) => (status === 304 ? 0 : undefined),
  functionTimeoutMs: 2_000,
});
// @ts-expect-error
forWeb.rateLimit({ policy, key: () => "ann", actualCost: async () => "yes" });
// @ts-expect-error
forWeb.rateLimit({ policy, key: () => "ann", actualCost: () => true });

// `respond` may return an object literal, which is sent as JSON.

forExpress.rateLimit({ policy, key: () => "ann", respond: ({ problem }, request) => ({ ...problem, docs: request.path }) });
forWeb.rateLimit({ policy, key: () => "ann", respond: ({ problem }) => ({ ...problem, docs: "https://..." }) });
forHono.rateLimit({ policy, key: () => "ann", respond: async ({ message }) => ({ message }) });
// Also the document itself, whose type is an interface.
forWeb.rateLimit({ policy, key: () => "ann", respond: ({ problem }) => problem, unidentified: async ({ problem }) => problem });
forHono.rateLimit({ policy, key: () => "ann", respond: async ({ problem }) => problem, unidentified: ({ problem }) => problem });
// @ts-expect-error
forWeb.rateLimit({ policy, key: () => "ann", respond: () => "slow down" });
// @ts-expect-error
forWeb.rateLimit({ policy, key: () => "ann", respond: async () => undefined });

// An `unidentified` function is like it. Its refusal has the status 401 and no decision, and that of `respond` has one.

forExpress.rateLimit({ policy, key: () => "ann", unidentified: (refusal, _request, response) => (expectTypeOf(refusal.status).toEqualTypeOf<401>(), expectTypeOf(refusal.decision).toEqualTypeOf<null>(), response.redirect("/login")) });
forHono.rateLimit({ policy, key: () => "ann", unidentified: (refusal, c) => c.json({ ...refusal.problem, login: c.req.path }, refusal.status) });
forWeb.rateLimit({ policy, key: () => "ann", unidentified: ({ problem }, request) => (expectTypeOf(problem).toEqualTypeOf<Problem>(), { ...problem, from: request.url }) });
forNode.rateLimit({ policy, key: () => "ann", respond: ({ status, decision }) => (expectTypeOf(status).toEqualTypeOf<400 | 429 | 503>(), decision.retryAfterMs) });
// @ts-expect-error
forHono.rateLimit({ policy, key: () => "ann", unidentified: () => "sign in" });

// `respond` gets the refusal and what the framework gives a handler.

forNode.rateLimit({ policy, key: () => "ann", respond: (refusal, request, response) => response.end(`${refusal.message} ${request.url} ${refusal.retryAfter?.toFixed()}`) });
forNode.rateLimit<Http2ServerRequest, Http2ServerResponse>({ policy, key: () => "ann", respond: (_refusal, request, response) => response.stream.respond({ authority: request.authority }) });
forExpress.rateLimit({ policy, key: () => "ann", respond: (refusal, request, response) => response.status(refusal.status).render("slow-down", { ...refusal, user: request.user }) });
forHono.rateLimit<AppEnv>({ policy, key: () => "ann", respond: (refusal, c) => c.html(`${refusal.title} ${c.var.userId}`, refusal.status) });
forWeb.rateLimit({ policy, key: (_request: Request, tenant: string) => tenant, respond: async (refusal, request, tenant) => Response.json({ ...refusal.problem, tenant: tenant.length }, { status: refusal.status, headers: { from: request.url } }) });
void fastify().register(forFastify.rateLimit, { policy, key: () => "ann", respond: (refusal, request, reply) => reply.code(429).send(`${refusal.decision.policy} ${request.url}`) });
// @ts-expect-error
forHono.rateLimit({ policy, key: () => "ann", respond: () => "slow down" });
// @ts-expect-error
createGate({ policy, key: () => "ann", respond: 42 }, forWeb.webReader);

// What was decided is typed, in any handler.

express().get("/inbox/:id", (request) => void forExpress.decisionOf(request)?.remaining.toFixed());
new Hono<AppEnv>().get("/", (c) => c.json(forHono.decisionsOf(c)));
fastify().get("/", (request) => forFastify.decisionsOf(request).map((decision) => (expectTypeOf(decision).toEqualTypeOf<Decision>(), decision.reason)));
expectTypeOf(forWeb.decisionOf(new Request("http://localhost/"))).toEqualTypeOf<Decision | undefined>();
// @ts-expect-error
forNode.decisionOf("request");

// An adapter does not compile in the place of another, and not without its call.

express().use(forExpress.rateLimit({ policy, key: () => "ann" }));
// @ts-expect-error
express().use(forExpress.rateLimit);
const expressWith = forExpress.rateLimit.with({ policy, key: () => "ann" });
// @ts-expect-error
express().use(expressWith);
// @ts-expect-error
express().use(forNode.rateLimit({ policy, key: () => "ann" }));
// @ts-expect-error
express().use(forNode.rateLimit);
const limitedWeb = forWeb.rateLimit({ policy, key: () => "ann" });
// @ts-expect-error
express().use(limitedWeb);
// @ts-expect-error
express().use(forHono.rateLimit({ policy, key: () => "ann" }));
// @ts-expect-error
express().use(forHono.rateLimit);
// @ts-expect-error
express().use(forFastify.rateLimit);
// @ts-expect-error
new Hono().use(forExpress.rateLimit({ policy, key: () => "ann" }));
// @ts-expect-error
new Hono().use(forNode.rateLimit({ policy, key: () => "ann" }));
// @ts-expect-error
new Hono().use(forHono.rateLimit);
// @ts-expect-error
fastify().addHook("onRequest", forNode.rateLimit({ policy, key: () => "ann" }));
// @ts-expect-error
fastify().addHook("onRequest", forExpress.rateLimit({ policy, key: () => "ann" }));
// @ts-expect-error
createServer(forExpress.rateLimit({ policy, key: () => "ann" }));
// @ts-expect-error
createServer(forNode.rateLimit);

// `rateLimit` is in the entry of a framework.
expectTypeOf<typeof import("sluice")>().not.toHaveProperty("rateLimit");

// It cannot be left out, and must say who is calling.

// @ts-expect-error
forNode.rateLimit({ policy });
// @ts-expect-error
forExpress.rateLimit({ policy });
// @ts-expect-error
forHono.rateLimit({ policy });
// @ts-expect-error
forWeb.rateLimit({ policy });
// @ts-expect-error
void fastify().register(forFastify.rateLimit, { policy });
// @ts-expect-error
forNode.rateLimit({ policy, key: "x-device-id" });
// @ts-expect-error
forNode.rateLimit({ policy, key: (request) => request });
// @ts-expect-error
forNode.rateLimit({ policy, key: () => ["user", true] });

// The key is never missing. test/editor.test.ts reads the errors.

// @ts-expect-error
forNode.rateLimit({ policy });
// @ts-expect-error
forExpress.rateLimit({ policy });
// @ts-expect-error
forHono.rateLimit<AppEnv>({ policy });
// @ts-expect-error
forWeb.rateLimit({ policy: () => definePolicy(policy) });
// @ts-expect-error
void fastify().register(forFastify.rateLimit, { policy });
// @ts-expect-error
forWeb.rateLimit({ limiter });

// A call that names its types may have a limiter, and a variable may have any of the options.

forHono.rateLimit<AppEnv>({ limiter, key: (c) => c.var.userId });
forWeb.rateLimit<Request, [tenant: string]>({ limiter, key: (_request, tenant) => tenant });
forNode.rateLimit<Http2ServerRequest, Http2ServerResponse>({ limiter, key: (request) => request.url });
forHono.rateLimit({} as forHono.HonoRateLimitOptions<AppEnv>);
forNode.rateLimit({} as forNode.NodeRateLimitOptions);

// The limits come from a policy or a limiter, from one of them.

forExpress.rateLimit({ limiter, key: () => "ann" });
// @ts-expect-error
forExpress.rateLimit({ key: () => "ann" });
// @ts-expect-error
forExpress.rateLimit({ policy, limiter, key: () => "ann" });
// @ts-expect-error
forExpress.rateLimit({ limiter, store: limiter.store, key: () => "ann" });
// @ts-expect-error
forExpress.rateLimit({ policy: () => policy, key: () => "ann" });

forExpress.rateLimit({ policy, key: () => "ann", onStoreError: "local", shadow: (key) => String(key) === "ann", observe: createObserver(({ type }) => console.log(type)) });

// What belongs to a given limiter says so in the compile error: the option's type is the text.

type MembersOfLimiter = "store" | "onStoreError" | "shadow" | "observe";
type GivenLimiter = Extract<GateOptions<ExpressRequest>, { readonly limiter: object }>;
expectTypeOf<GivenLimiter[MembersOfLimiter]>().toEqualTypeOf<"belongs to the limiter: pass it to createLimiter" | undefined>();
// @ts-expect-error
forExpress.rateLimit({ limiter, onStoreError: "allow", key: () => "ann" });
// @ts-expect-error
forExpress.rateLimit({ limiter, shadow: true, key: () => "ann" });

// A function picks a plan: a policy, or `unlimited`.

const PLANS = { free: definePolicy(policy), pro: definePolicy({ ...policy, capacity: 60 }), partner: unlimited };
const byName: Record<string, typeof PLANS.free | typeof unlimited | undefined> = PLANS;
forExpress.rateLimit({ policy: (request) => byName[request.path] ?? PLANS.free, key: () => "ann" });
forHono.rateLimit({ policy: async (c) => (c.req.path === "/" ? unlimited : PLANS.pro), key: () => "ann" });
forNode.rateLimit({ limiter, policy: () => unlimited, key: () => "ann" });
forWeb.rateLimit({ limiter, policy: async () => PLANS.pro, key: () => "ann" });
// @ts-expect-error
forExpress.rateLimit({ policy: (request) => byName[request.path], key: () => "ann" });
// @ts-expect-error
forNode.rateLimit({ policy: () => "unlimited", key: () => "ann" });
// @ts-expect-error
forNode.rateLimit({ policy: () => null, key: () => "ann" });
// @ts-expect-error
forNode.rateLimit({ policy: unlimited, key: () => "ann" });
// @ts-expect-error
forNode.rateLimit({ policy, key: () => unlimited });
expectTypeOf<RefuseVerdict["status"]>().toEqualTypeOf<400 | 401 | 429 | 499 | 500 | 503>();
expectTypeOf<Outcome>().toEqualTypeOf<{ readonly status: number; readonly aborted: boolean }>();

// What a handler reports is a cost, or costs by names.

forNode.reportCost({}, 5);
forExpress.reportCost({}, { tokens: 1_417 });
forHono.reportCost({}, { user: { tokens: 5 }, tenant: 0 });
// @ts-expect-error
forWeb.reportCost({}, "5");
// @ts-expect-error
forFastify.reportCost("request", 5);

// Undefined is the same as left out.

forNode.rateLimit({ policy, key: () => "ann", cost: undefined, skip: undefined, headers: undefined, respond: undefined, unidentified: undefined, onError: undefined });
forWeb.rateLimit({ policy, limiter: undefined, store: undefined, key: () => "ann", actualCost: undefined });
forWeb.rateLimit({ limiter, policy: undefined, store: undefined, shadow: undefined, key: () => "ann" });
vendorHeaders({ limit: "X-Limit", remaining: undefined, reset: undefined, resetFormat: undefined });

// Header styles: two by name, the others imported.

forExpress.rateLimit({ policy, key: () => "ann", headers: [triple(), draft7(), xRateLimit(), vendorHeaders({ used: "X-Used" })] });
// @ts-expect-error
forExpress.rateLimit({ policy, key: () => "ann", headers: ["draft-7"] });
// @ts-expect-error
forExpress.rateLimit({ policy, key: () => "ann", headers: [{ limit: "X-Limit" }] });
// @ts-expect-error
vendorHeaders({ limits: "X-Limit" });

// Options that do not exist, and wrong choices.

// @ts-expect-error
forExpress.rateLimit({ policy, key: () => "ann", windowMs: 1_000 });
// @ts-expect-error
forExpress.rateLimit({ policy, key: () => "ann", headers: ["draft-8"] });
// @ts-expect-error
forExpress.rateLimit({ policy, key: () => "ann", onStoreError: "open" });
// @ts-expect-error
forExpress.rateLimit({ policy, key: () => "ann", breaker: true });
// @ts-expect-error
forExpress.rateLimit({ limiter, key: () => "ann", clock: () => 0 });
// @ts-expect-error
forExpress.rateLimit({ policy, key: () => "ann", unidentified: "throw" });

// Node: its own servers' listeners, http2's by name.

const limited = forNode.rateLimit({ policy, key: (request) => request.headers["x-user"]?.toString() });
createServer(limited((request, response) => (expectTypeOf(request).toEqualTypeOf<IncomingMessage>(), response.end())));
expectTypeOf(limited).parameter(0).parameter(1).toEqualTypeOf<ServerResponse>();
const limited2 = forNode.rateLimit<Http2ServerRequest, Http2ServerResponse>({ policy, key: (request) => request.authority });
createSecureServer({}, limited2((_request, response) => response.stream.respond()));

// Express: middleware like any other; what an app adds to the request is there.

expectTypeOf(forExpress.rateLimit({ policy, key: () => "ann" })).toExtend<RequestHandler>();
express().use(forExpress.rateLimit({ policy, key: (request) => (request.user === undefined ? null : ["user", request.user.id]) }));
express().get("/inbox/:id", forExpress.rateLimit({ policy, key: () => "ann" }), (request, response) => {
  expectTypeOf(request.params).toEqualTypeOf<{ id: string }>();
  response.end();
});

declare global {
  // The way that Express itself gives for adding to its types.
  // oxlint-disable-next-line no-namespace
  namespace Express {
    interface Request {
      user?: { id: string };
    }
  }
}

// Fastify: a route says under config.rateLimit what it changes.

const app = fastify();
app.get("/heavy", { config: { rateLimit: { cost: 5 } } }, () => "ok");
app.get("/other", { config: { rateLimit: { policy, key: (request) => request.url } } }, () => "ok");
app.get("/given", { config: { rateLimit: { limiter } } }, () => "ok");
app.get("/free", { config: { rateLimit: false } }, () => "ok");
app.get("/same", { config: { rateLimit: { cost: undefined, key: undefined, policy: undefined } } }, () => "ok");
// @ts-expect-error
app.get("/wrong", { config: { rateLimit: { cost: "5" } } }, () => "ok");
// Fastify takes config's own type from the value, so a misspelt option compiles; registering the route fails.

// Fastify: the hook that the limit runs in, and a hook for one route, whose functions may name their own request.

void app.register(forFastify.rateLimit, { policy, key: () => "ann", hook: "preHandler", global: false });
app.post("/hook", { config: { rateLimit: { hook: "preValidation" } } }, () => "ok");
app.get("/none", { onRequest: app.rateLimit(), preValidation: [app.rateLimit({ cost: 2 })] }, () => "ok");
app.post("/any", { preHandler: app.rateLimit({ key: (request) => (expectTypeOf(request).toEqualTypeOf<FastifyRequest>(), request.ip) }) }, () => "ok");
type Login = FastifyRequest<{ Body: { account: string } }>;
const byAccount = app.rateLimit({ policy, key: (request: Login) => ["account", request.body.account] });
expectTypeOf(byAccount).toEqualTypeOf<forFastify.FastifyRateLimitHandler<Login>>();
app.post<{ Body: { account: string } }>("/login", { preHandler: byAccount }, () => "ok");
app.post("/login2", { preHandler: app.rateLimit<Login>({ policy, key: (request) => request.body.account, actualCost: (_, request) => (request.body.account === "ann" ? 0 : undefined) }) }, () => "ok");
app.setNotFoundHandler({ preHandler: app.rateLimit() }, () => "nothing");
// @ts-expect-error
void app.register(forFastify.rateLimit, { policy, key: () => "ann", hook: "preParsing" });
// @ts-expect-error
void app.register(forFastify.rateLimit, { policy, key: () => "ann", global: "no" });
// @ts-expect-error
app.get("/hook", { preHandler: app.rateLimit({ hook: "preHandler" }) }, () => "ok");
// @ts-expect-error
app.get("/hook", { onSend: app.rateLimit() }, () => "ok");
// @ts-expect-error
app.post<{ Body: { other: string } }>("/login", { preHandler: byAccount }, () => "ok");

// Hono: an app's Env is named, as for every middleware that is made by a function; without one, middleware fits any app.

interface AppEnv {
  Variables: { userId: string };
}
const hono = new Hono<AppEnv>().use(forHono.rateLimit<AppEnv>({ policy, key: (c) => ["user", c.var.userId], cost: (c) => c.get("userId").length }));
hono.use(forHono.rateLimit({ policy, key: (c: Context<AppEnv>) => (expectTypeOf(c.var.userId).toEqualTypeOf<string>(), c.var.userId) }));
hono.get("/", forHono.rateLimit({ policy, key: (c) => c.req.header("x-user") }), (c) => c.text((expectTypeOf(c.var.userId).toEqualTypeOf<string>(), c.var.userId)));
hono.get("/:id", forHono.rateLimit<AppEnv>({ policy, key: (c) => c.var.userId }), (c) => c.text((expectTypeOf(c.req.param("id")).toEqualTypeOf<string>(), "ok")));
// @ts-expect-error
forHono.rateLimit<AppEnv>({ policy, key: (c) => c.var.nobody });

// web: what else the runtime hands over keeps its types.

const handle = forWeb.rateLimit({ policy, key: () => "ann" })((_request, env: { region: string }, wait: (work: Promise<void>) => void) => {
  wait(Promise.resolve());
  return new Response(env.region);
});
expectTypeOf(handle).parameters.toEqualTypeOf<[request: Request, env: { region: string }, wait: (work: Promise<void>) => void]>();
expectTypeOf(handle).returns.toEqualTypeOf<Response | Promise<Response>>();
// @ts-expect-error
void handle(new Request("http://localhost/"));

// web: a subclass of Request, named for the options or for the handler alone.

class NextRequest extends Request {
  readonly nextUrl = new URL("http://localhost/");
}
const named = forWeb.rateLimit<NextRequest>({ policy, key: (request) => request.nextUrl.pathname, skip: (request) => request.nextUrl.port === "80" });
expectTypeOf(named((request) => new Response(request.nextUrl.pathname))).parameters.toEqualTypeOf<[request: NextRequest]>();
const inferred = forWeb.rateLimit({ policy, key: (request: NextRequest) => request.nextUrl.pathname });
expectTypeOf(inferred(() => new Response())).parameters.toEqualTypeOf<[request: NextRequest]>();
const handleNext = forWeb.rateLimit({ policy, key: () => "ann" })((request: NextRequest, context: { id: string }) => new Response(request.nextUrl.pathname + context.id));
expectTypeOf(handleNext).parameters.toEqualTypeOf<[request: NextRequest, context: { id: string }]>();
// @ts-expect-error
void handleNext(new Request("http://localhost/"), { id: "42" });

// web: key, policy, cost and skip get the other arguments of the handler, such as a Worker's bindings.

interface Bindings {
  tier: "free" | "pro";
}
interface RequestEvent {
  waitUntil(work: Promise<unknown>): void;
}
const inWorker = forWeb.rateLimit({
  policy: async (request: Request, bindings: Bindings) => definePolicy({ ...policy, capacity: bindings.tier === "pro" ? 60 : request.url.length }),
  key: (_request: Request, bindings: Bindings) => ["tier", bindings.tier],
  cost: (_request: Request, bindings: Bindings) => bindings.tier.length,
  skip: (request: Request) => request.url.endsWith("/health"),
  actualCost: ({ status }, request) => (status === 304 && request.method === "GET" ? 0 : undefined),
});
const handleInWorker = inWorker((_request, bindings, context: RequestEvent) => (context.waitUntil(Promise.resolve()), new Response(bindings.tier)));
expectTypeOf(handleInWorker).parameters.toEqualTypeOf<[request: Request, bindings: Bindings, context: RequestEvent]>();
void inWorker(() => new Response())(new Request("http://localhost/"), { tier: "free" }, "and more");
// @ts-expect-error
void inWorker(() => new Response())(new Request("http://localhost/"));
// @ts-expect-error
inWorker((_request, bindings: { other: string }) => new Response(bindings.other));
const inMiddleware = forWeb.rateLimit<NextRequest, [event: RequestEvent]>({
  policy,
  key: (request, event) => (expectTypeOf(event).toEqualTypeOf<RequestEvent>(), request.nextUrl.pathname),
});
expectTypeOf(inMiddleware((request, event) => (expectTypeOf(event).toEqualTypeOf<RequestEvent>(), new Response(request.url))))
  .parameter(1).toEqualTypeOf<RequestEvent>();
// @ts-expect-error
forWeb.rateLimit<NextRequest>({ policy, key: (request, event) => [request.url, event] });

// The adapter suite takes any runner's `test` and any adapter.

declare function test(name: string, run: () => Promise<void>): void;
declare function serve(setup: AdapterSetup): Promise<RunningServer>;
adapterSuite({ test, serve, lacks: { rawHead: "there is none" } });
// @ts-expect-error
adapterSuite({ test, serve, lacks: { speed: "it is slow" } });
// @ts-expect-error
adapterSuite({ test, serve, lacks: { rawHead: true } });

// What an author of an adapter tells of the work.
declare const verdict: Verdict;
const done = trackWork(verdict, { handled: Promise.resolve(), unread: true });
expectTypeOf(done).toEqualTypeOf<(outcome: Outcome) => Promise<void>>();
expectTypeOf(trackWork(verdict)).toEqualTypeOf(done);
// @ts-expect-error -- a status is missing
void done({ aborted: false });
// @ts-expect-error -- says whether the client left
void done({ status: 200 });
// @ts-expect-error -- a promise
trackWork(verdict, { handled: () => Promise.resolve() });
// @ts-expect-error -- unknown
trackWork(verdict, { closed: true });
// @ts-expect-error -- a gate may answer later
trackWork(Promise.resolve(verdict));
// @ts-expect-error -- the verdict comes first
forNode.answerOnNode({} as ServerResponse, {} as IncomingMessage, verdict);
