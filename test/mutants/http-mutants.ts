import type { Mutant } from "./mutants.js";

const PROMISE = "checklist-promise";
const REFUSAL = "checklist-refusal";
const FIELDS = "checklist-fields";
const CALLERS = "checklist-callers";
const WIRE = "checklist-wire";

/** The mistakes against the HTTP contract, item by item. */
export const httpMutants: readonly Mutant[] = [
  {
    item: "1", test: REFUSAL,
    find: "return { status: 429, detail: `Too many",
    replace: "return { status: 503, detail: `Too many",
  },
  {
    item: "2", test: REFUSAL,
    find: "((ms) => String(toRetryAfter(ms)))",
    replace: "((ms) => String(toRetryAfter(ms) - 1))",
  },
  {
    item: "3", test: PROMISE,
    find: "Math.max(1, Math.ceil(waitMs / 1_000))",
    replace: "Math.max(1, Math.round(waitMs / 1_000))",
  },
  {
    item: "4", test: PROMISE,
    find: "writer.retryAfter(decision.retryAfterMs)",
    replace: "writer.retryAfter(decision.nextTokenMs)",
  },
  {
    item: "5", test: PROMISE,
    find: "bucket.unitsPerMs * Math.max(0, now - bucket.at)",
    replace: "Math.fround(bucket.unitsPerMs * Math.max(0, now - bucket.at))",
  },
  {
    item: "6", test: PROMISE,
    find: "Math.max(1, Math.ceil(waitMs / 1_000))",
    replace: "1 + Math.floor(waitMs / 1_000)",
  },
  {
    item: "7", test: PROMISE,
    find: "else for (let i = 0; i < buckets.length; i++) chargeAt(buckets, policy, i, costAt(costs, i), now);",
    replace: 'if (decision.allowed || decision.reason === "limited") for (let i = 0; i < buckets.length; i++) chargeAt(buckets, policy, i, costAt(costs, i), now);',
  },
  {
    item: "8", test: PROMISE,
    find: "const LONGEST_WAIT_MS = 2_147_483_647_000;",
    replace: "const LONGEST_WAIT_MS = Infinity;",
  },
  {
    item: "9", test: REFUSAL,
    find: "String(body.length)]",
    replace: "String(body.length + 1)]",
  },
  {
    item: "10", test: REFUSAL,
    find: '","status":${status},"',
    replace: '","status":403,"',
  },
  {
    item: "11", test: REFUSAL,
    find: "reading.retryAfterMs > 0",
    replace: "reading.remaining === 0",
  },
  {
    item: "11", test: REFUSAL,
    find: '(decision.reason === "store_unavailable" ? all[0] : undefined)',
    replace: "undefined",
  },
  {
    item: "11", test: REFUSAL,
    find: "decision.blocked === true ? ABNORMAL_USAGE",
    replace: "decision.blocked === null ? ABNORMAL_USAGE",
  },
  {
    item: "12", test: WIRE,
    find: "if (caller === unlimited) return SKIP;",
    replace: 'if (caller === unlimited || reader.method(request) === "HEAD") return SKIP;',
  },
  {
    item: "13", test: REFUSAL,
    find: "? refusals.forDecision(crossOrigin,",
    replace: '? reader.header(request, "accept") === "text/html" ? { outcome: "skip" } : refusals.forDecision(crossOrigin,',
  },
  {
    item: "14", test: WIRE,
    find: '"cache-control", "no-store", ',
    replace: '',
  },
  {
    item: "15", test: FIELDS,
    find: "Math.floor((limit.size - spent) / limit.unitsPerToken)",
    replace: "Math.ceil((limit.size - spent) / limit.unitsPerToken)",
  },
  {
    item: "16", test: REFUSAL,
    find: "before + cost * limit.unitsPerToken : before;",
    replace: "before : before;",
  },
  {
    item: "17", test: WIRE,
    find: 'if (known.outcome === "pass") applyToNode(response, known);',
    replace: 'if (known.outcome === "pass") queueMicrotask(() => applyToNode(response, known));',
  },
  {
    item: "18", test: WIRE,
    find: "if (!response.headersSent) {",
    replace: "if (fields.length > 0) {",
  },
  {
    item: "19", test: WIRE,
    find: "const handled: unknown = listener(request, response);",
    replace: "const handled: unknown = listener(request, Object.assign(response, { writeHead: (status) => Object.getPrototypeOf(response).writeHead.call(response, status) }));",
  },
  {
    item: "20", test: WIRE,
    find: 'response.setHeader(fields[i] as string, fields[i + 1] as string);',
    replace: '{ response.setHeader(fields[i], fields[i + 1]); response.addTrailers([[fields[i], fields[i + 1]]]); }',
  },
  {
    item: "21", test: REFUSAL,
    find: ': { outcome: "pass", fields, ',
    replace: ': { outcome: "pass", fields: [...fields, "Retry-After", "0"], ',
  },
  {
    item: "21", test: WIRE,
    find: "return status >= 300 && status < 400;",
    replace: "return status === 300;",
  },
  {
    item: "22", test: FIELDS,
    find: 'if (spelling.has(name.toLowerCase())) throw',
    replace: 'if (spelling.has(name)) throw',
  },
  {
    item: "23", test: FIELDS,
    find: 'const names = policy.limits.map(({ name }) => `"${labelOf(policy, name)}"`);',
    replace: "const names = policy.limits.map(({ name }) => labelOf(policy, name));",
  },
  {
    item: "23", test: FIELDS,
    find: ';qu="${unit}"`',
    replace: ";qu=${unit}`",
  },
  {
    item: "23", test: FIELDS,
    find: "return REGISTERED.includes(unit) &&",
    replace: "return !REGISTERED.includes(unit) ? quota :",
  },
  {
    item: "24", test: FIELDS,
    find: "value(facts) : value;",
    replace: "value(facts) : `${value};left=${shown.remaining}`;",
  },
  {
    item: "25", test: FIELDS,
    find: "[A-Za-z0-9_.-]{0,63}$/",
    replace: ".{0,63}$/s",
  },
  {
    item: "26", test: PROMISE,
    find: 'Math.ceil(fullMs / 1_000)',
    replace: 'Math.floor(fullMs / 1_000)',
  },
  {
    item: "27", test: REFUSAL,
    find: "const resetMs = refused ? decision.retryAfterMs :",
    replace: "const resetMs =",
  },
  {
    item: "28", test: FIELDS,
    find: 'Math.max(Math.ceil(nextTokenMs / 1_000)',
    replace: 'Math.max(Math.floor(nextTokenMs / 1_000)',
  },
  {
    item: "28", test: FIELDS,
    find: "Math.ceil((remaining * windowSeconds(limit)) / limit.capacity)",
    replace: "1",
  },
  {
    item: "28", test: FIELDS,
    find: "spreadSeconds(reading, policy.limits[i] ?? policy.limits[0])",
    replace: "spreadSeconds(reading, policy.limits[0])",
  },
  {
    item: "29", test: FIELDS,
    find: 'String(Math.ceil((now() + resetMs) / 1_000))',
    replace: 'String(Math.round((now() + resetMs) / 1_000))',
  },
  {
    item: "30", test: REFUSAL,
    find: "Math.min(LAST_DATE_MS, Math.ceil(epochMs / 1_000) * 1_000)",
    replace: "Math.min(LAST_DATE_MS, epochMs)",
  },
  {
    item: "31", test: PROMISE,
    find: "return bucket.at - now > limit.fullMs;",
    replace: "return false;",
  },
  {
    item: "32", test: CALLERS,
    find: "const decision = limiter.consume(caller, isShort",
    replace: "const decision = limiter.peek(caller, isShort",
  },
  {
    item: "33", test: CALLERS,
    find: 'whole === "") return UNIDENTIFIED;',
    replace: 'whole === "") return ["undefined"];',
  },
  {
    item: "34", test: CALLERS,
    find: "encoded += `${text.length}:${text}`;",
    replace: "encoded += `:${text}`;",
  },
  {
    item: "35", test: CALLERS,
    find: "else for (let i = 0; i < buckets.length; i++) chargeAt(buckets, policy, i, costAt(costs, i), now);",
    replace: "for (let i = 0; i < buckets.length; i++) if (decision.allowed || decision.limits?.[i]?.retryAfterMs === 0) chargeAt(buckets, policy, i, costAt(costs, i), now);",
  },
  {
    item: "36", test: PROMISE,
    find: "const spent = Math.max(0, bucket.spent - refilled);",
    replace: "const spent = bucket.spent - refilled;",
  },
  {
    item: "37", test: WIRE,
    find: "...names.filter((name) => !known.has(name.toLowerCase()))",
    replace: "...names.filter((name) => !known.has(name))",
  },
  {
    item: "38", test: CALLERS,
    find: "preflights.isPlain(request) ? onPreflight(request, rest) : begin(request, rest, UNKNOWN)",
    replace: "begin(request, rest, UNKNOWN)",
  },
  {
    item: "39", test: WIRE,
    find: "refuseOnNode(response, known, request);",
    replace: "refuseOnNode(response, known, request), request.destroy();",
  },
  {
    item: "39", test: "unread-body",
    find: "if (left >= 0) return;",
    replace: "return;",
  },
  {
    item: "39", test: "unread-body",
    find: "setTimeout(() => socket.destroy(), maxMs)",
    replace: "setTimeout(() => {}, maxMs)",
  },
  {
    item: "39", test: "unread-body",
    find: "socket.destroySoon = () => socket.end();",
    replace: "",
  },
  {
    item: "40", test: REFUSAL,
    find: 'return this.#without(policy, costs, "store_unavailable", RETRY_AFTER_MS, error);',
    replace: 'return this.#without(policy, costs, "limited", RETRY_AFTER_MS, error);',
  },
  {
    item: "41", test: WIRE,
    find: 'response.setHeader(fields[i] as string, fields[i + 1] as string);',
    replace: 'response.setHeaders(new Map([[fields[i], fields[i + 1]]]));',
  },
  {
    item: "42", test: CALLERS,
    find: "if (caller === UNIDENTIFIED) return undefined;",
    replace: "",
  },
  {
    item: "43", test: CALLERS,
    find: 'if (skips !== false && isSkip(skips)) return SKIP;',
    replace: 'isSkip(skips);',
  },
];
