import type { Mutant } from "./mutants.js";

const RETRY = "retry";
const MERGE = "merge";
const WAITING = "waiting";
const BODY = "body";
const SNAPSHOT = "snapshot";
const SAME = "same-request";

/** The mistakes against the client's items of the HTTP contract that are about calls, not about reading fields. */
export const clientCallMutants: readonly Mutant[] = [
  {
    item: "57", test: SNAPSHOT, in: "parseCall",
    find: "copyHeaders(given)",
    replace: "given",
  },
  {
    item: "57", test: SNAPSHOT, in: "parseCall",
    find: "const isLate = options.traffic || (retry",
    replace: "const isLate = options.traffic && (retry",
  },
  {
    item: "57", test: SAME, in: "allMembers",
    find: "at = Object.getPrototypeOf(at) as object",
    replace: "at = null",
  },
  {
    item: "57", test: SAME, in: "allMembers",
    find: '!Object.hasOwn(at, "isPrototypeOf")',
    replace: "true",
  },
  {
    item: "57", test: SAME, in: "partOf",
    find: "request instanceof Request",
    replace: "false",
  },
  {
    item: "57", test: SNAPSHOT, in: "sendWithRetries",
    find: "traffic && (await traffic.schedule(call, call.time))",
    replace: "(await traffic?.schedule(call, call.time))",
  },
  {
    item: "57", test: SNAPSHOT, in: "parseCall",
    find: "input: own ?? request ?? `${input as URL}`",
    replace: "input",
  },
  {
    item: "44", test: RETRY, in: "decideRetry",
    find: "Math.max(waitMs ?? 0, MIN_WAIT_MS)",
    replace: "(waitMs ?? MIN_WAIT_MS)",
  },
  {
    item: "48", test: RETRY, in: "decideRetry",
    find: "asked > maxWaitMs",
    replace: "asked === maxWaitMs",
  },
  {
    item: "48", test: WAITING, in: "sleep",
    find: "Math.min(Math.ceil(left), 2 ** 31 - 1)",
    replace: "Math.ceil(left)",
  },
  {
    item: "49", test: RETRY, in: "decideRetry",
    find: "Math.ceil(told + fraction *",
    replace: "Math.ceil(told - fraction *",
  },
  {
    item: "49", test: WAITING, in: "sleep",
    find: "end - performance.now()",
    replace: "timer === undefined ? ms : 0",
  },
  {
    item: "50", test: RETRY, in: "decideRetry",
    find: "backoffMs - told",
    replace: "backoffMs",
  },
  {
    item: "52", test: RETRY, in: "decideRetry",
    find: "attempts >= call.maxAttempts",
    replace: "attempts > call.maxAttempts",
  },
  {
    item: "53", test: "reply", in: "parseReply",
    find: 'status < 500 ? "limited" : "unavailable"',
    replace: '"limited"',
  },
  {
    item: "53", test: "network", in: "sendWithRetries",
    find: "if (!isNetworkError(error)) throw error;",
    replace: "",
  },
  {
    item: "53", test: "network", in: "CALL_FAILURE",
    find: "|bad port|",
    replace: "|",
  },
  {
    item: "53", test: "network", in: "isNetworkError",
    find: "/(many|number of|maximum) redirect|",
    replace: "/redirect|",
  },
  {
    item: "54", test: "merge-default", in: "parseSettings",
    find: "identity !== undefined || (fetch === undefined && hasOneUser())",
    replace: "true",
  },
  {
    item: "55", test: "merge-default", in: "parseSettings",
    find: "(fetch === undefined && hasOneUser())",
    replace: "fetch === undefined",
  },
  {
    item: "54", test: MERGE, in: "joinRequest",
    find: "waiting.size > 0 ? cloneResult(result) : result",
    replace: "result",
  },
  {
    item: "54", test: MERGE, in: "createMerger",
    find: "pending.get(mergeKey) === shared && pending.delete(mergeKey)",
    replace: "pending.get(mergeKey) === shared",
  },
  {
    item: "55", test: MERGE, in: "parseCall",
    find: "const facts = [method, url, identity, ...about.headers,",
    replace: "const facts = [method, url, ...about.headers,",
  },
  {
    item: "55", test: MERGE, in: "createMerger",
    find: "send(signal, onWait).finally(endSharing)",
    replace: "send(signal, onWait)",
  },
  {
    item: "55", test: MERGE, in: "joinRequest",
    find: "if (--shared.active > 0) return;",
    replace: "shared.active--;",
  },
  {
    item: "56", test: RETRY, in: "decideRetry",
    find: 'if (call.sensitive) return "sensitive";',
    replace: "",
  },
  {
    item: "57", test: RETRY, in: "parseCall",
    find: "retry && isRepeatable(body)",
    replace: "retry",
  },
  {
    item: "58", test: WAITING, in: "sleep",
    find: "void (timer = setTimeout(rest,",
    replace: "void (setTimeout(rest,",
  },
  {
    item: "57", test: "network", in: "sendAttempt",
    find: "source && number < call.maxAttempts ? source.clone() : call.input",
    replace: "call.input",
  },
  {
    item: "58", test: WAITING, in: "sendWithRetries",
    find: "throwIfAborted(signal);",
    replace: "",
  },
  {
    item: "59", test: BODY, in: "readText",
    find: "text.length < MAX_BODY_CHARACTERS",
    replace: "text.length < 4 * MAX_BODY_CHARACTERS",
  },
  {
    item: "59", test: "connections", in: "sendWithRetries",
    find: "cancelBody(response); throw error;",
    replace: "throw error;",
  },
  {
    item: "59", test: "connections", in: "sendWithRetries",
    find: "response = cancelBody(response)",
    replace: "response = null",
  },
  {
    item: "62", test: RETRY, in: "parseReply",
    find: 'status === 429 ? "limited"',
    replace: 'status === 429 && !(Number(headers.get("ratelimit-remaining")) > 0) ? "limited"',
  },
  {
    item: "63", test: "end-to-end", in: "decideRetry",
    find: "Math.ceil(told + fraction *",
    replace: "Math.ceil(told - 1 + 0 * fraction *",
  },
];
