/** The page for operators: who calls most, who is refused, what is left to each, and what to do about it. */
import { existsSync, readFileSync } from "node:fs";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { SluiceError, type Store } from "sluice";
import { act, BadRequest, expectThat, isKey, isReason, readOrder, stateOf, type CallerState, type OperatedLimiter } from "./actions.js";
import type { Control, Controls } from "./controls.js";
import { rowsOf, type CallerRow } from "./recent-callers.js";
import { Sessions } from "./sessions.js";
import type { AllCounts } from "./share.js";

export interface AdminOptions {
  /** The limiters of the service, by the names that the page shows. */
  readonly limiters: Readonly<Record<string, OperatedLimiter>>;
  /** The policies whose numbers and mode change at run time. */
  readonly controls: Controls;
  /** Changes a policy in all processes. */
  readonly change: (policy: string, control: Control) => Promise<void> | void;
  /** Who called in the last minutes. */
  readonly counts: () => Promise<AllCounts>;
  /** Passwords by the operators' names. */
  readonly operators: Readonly<Record<string, string>>;
  /** Where guesses of passwords are counted. */
  readonly store: Store;
  /** Whether the page is served over TLS. Default true. */
  readonly secure?: boolean;
  /** Writes one line for each thing that an operator did. Default: standard output. */
  readonly audit?: (line: string) => void;
  readonly now?: () => number;
}

/** What the page shows, every two seconds. */
export interface Overview {
  readonly operator: string;
  readonly processes: number;
  readonly limiters: readonly string[];
  readonly policies: readonly (Control & { readonly name: string })[];
  readonly mostRequests: readonly CallerRow[];
  readonly mostRefused: readonly CallerRow[];
}

const FILES = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/style.css": ["style.css", "text/css; charset=utf-8"],
} as const;
const FIELDS = {
  // No inline script runs, no other server is called, and no other page can frame this one.
  "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
};
const MOST_BODY = 4_096;

type Handler = (body: unknown, operator: string) => unknown;

