import type { Mutant } from "./mutants.js";

const RETRY = "retry";
const MERGE = "merge";
const WAITING = "waiting";
const BODY = "body";
const SNAPSHOT = "snapshot";

/** The mistakes against the client's items of the HTTP contract that are about calls, not about reading fields. */
export const clientCallMutants: readonly Mutant[] = [
  {
    item: "57", test: SNAPSHOT,
    find: "if (given) plain.headers = copyHeaders(given);",
    replace: "if (given) plain.headers = given;",
  },
  {
    item: "57", test: SNAPSHOT,
    find: "const isLate = options.traffic || (retry",
    replace: "const isLate = options.traffic && (retry",
  },
  {
    item: "57", test: SNAPSHOT,
    find: "traffic && (await traffic.schedule(call, call.time))",
    replace: "(await traffic?.schedule(call, call.time))",
  },
  {
    item: "57", test: SNAPSHOT,
    find: "input: own ?? request ?? `${input as URL}`,",
    replace: "input,",
  },
  {
    item: "44", test: RETRY,
    find: "Math.max(waitMs ?? 0, MIN_WAIT_MS)",
    replace: "(waitMs ?? MIN_WAIT_MS)",
  },
  {
    item: "48", test: RETRY,
    find: "if (asked > maxWaitMs) return",
    replace: "if (asked === maxWaitMs) return",
  },
  {
    item: "48", test: WAITING,
    find: "Math.min(Math.ceil(left), 2 ** 31 - 1)",
    replace: "Math.ceil(left)",
  },
  {
    item: "49", test: RETRY,
    find: "Math.ceil(told + fraction *",
    replace: "Math.ceil(told - fraction *",
  },
  {
    item: "49", test: WAITING,
    find: "const left = end - performance.now();",
    replace: "const left = timer === undefined ? ms : 0;",
  },
  {
    item: "50", test: RETRY,
    find: "? backoffMs - told",
    replace: "? backoffMs",
  },
  {
    item: "52", test: RETRY,
    find: "if (attempts >= call.maxAttempts)",
    replace: "if (attempts > call.maxAttempts)",
  },
  {
    item: "53", test: "reply",
    find: 'reason = status < 500 ? "limited" : "unavailable";',
    replace: 'reason = "limited";',
  },
  {
    item: "53", test: "network",
    find: "if (!isNetworkError(error)) throw error;",
    replace: "",
  },
  {
    item: "53", test: "network",
    find: "ManyRedirect|redirect count/",
    replace: "ManyRedirect/",
  },
  {
    item: "53", test: "network",
    find: "/(many|number of|maximum) redirect|",
    replace: "/redirect|",
  },
  {
    item: "54", test: "merge-default",
    find: "identity !== undefined || (fetch === undefined && hasOneUser())",
    replace: "true",
  },
  {
    item: "55", test: "merge-default",
    find: "(fetch === undefined && hasOneUser())",
    replace: "fetch === undefined",
  },
  {
    item: "54", test: MERGE,
    find: "const own = waiting.size > 0 ? cloneResult(result) : result;",
    replace: "const own = result;",
  },
  {
    item: "54", test: MERGE,
    find: "pending.get(mergeKey) === shared && pending.delete(mergeKey)",
    replace: "pending.get(mergeKey) === shared",
  },
  {
    item: "55", test: MERGE,
    find: "const facts = [method, url, identity, ...about.headers,",
    replace: "const facts = [method, url, ...about.headers,",
  },
  {
    item: "55", test: MERGE,
    find: "return send(signal, onWait).finally(endSharing);",
    replace: "return send(signal, onWait);",
  },
  {
    item: "55", test: MERGE,
    find: "if (--shared.active > 0) return;",
    replace: "shared.active--;",
  },
  {
    item: "56", test: RETRY,
    find: 'if (call.sensitive) return "sensitive";',
    replace: "",
  },
  {
    item: "57", test: RETRY,
    find: "const repeatable = retry && !ONE_SHOT.some((name) => name in Object(body));",
    replace: "const repeatable = retry;",
  },
  {
    item: "58", test: WAITING,
    find: "void (timer = setTimeout(rest,",
    replace: "void (setTimeout(rest,",
  },
  {
    item: "57", test: "network",
    find: "source && number < call.maxAttempts ? source.clone() : call.input",
    replace: "call.input",
  },
  {
    item: "58", test: WAITING,
    find: "      throwIfAborted(signal);",
    replace: "",
  },
  {
    item: "59", test: BODY,
    find: "text.length < MAX_BODY_CHARACTERS &&",
    replace: "text.length < 4 * MAX_BODY_CHARACTERS &&",
  },
  {
    item: "59", test: "connections",
    find: "    release(response);",
    replace: "",
  },
  {
    item: "59", test: "connections",
    find: "response = release(response);",
    replace: "response = null;",
  },
  {
    item: "62", test: RETRY,
    find: 'status === 429 ? "limited"',
    replace: 'status === 429 && !(Number(headers.get("ratelimit-remaining")) > 0) ? "limited"',
  },
  {
    item: "63", test: "end-to-end",
    find: "Math.ceil(told + fraction *",
    replace: "Math.ceil(told - 1 + 0 * fraction *",
  },
];
