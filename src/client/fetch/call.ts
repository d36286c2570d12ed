import type { ClientInit, TrafficCall } from "./options.js";
import { check, type Settings } from "./settings.js";

/** One call, read, with the settings that apply to it. */
export interface Call extends TrafficCall, Settings {
  readonly input: string | URL | Request;
  /** What the wrapped `fetch` gets, but for the signal. */
  readonly init: RequestInit;
  /** Absolute, where the platform makes it so. */
  readonly url: string;
  /** Whether it may be sent again, and can be. */
  readonly repeatable: boolean;
  readonly identity: string;
  /** The same for all calls that may share one request; null when it is nobody's but the caller's. */
  readonly mergeKey: string | null;
}

// RFC 6761 keeps it free of servers.
const NOWHERE = "http://relative.invalid";

// Bodies that can be read only once: web streams, which Safari cannot iterate, and async iterators, as Node's streams are.
const ONE_SHOT = ["getReader", Symbol.asyncIterator];

/** Reads a call. Throws a TypeError or RangeError for wrong options, and what `Request` throws for a wrong request. */
export function readCall(input: string | URL | Request, init: ClientInit, settings: Settings): Call {
  const { sensitive, merge, retry, maxAttempts, maxWaitMs, ...given } = init;
  // What is undefined is not there, as for fetch: it must not take the place of what a `Request` has.
  const plain = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as RequestInit;
  const { signal, body, ...head } = plain;
  const request = typeof input === "object" && "url" in input ? input : null;
  // To look at a body would be to use it up.
  const withBody = request && !isRead(request.method) ? request : null;
  const look = (at: typeof input): Request => new Request(at, { method: request?.method, headers: request?.headers, ...head, signal: null } as RequestInit);
  let about: Request;
  let base = "";
  try {
    about = look(withBody?.url ?? input);
  } catch (error) {
    if (typeof input !== "string") throw error;
    // Relative perhaps, to no page; the wrapped `fetch` may know better.
    about = look(new URL(input, (base = NOWHERE)));
  }
  const method = about.method.toUpperCase();
  const url = about.url.slice(base.length);
  const identity = typeof settings.identity === "function" ? settings.identity(about) : settings.identity;
  check("identity()", "", identity);
  // What is left out here, the client has decided.
  const defaults = { ...settings, sensitive: false, retry: settings.methods.some((each) => each.toUpperCase() === method) };
  const options = check("init", defaults, { sensitive, merge, retry, maxAttempts, maxWaitMs });

  const extras = { ...head, method: undefined, headers: undefined };
  // What is in another object, such as a `dispatcher`, cannot be compared.
  const mergeable = options.merge && !options.sensitive && isRead(method) && !/event-stream/i.test(about.headers.get("accept") ?? "") && !Object.values<unknown>(extras).some((value) => Object(value) === value);
  const facts = [method, url, identity, ...about.headers, extras, about.credentials, about.cache, about.redirect, about.mode, about.integrity, options.maxAttempts, options.maxWaitMs, options.retry];
  // Not by `URL`, of which React Native has only a part.
  const [, origin = "", path = ""] = /^([^/?#]*\/\/[^/?#]*)?([^?#]*)/.exec(url) as RegExpExecArray;
  // Firefox does not tell what the body of a `Request` is; null it is without one.
  const isOneShot = body ? ONE_SHOT.some((name) => name in Object(body)) : withBody && withBody.body !== null;
  return {
    ...options,
    input,
    init: plain,
    url,
    origin,
    path,
    method,
    identity,
    signal: signal === undefined ? (request?.signal ?? null) : signal,
    repeatable: options.retry && !isOneShot,
    mergeKey: mergeable ? JSON.stringify(facts) : null,
  };
}

/** Whether a method only reads. */
export function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}
