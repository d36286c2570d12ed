/** The page for operators: who calls most, who is refused, what is left to each, and what to do about it. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createLimiter, MemoryStore, perMinute, type Key, type Store } from "sluice";
import { act, BadRequest, expectThat, isKey, isReason, readOrder, stateOf, StoreFailed, type CallerState, type OperatedLimiter } from "./actions.js";
import { ownName, type Numbers } from "../live-limits/live-limits.js";
import { describeControl, describeNumbers, type CallerNumbers, type Control, type Controls } from "./controls.js";
import { pageFile } from "./files.js";
import { busiestCallers, type CallerRow } from "./recent-callers.js";
import { Sessions } from "./sessions.js";
import type { AllCounts } from "./share.js";

export interface AdminOptions {
  /** The limiters of the service, by the names that the page shows. */
  readonly limiters: Readonly<Record<string, OperatedLimiter>>;
  /** The policies whose numbers and mode change at run time. */
  readonly controls: Controls;
  /** Changes numbers in all processes: a follower of `live-limits`, or the controls themselves for one process. */
  readonly change: {
    set(name: string, control: Control): Promise<void> | void;
    unset(name: string): Promise<void> | void;
  };
  /** Who called in the last minutes. */
  readonly counts: () => Promise<AllCounts>;
  /** Passwords by the operators' names. */
  readonly operators: Readonly<Record<string, string>>;
  /** Where guesses of passwords are counted. */
  readonly store: Store;
  /**
   * The address of a browser, which limits guesses. Default: the other end of the connection. Behind a proxy this is
   * the proxy's, so one guesser would keep all operators out: read the field that your proxy sets.
   */
  readonly addressOf?: (request: IncomingMessage) => string | undefined;
  /**
   * The names by which operators reach the page, such as `admin.example.com`. Default: those of this machine. Another
   * name may be one that a foreign site pointed at this server.
   */
  readonly hosts?: readonly string[];
  /** Whether the page is served over TLS. Default true. */
  readonly secure?: boolean;
  /** Writes one line for each sign-in, and for each thing that an operator did. Default: standard output. */
  readonly audit?: (line: string) => void;
  readonly now?: () => number;
}

/** What the page shows, every two seconds. */
export interface Overview {
  readonly operator: string;
  readonly processes: number;
  /** True while the other processes cannot be asked: the counts are then those of one process. */
  readonly alone: boolean;
  readonly limiters: readonly string[];
  readonly policies: readonly (Control & { readonly name: string })[];
  /** The callers with the most requests, and those with the most refusals. */
  readonly callers: readonly CallerRow[];
}

/** What is left to a caller, and by which numbers if they change at run time. */
export interface ShownCaller extends CallerState {
  readonly numbers?: CallerNumbers;
}

/** What was done to a caller, and what is left to it: null if the store does not say. */
export interface Done {
  readonly message: string;
  readonly state: CallerState | null;
}

const FIELDS = {
  // No inline script runs, no other server is called, and no other page can frame this one.
  "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
};
const MOST_BODY = 4_096;

/** An answer that is no success: 409 for numbers that were changed meanwhile, 503 for a change whose end is unknown. */
class Answer extends Error {
  readonly status: number;
  readonly more: object;

  constructor(status: number, message: string, more: object = {}) {
    super(message);
    this.status = status;
    this.more = more;
  }
}
const UNKNOWN = "It may have been done. Look before you repeat it.";

type Handler = (body: unknown, operator: string) => unknown;

