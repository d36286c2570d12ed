/** The live page at `/`: its files, the level of a bucket, a policy to change, and an outage of the store. */
import { existsSync, readFileSync } from "node:fs";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { createLimiter, definePolicy, type Decision, type Key, type OnStoreError, type Policy, type Store } from "sluice";
import { rateLimit } from "sluice/node";
import { CHART_STYLE } from "../../../simulate/src/chart/index.js";
import type { Failing, Policies, Telling } from "../config.js";
import { askForCaller, DEMO_USERS, identify, PROBLEM_TYPE } from "../identity.js";
import { isFromHere, pathOf } from "./own-target.js";

/** The functions of the server that the page needs. */
export interface LiveSetup {
  readonly policies: Policies;
  readonly store: Store;
  readonly telling: Telling;
  readonly failing: Failing;
  readonly onDecision: (decision: Decision, request: IncomingMessage) => void;
  /** Makes the store unavailable, or available again. */
  readonly setOutage: (isOut: boolean) => Promise<void>;
  /** The store's name, for the page. */
  readonly storeName: string;
  /** The name or address that the server is bound to. */
  readonly host: string;
}

/** The facts about the server that the page shows. */
export interface Facts {
  readonly users: readonly string[];
  readonly policies: ReadonlyArray<{ readonly name: string; readonly capacity: number; readonly tokens: number; readonly everyMs: number }>;
  readonly store: string;
  readonly onStoreError: OnStoreError;
  /** Whether the page made the store unavailable. */
  readonly isOut: boolean;
}

/** The level of a bucket, with its fraction, and the numbers that it was counted in. Null while the store is unavailable. */
export interface LevelAnswer {
  readonly level: number | null;
  readonly capacity: number;
  readonly tokens: number;
  readonly everyMs: number;
}

/** What the caller has left of a month's reports, and of those that may run at once. Null while the store is unavailable. */
export interface Places {
  readonly month: number | null;
  readonly parallel: number | null;
}

type Handler = (request: IncomingMessage, response: ServerResponse, url: URL) => unknown;

const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
};
// The page calls no other server, and the browser enforces it.
const PAGE_FIELDS = { "Content-Security-Policy": "default-src 'self'; img-src data:", "Cache-Control": "no-cache" };

/** Answers the page's own paths before the framework sees a request. Call it before the server listens. */
export function addLivePage(server: Server, setup: LiveSetup): void {
  const routes = createRoutes(setup);
  const others = server.listeners("request") as RequestListener[];
  server.removeAllListeners("request");
  server.on("request", (request, response) => {
    const path = pathOf(request.url);
    if (path === null) return send(response, 404, { code: "not_found", message: "Expected a path such as /inbox" });
    request.url = path; // the frameworks read the absolute form in different ways
    const url = new URL(`http://localhost${path}`); // after a name no path is wrong
    const route = routes.get(`${request.method === "HEAD" ? "GET" : request.method} ${url.pathname}`);
    if (route === undefined) for (const other of others) other.call(server, request, response);
    else Promise.resolve(route(request, response, url)).catch((error: unknown) => send(response, error instanceof BadRequest ? 400 : 500, { message: String(error) }));
  });
}

