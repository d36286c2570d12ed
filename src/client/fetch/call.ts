import { expected } from "../../core/check.js";
import { sharesWork } from "../../platform.js";
import type { ClientInit, TrafficCall } from "./options.js";
import { hasMember } from "./members.js";
import { parseCallOptions, type Settings } from "./settings.js";

/** One call: its request, and the settings that apply to it. */
export interface ClientCall extends Omit<TrafficCall, "onQueued">, Settings {
  readonly input: string | Request;
  /** The arguments of the wrapped `fetch`, except for the signal. */
  readonly init: RequestInit;
  /** Absolute, unless the platform cannot resolve a relative URL. */
  readonly url: string;
  /** Whether the request may be sent again, and its body can be. */
  readonly repeatable: boolean;
  readonly identity: string;
  /** The `Request` whose body is copied for each attempt. Null when there is nothing to copy. */
  readonly source: Request | null;
  /** Equal for calls that may share one request. Null for a call that shares with none. */
  readonly mergeKey: string | null;
}

// RFC 6761 reserves `.invalid`, so no server has this name.
const RELATIVE_BASE = "http://relative.invalid";

/**
 * Parses a call. Throws a TypeError or RangeError for wrong options, and the error of `Request` for a wrong request.
 */
export function parseCall(input: string | URL | Request, init: ClientInit, settings: Settings): ClientCall {
  // `fetch` ignores undefined members. They must not override those of a `Request`.
  let plain: RequestInit = Object.create(null);
  const options = parseCallOptions(init, settings, plain as Record<string, unknown>);
  // `fetch(url, request)`. The options of a library may have a `url`, and none has `bodyUsed`.
  if ("bodyUsed" in plain) [input, plain] = [new Request(input, plain), Object.create(null) as RequestInit];
  const request = typeof input === "object" && hasMember(input, "url") ? (input as Request) : null;
  // As `fetch` does, at the call: the caller may change these objects while the call waits.
  const given = plain.headers ?? partOf(request, "headers");
  if (given) plain.headers = copyHeaders(given);
  const ownMethod = partOf(request, "method");
  const method = `${plain.method ?? ownMethod ?? "GET"}`.toUpperCase();
  const { retry = settings.methods.some((each) => each.toUpperCase() === method) } = options;
  // Without a schedule the first attempt is sent at once, and the wrapped `fetch` copies what it must.
  const isLate = options.traffic || (retry && options.maxAttempts > 1 && !options.sensitive);
  if (plain.body) plain.body = copyBody(plain.body, isLate);
  const { signal, body, ...head } = plain;
  // Only the URL, method and headers of a request with a body are copied here: a copy of all would use the body up.
  const withBody = ownMethod && !isReadMethod(ownMethod) ? request : null;
  // The caller cannot read the body any more, as after `fetch`.
  const own = withBody && !body && isLate ? new Request(withBody) : null;
  const copyHead = (at: typeof input): Request =>
    new Request(at, { __proto__: null, method: ownMethod, ...head, signal: null } as RequestInit);
  let about: Request;
  let base = "";
  try {
    about = copyHead(partOf(withBody, "url") ?? input);
  } catch (error) {
    if (typeof input !== "string") throw error;
    // There is no page that the URL could be relative to. The wrapped `fetch` may know a base.
    about = copyHead(new URL(input, (base = RELATIVE_BASE)));
  }
  const url = about.url.slice(base.length);
  const identity: unknown = typeof settings.identity === "function" ? settings.identity(about) : settings.identity;
  if (typeof identity !== "string") throw new TypeError(expected("identity()", "a string", identity));

  const extras = { ...head, method: undefined, headers: undefined };
  // Objects such as a `dispatcher` cannot be compared, so a call that has one shares with none.
  const hasObjects = Object.values<unknown>(extras).some((value) => Object(value) === value);
  const isEventStream = /event-stream/i.test(about.headers.get("accept") ?? "");
  const mayMerge = sharesWork() && options.merge && !options.sensitive && isReadMethod(method);
  const mergeable = mayMerge && !body && !withBody && !isEventStream && !hasObjects;
  const modes = [about.credentials, about.cache, about.redirect, about.mode, about.integrity];
  const facts = [method, url, identity, ...about.headers, extras, ...modes, options.maxAttempts, options.maxWaitMs, retry];
  // Not `URL`: React Native implements only a part of it.
  const [, origin = "", path = ""] = /^([^/?#]*\/\/[^/?#]*)?([^?#]*)/.exec(url) as RegExpExecArray;
  const repeatable = retry && isRepeatable(body);
  return {
    ...options,
    input: own ?? request ?? `${input as URL}`,
    init: plain,
    url,
    origin,
    path,
    method,
    identity,
    signal: signal === undefined ? (partOf(request, "signal") ?? null) : signal,
    repeatable,
    source: repeatable ? own : null,
    mergeKey: mergeable ? JSON.stringify(facts) : null,
  };
}

/** Whether a request with this method only reads: `GET` or `HEAD`. */
export function isReadMethod(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** What `fetch` sends of a request, whose class may have getters that say something else. */
function partOf<Name extends keyof Request>(request: Request | null, name: Name): Request[Name] | undefined {
  // Some polyfills have no getters.
  const part: unknown = request instanceof Request && Reflect.get(Request.prototype, name, request);
  return (part as Request[Name]) || request?.[name];
}

/** Copies headers in the form that they have, so that a wrapped `fetch` sees what the caller wrote. */
export function copyHeaders(headers: HeadersInit): HeadersInit {
  if (headers instanceof Headers) return new Headers(headers);
  const isList = Symbol.iterator in headers;
  // A list may be one that can be read only once.
  const pairs = Array.from((isList ? headers : Object.entries(headers)) as Iterable<[string, string]>, copyPair);
  return isList ? pairs : Object.fromEntries(pairs);
}

// A value may be a list, which `fetch` writes as text.
function copyPair(pair: Iterable<string>): [string, string] {
  return Array.from(pair, (part) => (Object(part) === part ? `${part}` : part)) as [string, string];
}

/**
 * Whether a body can be read again: none, text, bytes, a `Blob` or a form, of any package or realm. A stream has none
 * of the three members, nor has an object of which `fetch` makes text. The forms of the package form-data are streams.
 */
function isRepeatable(body: unknown): boolean {
  const has = (name: string): boolean => hasMember(body, name);
  return Object(body) !== body || ((has("byteLength") || has("size") || has("append")) && !has("pipe"));
}

/**
 * Copies a form. Bytes are copied only if `isLate`, when they may be read after the call. Everything else is returned
 * as it is: text and a `Blob` never change, and other objects are sent once.
 */
function copyBody(body: BodyInit, isLate: unknown): BodyInit {
  const object = Object(body) as ArrayBuffer & Partial<ArrayBufferView>;
  // Not by `instanceof`: a test environment may have an `ArrayBuffer` of its own.
  if (isLate && hasMember(body, "byteLength")) {
    const { buffer = object } = object;
    // As `fetch` does: another thread may change it while it is sent.
    const isShared = Object.prototype.toString.call(buffer) === "[object SharedArrayBuffer]";
    if (isShared) throw new TypeError(expected("body", "bytes that no threads share", body));
    return new Uint8Array(buffer, object.byteOffset, object.byteLength).slice();
  }
  // React Native's `FormData` cannot be read.
  if (!(hasMember(body, "append") && Symbol.iterator in object)) return body;
  // The `fetch` of another package may know only its own forms.
  const Form = [URLSearchParams, FormData].find((each) => body instanceof each) ?? body.constructor;
  const copy = new (Form as typeof FormData)();
  for (const [name, value] of body as FormData) copy.append(name, value);
  return copy;
}