/** Answers the requests of the page. Give it a server of its own, on an address that only operators reach. */
export function createAdmin(options: AdminOptions): RequestListener {
  const { limiters, controls, change, counts, operators, store, secure = true, audit = console.log, now = () => Date.now() } = options;
  const { addressOf = ({ socket }) => socket.remoteAddress, hosts = ["localhost", "127.0.0.1", "[::1]"] } = options;
  const sessions = new Sessions({ operators, store, secure, now });
  // A flood of guesses writes one line a minute for each address.
  const refusedLines = createLimiter({ policy: { name: "admin-refused-line", capacity: 1, refill: perMinute(1) }, store: new MemoryStore({ maxKeys: 1_000, clock: now }) });
  const limiterOf = (name: unknown): OperatedLimiter => {
    expectThat(typeof name === "string" && Object.hasOwn(limiters, name), `one of the limiters ${Object.keys(limiters).join(", ")}`);
    return limiters[name] as OperatedLimiter;
  };
  const write = (operator: string | null, what: object): void => audit(JSON.stringify({ time: new Date(now()).toISOString(), operator, ...what }));

  /** Makes a change and writes it to the record at once, whatever comes afterwards. */
  async function recorded(operator: string, what: object, make: () => Promise<void> | void): Promise<void> {
    try {
      await make();
    } catch (error) {
      if (error instanceof BadRequest || (error instanceof StoreFailed && !error.isSent)) throw error;
      write(operator, { ...what, outcome: "unknown" });
      throw new Answer(503, UNKNOWN);
    }
    write(operator, { ...what, outcome: "done" });
  }

  const callerOf = (body: unknown): { readonly operated: OperatedLimiter; readonly key: Key } => {
    const { limiter, key } = Object(body) as { limiter?: unknown; key?: unknown };
    expectThat(isKey(key), "a key: a text, or a list of texts and numbers");
    return { operated: limiterOf(limiter), key };
  };

  const handlers: Readonly<Record<string, Handler>> = {
    async "/api/overview"(_, operator): Promise<Overview> {
      const { processes, alone, ...all } = await counts();
      return { operator, processes, alone, limiters: Object.keys(limiters), policies: controls.list(), callers: busiestCallers(all) };
    },
    async "/api/peek"(body): Promise<ShownCaller> {
      const { operated, key } = callerOf(body);
      const numbers = controls.ofCaller(operated.limiter.policy.name, key);
      return { ...(await stateOf(operated, key)), ...(numbers !== undefined && { numbers }) };
    },
    async "/api/numbers"(body, operator): Promise<object> {
      const { operated, key } = callerOf(body);
      const { numbers, was, reason } = body as { numbers: Numbers | null; was: unknown; reason: unknown };
      const policy = operated.limiter.policy.name;
      const before = controls.ofCaller(policy, key);
      expectThat(before !== undefined, `one of the policies ${controls.names.join(", ")}`);
      expectThat(typeof numbers === "object", "numbers, or null for those for all");
      expectThat(isReason(reason), "a reason of 3 to 200 characters");
      const seen = Object(was) as Partial<CallerNumbers>;
      if ((["capacity", "tokens", "everyMs", "isOwn"] as const).some((each) => seen[each] !== before[each])) {
        throw new Answer(409, `These numbers were changed meanwhile: ${describeNumbers(before)}. Nothing was changed.`, { now: before });
      }
      const name = ownName(policy, key);
      const after = numbers === null ? null : { capacity: numbers.capacity, tokens: numbers.tokens, everyMs: numbers.everyMs };
      await recorded(operator, { verb: "numbers", policy, key, before, after, reason }, () => changed(() => (after === null ? change.unset(name) : change.set(name, after))));
      return {};
    },
    async "/api/act"(body, operator): Promise<Done> {
      const order = readOrder(body);
      const operated = limiterOf(order.limiter);
      const before = await stateOf(operated, order.key);
      const { limiter, key, verb, limit, tokens, forMs, reason } = order;
      await recorded(operator, { verb, limiter, key, limit, tokens, forMs, reason, before: before.levels }, () => act(operated, order));
      const state = await stateOf(operated, order.key).catch(() => null);
      return { state, message: state === null ? "Done. What is left is unknown." : "Done." };
    },
    async "/api/policy"(body, operator): Promise<object> {
      const { name, capacity, tokens, everyMs, shadow, was, reason } = Object(body) as Control & { name: unknown; was: unknown; reason: unknown };
      expectThat(typeof name === "string" && controls.names.includes(name), `one of the policies ${controls.names.join(", ")}`);
      expectThat(typeof shadow === "boolean", "shadow to be true or false");
      expectThat(isReason(reason), "a reason of 3 to 200 characters");
      const after = { capacity, tokens, everyMs, shadow };
      const before = controls.of(name);
      const seen = Object(was) as Partial<Control>;
      if ((["capacity", "tokens", "everyMs", "shadow"] as const).some((each) => seen[each] !== before[each])) {
        throw new Answer(409, `${name} was changed meanwhile: ${describeControl(before)}. Nothing was changed.`, { now: before });
      }
      await recorded(operator, { verb: "policy", policy: name, before, after, reason }, () => changed(() => change.set(name, after)));
      return {};
    },
  };

  return (request, response) => {
    for (const [name, value] of Object.entries(FIELDS)) response.setHeader(name, value);
    answer(request, response).catch((error: unknown) => {
      if (error instanceof BadRequest) return send(response, 400, { message: error.message });
      if (error instanceof StoreFailed) return send(response, 503, { message: error.message });
      if (error instanceof Answer) return send(response, error.status, { message: error.message, ...error.more });
      console.error(error);
      return send(response, 500, { message: "Something went wrong on our side." });
    });
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const [path = "/"] = (request.url ?? "/").split("?", 1);
    if (request.method === "GET") {
      const file = await pageFile(path);
      return file === undefined ? send(response, 404, { message: "There is no such page." }) : response.setHeader("Content-Type", file.type).end(file.content);
    }
    if (request.method !== "POST") return send(response.setHeader("Allow", "GET, POST"), 405, { message: "Expected GET or POST" });
    if (!isFromThisPage(request, hosts)) return send(response, 403, { message: `Expected a request of this page, at ${hosts.join(" or ")}.` });
    const body = await readJson(request);
    if (path === "/api/sign-in") return signIn(request, response, body);
    if (path === "/api/sign-out") return send(response.setHeader("Set-Cookie", sessions.signOut), 200, {});
    const operator = sessions.operatorOf(request);
    if (operator === null) return send(response, 401, { message: "Sign in first." });
    if (!Object.hasOwn(handlers, path)) return send(response, 404, { message: "There is no such page." });
    return send(response, 200, await (handlers[path] as Handler)(body, operator));
  }

  async function signIn(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<unknown> {
    const { name, password } = Object(body) as { name?: unknown; password?: unknown };
    expectThat(typeof name === "string" && typeof password === "string", "a name and a password");
    const address = addressOf(request) ?? "unknown";
    const result = await sessions.signIn(address, name, password);
    // A name that is none may be a password in the wrong field, so it is not written.
    const operator = Object.hasOwn(operators, name) ? name : null;
    if (result.outcome === "done" || result.outcome === "wrong" || refusedLines.consume(address).allowed) write(operator, { verb: "sign-in", outcome: result.outcome, address });
    if (result.outcome === "done") return send(response.setHeader("Set-Cookie", result.cookie), 200, { operator: name });
    if (result.outcome === "wrong") return send(response, 401, { message: "Wrong name or password." });
    response.setHeader("Retry-After", result.retryAfter);
    if (result.outcome === "unavailable") return send(response, 503, { message: "The store does not answer, so no one can sign in now." });
    return send(response, 429, { message: `Too many wrong passwords. Try again in ${result.retryAfter} s.` });
  }
}

/** Impossible numbers are a mistake of the request. */
async function changed(make: () => Promise<void> | void): Promise<void> {
  try {
    await make();
  } catch (error) {
    throw error instanceof TypeError || error instanceof RangeError ? new BadRequest(error.message) : error;
  }
}

/** A browser says from which page a request comes. Another site's page, and a program without a page, cannot act. */
function isFromThisPage({ headers }: IncomingMessage, hosts: readonly string[]): boolean {
  const name = headers.host?.replace(/:\d+$/, "").toLowerCase();
  if (name === undefined || !hosts.some((each) => each.toLowerCase() === name)) return false;
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
