import type { ClientInit, TrafficCall } from "./options.js";
import { checkInit, checkType, type Settings } from "./settings.js";

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
  const own = request && !isRead(request.method) ? request : null;
  // Without the body, which to look at would be to use up.
  const about = new Request(own ? own.url : input, { ...(own && { method: own.method, headers: own.headers }), ...head, signal: null });
  const method = about.method.toUpperCase();
  const url = about.url.replace(/#.*/s, "");
  const identity = typeof settings.identity === "function" ? settings.identity(about) : settings.identity;
  checkType("identity", "string", identity);
  // Not by `URL`, of which React Native has only a part.
  const [, origin = "", path = ""] = /^([^/?]*\/\/[^/?]*)?([^?]*)/.exec(url) as RegExpExecArray;
  const oneShot = body == null ? own !== null && own.body !== null : isStream(body);
  const repeatable = !oneShot && (retry ?? settings.methods.includes(method));

  const extras = { ...head, headers: undefined, method: undefined };
  // What is in an object, such as a `dispatcher`, cannot be compared.
  const mergeable = merge && !sensitive && isRead(method) && !Object.values<unknown>(extras).some((value) => value instanceof Object);
  const { credentials, cache, redirect, mode, integrity, referrer } = about;
  const facts = [method, url, identity, [...about.headers], credentials, cache, redirect, mode, integrity, referrer, extras, maxAttempts, maxWaitMs, repeatable];
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
  return body instanceof Object && ("getReader" in body || "pipe" in body || Symbol.asyncIterator in body);
}