function createRoutes({ policies, store, telling, failing, onDecision, setOutage, storeName, host }: LiveSetup): ReadonlyMap<string, Handler> {
  let sandbox = definePolicy({ name: "sandbox", capacity: 5, refill: { tokens: 10, everyMs: 10_000 } });
  let isOut = false;
  const { reports, ...others } = policies;
  const simple = Object.values(others);
  const policyOf = (name: string | null): Policy => [...simple, sandbox].find((each) => each.name === name) ?? policies.interactive;
  const limiter = createLimiter({ policy: policies.interactive, store, ...failing });
  const limited = rateLimit({
    policy: () => sandbox,
    key: ({ headers }) => identify(headers),
    unidentified: (refusal, _, response) => void response.setHeader("Content-Type", PROBLEM_TYPE).end(askForCaller(refusal)),
    store,
    ...failing,
    ...telling,
    onDecision,
  });

  const routes = new Map<string, Handler>([
    ["GET /live/page.js", async (_, response) => sendText(response, 200, "text/javascript; charset=utf-8", await pageScript())],
    ["GET /live/facts", (_, response) => send(response, 200, facts())],
    ["GET /live/style.css", (_, response) => sendText(response, 200, "text/css; charset=utf-8", readFileSync(new URL("style.css", pageFolder()), "utf8") + CHART_STYLE)],
    ["GET /live/level", async (request, response, url) => send(response, 200, await levelOf(request, url))],
    ["GET /live/places", async (request, response) => send(response, 200, await placesOf(request))],
    ["GET /sandbox", limited((_, response) => send(response, 200, { sand: "castle" }))],
    ["PUT /live/sandbox", async (request, response) => {
      if (!isFromHere(request, host)) return send(response, 403, { code: "forbidden", message: "Expected the Host and Origin of this server" });
      const { capacity, tokens, everyMs } = await readJson<{ capacity: number; tokens: number; everyMs: number }>(request);
      try {
        sandbox = definePolicy({ name: "sandbox", capacity, refill: { tokens, everyMs } });
        send(response, 200, {});
      } catch (error) {
        send(response, 400, { message: (error as Error).message });
      }
    }],
    // Fills the caller's bucket of the sandbox.
    ["PUT /live/fresh", async (request, response) => {
      if (!isFromHere(request, host)) return send(response, 403, { code: "forbidden", message: "Expected the Host and Origin of this server" });
      const key = callerOf(request);
      const isFresh = await Promise.resolve().then(() => limiter.reset(key, { policy: sandbox })).then(() => true, () => false); // an outage leaves the bucket as it is
      send(response, 200, { isFresh });
    }],
    ["PUT /live/outage", async (request, response) => {
      if (!isFromHere(request, host)) return send(response, 403, { code: "forbidden", message: "Expected the Host and Origin of this server" });
      const { isOut: wanted } = await readJson<{ isOut: unknown }>(request);
      if (typeof wanted !== "boolean") throw new BadRequest(`Expected \`isOut\` to be true or false, got ${JSON.stringify(wanted)}`);
      await setOutage(wanted);
      isOut = wanted;
      send(response, 200, { isOut });
    }],
  ]);
  for (const [path, [file, type]] of Object.entries(FILES)) {
    routes.set(`GET ${path}`, (_, response) => sendText(response, 200, type, readFileSync(new URL(file, pageFolder()), "utf8")));
  }
  return routes;

  function facts(): Facts {
    const { onStoreError = "local" } = failing;
    return { users: [...DEMO_USERS], policies: [sandbox, ...simple].map((policy) => ({ name: policy.name, ...numbersOf(policy) })), store: storeName, onStoreError, isOut };
  }

  async function levelOf(request: IncomingMessage, url: URL): Promise<LevelAnswer> {
    const policy = policyOf(url.searchParams.get("policy"));
    const phone = url.searchParams.get("phone");
    const key: Key = policy.name === "login-code" && phone !== null ? ["phone", phone] : callerOf(request);
    const decision = await peek(key, policy);
    const [{ unitsPerMs, unitsPerToken }] = policy.limits;
    return { level: decision && Math.max(0, decision.capacity - (decision.resetMs * unitsPerMs) / unitsPerToken), ...numbersOf(policy) };
  }

  async function placesOf(request: IncomingMessage): Promise<Places> {
    const decision = await peek(callerOf(request), reports);
    const left = (name: string): number | null => decision?.limits?.find(({ limit }) => limit === name)?.remaining ?? null;
    return { month: left("month"), parallel: left("parallel") };
  }

  /** A look at a bucket, or null while the store is unavailable: a look fails as the store does, whatever `onStoreError` says. */
  async function peek(key: Key, policy: Policy): Promise<Decision | null> {
    try {
      return await limiter.peek(key, { cost: 0, policy });
    } catch {
      return null;
    }
  }
}

function callerOf(request: IncomingMessage): Key {
  const key = identify(request.headers);
  if (key === null) throw new BadRequest("Expected a caller");
  return key;
}

function numbersOf({ limits: [{ capacity, refill }] }: Policy): Omit<LevelAnswer, "level"> {
  return { capacity, tokens: refill?.tokens ?? 0, everyMs: refill?.everyMs ?? 0 };
}

let script: Promise<string> | undefined;

/** The page's program, with the client of this package, as one file. It is built at the first request for it. */
function pageScript(): Promise<string> {
  return (script ??= bundlePage());
}

async function bundlePage(): Promise<string> {
  const { build } = await import("esbuild"); // only a server whose page is opened needs it
  const entry = fileURLToPath(new URL("page.ts", pageFolder()));
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, write: false, format: "esm", target: "es2022" });
  return (outputFiles[0] as { text: string }).text;
}

/** The folder of the page's files, even if this program was bundled into another folder. */
function pageFolder(): URL {
  for (let at = new URL("./", import.meta.url); ; at = new URL("../", at)) {
    const here = new URL("examples/server/demo/page/", at);
    if (existsSync(new URL("index.html", here))) return here;
    if (at.pathname === "/") throw new Error("Expected the folder examples/server/demo/page above this program, found none");
  }
}

/** The sender's mistake: a 400, not a 500. */
class BadRequest extends Error {}

async function readJson<T extends object>(request: IncomingMessage): Promise<T> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) if ((text += chunk as string).length > 1_000) throw new BadRequest("Expected at most 1,000 characters");
  const body = ((): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  })();
  if (typeof body !== "object" || body === null) throw new BadRequest(`Expected a JSON object, got ${JSON.stringify(text.slice(0, 40))}`);
  return body as T;
}

function send(response: ServerResponse, status: number, body: object): void {
  sendText(response, status, "application/json", JSON.stringify(body));
}

function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { ...PAGE_FIELDS, "Content-Type": type, "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}
