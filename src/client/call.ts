import type { ClientInit, TrafficCall } from "./options.js";
import { check, checkInit, type Settings } from "./settings.js";

/** One call, read. */
export interface Call extends Omit<TrafficCall, "signal"> {
  readonly input: string | URL | Request;
  /** What the wrapped `fetch` gets, but for the signal. */
  readonly init: RequestInit;
  /** Absolute, where the platform makes it so. */
  readonly url: string;
  /** The caller's own. */
  readonly signal: AbortSignal | null;
  readonly maxAttempts: number;
  /** Whether it may be sent again, and can be. */
  readonly repeatable: boolean;
  /** The same for all calls that may share one request; null when it is nobody's but the caller's. */
  readonly mergeKey: string | null;
}

/** Reads a call. Throws a TypeError or RangeError for wrong options, and what `Request` throws for a wrong request. */
export function readCall(input: string | URL | Request, init: ClientInit, settings: Settings): Call {
  checkInit(init);
  const { sensitive = false, merge = settings.merge, retry, maxAttempts = settings.maxAttempts, maxWaitMs = settings.maxWaitMs, ...plain } = init;
  const { signal, body, ...head } = plain;
  const request = typeof input === "object" && "url" in input ? input : null;
  // To look at a body would be to use it up.
  const withBody = request && !isRead(request.method) ? request : null;
  const about = new Request(withBody ? withBody.url : input, { ...(withBody && { method: withBody.method, headers: withBody.headers }), ...head, signal: null });
  const method = about.method.toUpperCase();
  const url = about.url.split("#")[0] as string;
  const identity = typeof settings.identity === "function" ? settings.identity(about) : settings.identity;
  check("identity()", "", identity);
  // Not by `URL`, of which React Native has only a part.
  const [, origin = "", path = ""] = /^([^/?]*\/\/[^/?]*)?([^?]*)/.exec(url) as RegExpExecArray;
  // Firefox does not tell what the body of a `Request` is; null it is without one.
  const isOneShot = body ? isStream(body) : withBody !== null && withBody.body !== null;
  const repeatable = !isOneShot && (retry ?? settings.methods.some((each) => each.toUpperCase() === method));

  const extras = { ...head, method: undefined, headers: undefined };
  // What is in another object, such as a `dispatcher`, cannot be compared.
  const mergeable = merge && !sensitive && isRead(method) && !Object.values<unknown>(extras).some((value) => Object(value) === value);
  const { credentials, cache, redirect, mode, integrity } = about;
  const facts = [method, url, identity, [...about.headers], extras, credentials, cache, redirect, mode, integrity, maxAttempts, maxWaitMs, repeatable];
  return {
    input,
    init: plain,
    url,
    origin,
    path,
    method,
    identity,
    signal: signal === undefined ? (request?.signal ?? null) : signal,
    sensitive,
    maxAttempts,
    maxWaitMs,
    repeatable,
    mergeKey: mergeable ? JSON.stringify(facts) : null,
  };
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** Bodies that can be read only once: web streams, Node streams, async iterators. */
function isStream(body: unknown): boolean {
  return Object(body) === body && ["getReader", "pipe", Symbol.asyncIterator].some((name) => name in (body as object));
}
