import type { Mutant } from "./mutants.js";

const PROMISE = "checklist-promise";
const REFUSAL = "checklist-refusal";
const FIELDS = "checklist-fields";
const CALLERS = "checklist-callers";
const WIRE = "checklist-wire";

/** The mistakes against the HTTP contract, item by item. */
export const httpMutants: readonly Mutant[] = [
  {
    item: "1", test: REFUSAL, in: "createRefusals",
    find: "return { status: 429",
    replace: "return { status: 503",
  },
  {
    item: "2", test: REFUSAL, in: "createHeaderWriter",
    find: "toRetryAfter(ms)",
    replace: "toRetryAfter(ms) - 1",
  },
  {
    item: "3", test: PROMISE, in: "toRetryAfter",
    find: "Math.ceil(waitMs / 1_000)",
    replace: "Math.round(waitMs / 1_000)",
  },
  {
    item: "4", test: PROMISE, in: "createRefusals",
    find: "writer.retryAfter(decision.retryAfterMs)",
    replace: "writer.retryAfter(decision.nextTokenMs)",
  },
  {
    item: "5", test: PROMISE, in: "spentAt",
    find: "bucket.unitsPerMs * Math.max(0, now - bucket.at)",
    replace: "Math.fround(bucket.unitsPerMs * Math.max(0, now - bucket.at))",
  },
  {
    item: "6", test: PROMISE, in: "toRetryAfter",
    find: "Math.max(1, Math.ceil(waitMs / 1_000))",
    replace: "1 + Math.floor(waitMs / 1_000)",
  },
  {
    item: "7", test: PROMISE, in: "consume",
    find: "if (!decision.allowed) convertStale(buckets, policy, now);",
    replace: 'if (decision.reason === "limited") buckets.forEach((bucket, i) => changeUnits(bucket, policy.limits[i], now, costAt(costs, i) * policy.limits[i].unitsPerToken));',
  },
  {
    item: "8", test: PROMISE, in: "LONGEST_WAIT_MS",
    find: "LONGEST_WAIT_MS = 2_147_483_647_000",
    replace: "LONGEST_WAIT_MS = Infinity",
  },
  {
    item: "9", test: REFUSAL, in: "refusalOf",
    find: "body.length",
    replace: "body.length + 1",
  },
  {
    item: "10", test: REFUSAL, in: "problemText",
    find: '","status":${status},"',
    replace: '","status":403,"',
  },
  {
    item: "11", test: REFUSAL, in: "violatedOf",
    find: "reading.retryAfterMs > 0",
    replace: "reading.remaining === 0",
  },
  {
    item: "11", test: REFUSAL, in: "violatedOf",
    find: '(decision.reason === "store_unavailable" ? all[0] : undefined)',
    replace: "undefined",
  },
  {
    item: "11", test: REFUSAL, in: "createRefusals",
    find: 'const type = Object.hasOwn(decision, "blocked")',
    replace: "Object.hasOwn(decision, 'unblocked')",
  },
  {
    item: "12", test: WIRE, in: "createGate",
    find: "const caller = who(key);",
    replace: 'const caller = reader.method(request) === "HEAD" ? unlimited : who(key);',
  },
  {
    item: "13", test: REFUSAL, in: "createVerdicts",
    find: ": refusals.forDecision(crossOrigin,",
    replace: ': reader.header(request, "accept") === "text/html" ? { outcome: "skip" } : refusals.forDecision(crossOrigin,',
  },
  {
    item: "14", test: WIRE, in: "refusalOf",
    find: '"cache-control", "no-store",',
    replace: "",
  },
  {
    item: "15", test: FIELDS, in: "answer",
    find: "Math.floor((size - spent) / unitsPerToken)",
    replace: "Math.ceil((size - spent) / unitsPerToken)",
  },
  {
    item: "16", test: REFUSAL, in: "answer",
    find: "(size - spent) / unitsPerToken",
    replace: "(size - before) / unitsPerToken",
  },
  {
    item: "17", test: WIRE, in: "wrapListeners",
    find: "applyToNode(response, known)",
    replace: "queueMicrotask(() => applyToNode(response, known))",
  },
  {
    item: "18", test: WIRE, in: "applyToNode",
    find: "!response.headersSent",
    replace: "fields.length > 0",
  },
  {
    item: "19", test: WIRE, in: "wrapListeners",
    find: "listener(request, response)",
    replace: "listener(request, Object.assign(response, { writeHead: (status) => Object.getPrototypeOf(response).writeHead.call(response, status) }))",
  },
  {
    item: "20", test: WIRE, in: "setFields",
    find: "response.setHeader(fields[i] as string, fields[i + 1] as string);",
    replace: "{ response.setHeader(fields[i], fields[i + 1]); response.addTrailers([[fields[i], fields[i + 1]]]); }",
  },
  {
    item: "21", test: REFUSAL, in: "createVerdicts",
    find: '? { outcome: "pass", fields,',
    replace: '? { outcome: "pass", fields: [...fields, "Retry-After", "0"],',
  },
  {
    item: "21", test: WIRE, in: "isRedirect",
    find: "status >= 300 && status < 400",
    replace: "status === 300",
  },
  {
    item: "22", test: FIELDS, in: "spellingOf",
    find: "spelling.has(name.toLowerCase())",
    replace: "spelling.has(name)",
  },
  {
    item: "23", test: FIELDS, in: "limitItems",
    find: '`"${labelOf(policy, limit.name)}"`',
    replace: "labelOf(policy, limit.name)",
  },
  {
    item: "23", test: FIELDS, in: "POLICY_FIELD",
    find: ';qu="${unit}"`',
    replace: ";qu=${unit}`",
  },
  {
    item: "23", test: FIELDS, in: "POLICY_FIELD",
    find: "return REGISTERED.includes(unit) &&",
    replace: "return !REGISTERED.includes(unit) ? quota :",
  },
  {
    item: "24", test: FIELDS, in: "createHeaderWriter",
    find: "value(facts) : value;",
    replace: "value(facts) : `${value};left=${shown.remaining}`;",
  },
  {
    item: "25", test: FIELDS, in: "checkName",
    find: "[A-Za-z0-9_.-]{0,63}$/",
    replace: ".{0,63}$/s",
  },
  {
    item: "26", test: PROMISE, in: "windowSeconds",
    find: "Math.ceil(fullMs / 1_000)",
    replace: "Math.floor(fullMs / 1_000)",
  },
  {
    item: "27", test: REFUSAL, in: "createHeaderWriter",
    find: "const resetMs = refused ? decision.retryAfterMs :",
    replace: "const resetMs =",
  },
  {
    item: "28", test: FIELDS, in: "spreadSeconds",
    find: "Math.max(Math.ceil(nextTokenMs / 1_000)",
    replace: "Math.max(Math.floor(nextTokenMs / 1_000)",
  },
  {
    item: "28", test: FIELDS, in: "spreadSeconds",
    find: "Math.ceil((remaining * window) / capacity)",
    replace: "1",
  },
  {
    item: "28", test: FIELDS, in: "limitItems",
    find: "spreadSeconds(reading, limit)",
    replace: "spreadSeconds(reading, first)",
  },
  {
    item: "29", test: FIELDS, in: "epochSeconds",
    find: "Math.ceil((now() + resetMs) / 1_000)",
    replace: "Math.round((now() + resetMs) / 1_000)",
  },
  {
    item: "30", test: REFUSAL, in: "toHttpDate",
    find: "Math.ceil(epochMs / 1_000) * 1_000",
    replace: "epochMs",
  },
  {
    item: "31", test: PROMISE, in: "isImpossible",
    find: "bucket.at - now > limit.fullMs",
    replace: "false",
  },
  {
    item: "32", test: CALLERS, in: "takeOne",
    find: "const decision = limiter.consume(caller, isShort",
    replace: "const decision = limiter.peek(caller, isShort",
  },
  {
    item: "33", test: CALLERS, in: "callerOf",
    find: 'parts[i] === "") return UNIDENTIFIED;',
    replace: 'whole === "") return ["undefined"];',
  },
  {
    item: "34", test: CALLERS, in: "encodeKey",
    find: "`${text.length}:${text}`",
    replace: "`:${text}`",
  },
  {
    item: "35", test: CALLERS, in: "decideSeveral",
    find: "costAt(costs, i), now, taken)",
    replace: "costAt(costs, i), now, take)",
  },
  {
    item: "36", test: PROMISE, in: "spentAt",
    find: "Math.max(0, bucket.spent - refilled)",
    replace: "bucket.spent - refilled",
  },
  {
    item: "37", test: WIRE, in: "exposing",
    find: "known.has(name.toLowerCase())",
    replace: "known.has(name)",
  },
  {
    item: "38", test: CALLERS, in: "createGate",
    find: "preflights.isPlain(request) ? onPreflight(request, rest) : decide(request, rest, NOT_ASKED)",
    replace: "decide(request, rest, NOT_ASKED)",
  },
  {
    item: "39", test: WIRE, in: "wrapListeners",
    find: "refuseOnNode(response, known, request)",
    replace: "refuseOnNode(response, known, request), request.destroy()",
  },
  {
    item: "39", test: "unread-body", in: "discardBody",
    find: "if (left >= 0) return;",
    replace: "return;",
  },
  {
    item: "39", test: "unread-body", in: "discardBody",
    find: "() => socket.destroy()",
    replace: "() => {}",
  },
  {
    item: "39", test: "unread-body", in: "discardBody",
    find: "socket.destroySoon = () => socket.end();",
    replace: "",
  },
  {
    item: "40", test: REFUSAL, in: "Fallback.decide",
    find: 'this.#without(policy, costs, "store_unavailable", RETRY_AFTER_MS, error)',
    replace: 'this.#without(policy, costs, "limited", RETRY_AFTER_MS, error)',
  },
  {
    item: "41", test: WIRE, in: "setFields",
    find: "response.setHeader(fields[i] as string, fields[i + 1] as string)",
    replace: "response.setHeaders(new Map([[fields[i], fields[i + 1]]]))",
  },
  {
    item: "42", test: CALLERS, in: "partitionsOf",
    find: "if (caller === UNIDENTIFIED) return undefined;",
    replace: "",
  },
  {
    item: "43", test: CALLERS, in: "createGate",
    find: "if (skips !== false && isSkip(skips)) return SKIP;",
    replace: "isSkip(skips);",
  },
];
