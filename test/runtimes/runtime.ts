/** Which runtime this program is in. */
export const runtime = ((): "node" | "bun" | "deno" | "browser" | "workerd" => {
  if ("Deno" in globalThis) return "deno";
  if ("Bun" in globalThis) return "bun";
  if ("document" in globalThis) return "browser";
  return "WebSocketPair" in globalThis ? "workerd" : "node";
})();

const because = (reason: string, names: readonly string[]): readonly (readonly [name: string, reason: string])[] => names.map((name) => [name, reason]);

const LACKS: { readonly [Name in typeof runtime]?: readonly (readonly [name: string, reason: string])[] } = {
  bun: because('every Request of Bun has `credentials: "include"`', ["55 · another a Request's credentials is another request"]),
  browser: [
    ["an abort › 55 · after the response still ends its body, once all callers have aborted", "Chromium replaces the error that ends a body"],
    ["50 · 300 clients that were refused at once do not come back in lockstep", "it takes 12,000 timers, of 4 ms each in a page"],
    ["57 · a body in an async iterator arrives once and is never replayed", "browsers take no async iterator as a body"],
  ],
  workerd: [
    ["55 · another integrity is another request", "workerd has no `integrity`"],
    // Law L15. `npm run check:runtimes -- Workers` also sends equal calls of many requests at once.
    ...because("requests share no calls on Workers", [
      "merged calls get a response each, with a body each",
      "one request › 54 · for many identical calls, each with a body of its own",
      "one request › 54 · also over the whole chain of retries",
      "one request › 54 · callers that are given up get an error each, with a response each",
      "54 · callers that are given up after a mock without `clone` get an error each",
      "54 · once it has ended, a new call is a new request: › 54 · after a failure, which all callers get",
      "55 · the same request is one: text and URL",
      "55 · the same request is one: text and Request",
      "55 · the same request is one: headers in another order and case",
      "55 · the same request is one: undefined, which says nothing",
      "55 · the same request is one: a method in small letters",
      "55 · the same request is one: another signal",
      "55 · the same request is one: HEAD",
      "55 · a GET after a POST does not join one from before or during it",
      "55 · a GET after a DELETE does not join one from before or during it",
      "55 · a call's `merge: true` overrides its client's `merge: false`",
      "55 · callers of different identities never share a response",
      "55 · an `identity` function gets the request and leaves its body unread",
      "an abort › 55 · of one does not abort the others",
      "an abort › 55 · of all aborts the request",
      "an abort › 55 · of all but one that cannot abort does not",
      "an abort › 55 · after the response still ends its body, once all callers have aborted",
      "a call waits for `schedule`, and merged calls are scheduled as one",
    ]),
    ...because("requests share no count of calls on Workers", [
      "a call beyond `maxPending` rejects at once and is not sent, until another has ended",
      "merged calls, calls that wait for a retry and calls that fail count until they end",
      "by default 10,000 calls may be pending",
    ]),
  ],
};

/** The tests of the client's suite that are skipped in this runtime, by name, each with the reason. */
export const lacks: Readonly<Record<string, string>> = Object.fromEntries(LACKS[runtime] ?? []);