/** Answers the requests of the page. Give it a server of its own, on an address that only operators reach. */
export function createAdmin({ limiters, controls, change, counts, operators, store, secure = true, audit = console.log, now = () => Date.now() }: AdminOptions): RequestListener {
  const sessions = new Sessions({ operators, store, secure, now });
  const limiterOf = (name: unknown): OperatedLimiter => {
    expectThat(typeof name === "string" && Object.hasOwn(limiters, name), `one of the limiters ${Object.keys(limiters).join(", ")}`);
    return limiters[name] as OperatedLimiter;
  };
  const write = (operator: string, what: object): void => audit(JSON.stringify({ time: new Date(now()).toISOString(), operator, ...what }));

  const handlers: Readonly<Record<string, Handler>> = {
    async "/api/overview"(_, operator): Promise<Overview> {
      const all = await counts();
      return { operator, processes: all.processes, limiters: Object.keys(limiters), policies: controls.list(), mostRequests: rowsOf(all, "requests"), mostRefused: rowsOf(all, "refused") };
    },
    async "/api/peek"(body): Promise<CallerState> {
      const { limiter, key } = Object(body) as { limiter?: unknown; key?: unknown };
      expectThat(isKey(key), "a key: a text, or a list of texts and numbers");
      return stateOf(limiterOf(limiter), key);
    },
    async "/api/act"(body, operator): Promise<CallerState> {
      const order = readOrder(body);
      const operated = limiterOf(order.limiter);
      const before = await stateOf(operated, order.key);
      await act(operated, order);
      const after = await stateOf(operated, order.key);
      const { limiter, key, verb, tokens, forMs, reason } = order;
      write(operator, { verb, limiter, key, tokens, forMs, reason, before: before.levels, after: after.levels });
      return after;
    },
    async "/api/policy"(body, operator): Promise<object> {
      const { name, capacity, tokens, everyMs, shadow, reason } = Object(body) as Control & { name: unknown; reason: unknown };
      expectThat(typeof name === "string" && controls.names.includes(name), `one of the policies ${controls.names.join(", ")}`);
      expectThat(typeof shadow === "boolean", "shadow to be true or false");
      expectThat(isReason(reason), "a reason of 3 to 200 characters");
      const before = controls.list().find((each) => each.name === name);
      try {
        await change(name, { capacity, tokens, everyMs, shadow });
      } catch (error) {
        if (error instanceof TypeError || error instanceof RangeError) throw new BadRequest(error.message);
        throw error;
      }
      write(operator, { verb: "policy", policy: name, before, after: { name, capacity, tokens, everyMs, shadow }, reason });
      return {};
    },
  };

  return (request, response) => {
    for (const [name, value] of Object.entries(FIELDS)) response.setHeader(name, value);
    answer(request, response).catch((error: unknown) => {
      if (error instanceof BadRequest) return send(response, 400, { message: error.message });
      if (error instanceof SluiceError) return send(response, 503, { message: `The store failed (${error.code}). Nothing was changed.` });
      console.error(error);
      return send(response, 500, { message: "Something went wrong on our side." });
    });
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    if (request.method === "GET") {
      if (pathname === "/page.js") return response.setHeader("Content-Type", "text/javascript; charset=utf-8").end(await pageScript());
      if (!Object.hasOwn(FILES, pathname)) return send(response, 404, { message: "There is no such page." });
      const [file, type] = FILES[pathname as keyof typeof FILES];
      return response.setHeader("Content-Type", type).end(readFileSync(new URL(file, pageFolder())));
    }
    if (request.method !== "POST") return send(response.setHeader("Allow", "GET, POST"), 405, { message: "Expected GET or POST" });
    if (!isFromThisPage(request)) return send(response, 403, { message: "Expected a request of this page." });
    const body = await readJson(request);
    if (pathname === "/api/sign-in") return signIn(request, response, body);
    if (pathname === "/api/sign-out") return send(response.setHeader("Set-Cookie", sessions.signOut), 200, {});
    const operator = sessions.operatorOf(request);
    if (operator === null) return send(response, 401, { message: "Sign in first." });
    if (!Object.hasOwn(handlers, pathname)) return send(response, 404, { message: "There is no such page." });
    return send(response, 200, await (handlers[pathname] as Handler)(body, operator));
  }

  async function signIn(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<unknown> {
    const { name, password } = Object(body) as { name?: unknown; password?: unknown };
    expectThat(typeof name === "string" && typeof password === "string", "a name and a password");
    const result = await sessions.signIn(request, name, password);
    if (result === null) return send(response, 401, { message: "Wrong name or password." });
    if ("cookie" in result) {
      write(name, { verb: "sign-in" });
      return send(response.setHeader("Set-Cookie", result.cookie), 200, { operator: name });
    }
    const seconds = Math.ceil(result.retryAfterMs / 1_000);
    return send(response.setHeader("Retry-After", seconds), 429, { message: `Too many wrong passwords. Try again in ${seconds} s.` });
  }
}

/** A browser says from which page a request comes. Another site's page, and a program without a page, cannot act. */
function isFromThisPage({ headers }: IncomingMessage): boolean {
  const site = headers["sec-fetch-site"];
  const origin = /^https?:\/\/(.+)$/.exec(headers.origin ?? "")?.[1];
  return origin !== undefined && origin === headers.host && (site === undefined || site === "same-origin") && headers["content-type"] === "application/json";
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) expectThat((text += chunk as string).length <= MOST_BODY, `at most ${MOST_BODY} characters`);
  try {
    return JSON.parse(text);
  } catch {
    throw new BadRequest("Expected JSON");
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

let script: Promise<string> | undefined;

/** The page's program. TypeScript becomes one file for the browser when the page is opened for the first time. */
function pageScript(): Promise<string> {
  return (script ??= (async () => {
    const { build } = await import("esbuild");
    const { outputFiles } = await build({ entryPoints: [fileURLToPath(new URL("page.ts", pageFolder()))], bundle: true, write: false, format: "esm", target: "es2022" });
    return (outputFiles[0] as { text: string }).text;
  })());
}

/** The folder of the page's files, even if this program was bundled into another folder. */
function pageFolder(): URL {
  for (let at = new URL("./", import.meta.url); ; at = new URL("../", at)) {
    const here = new URL("examples/admin/page/", at);
    if (existsSync(new URL("index.html", here))) return here;
    if (at.pathname === "/") throw new Error("Expected the folder examples/admin/page above this program, found none");
  }
}
