import type { Mutant } from "./mutants.js";

const PROMISE = "test/http/checklist-promise.test.ts";
const REFUSAL = "test/http/checklist-refusal.test.ts";
const FIELDS = "test/http/checklist-fields.test.ts";
const CALLERS = "test/http/checklist-callers.test.ts";
const WIRE = "test/http/checklist-wire.test.ts";

/** The mistakes against the HTTP contract, item by item. */
export const httpMutants: readonly Mutant[] = [
  {
    item: "1", file: "src/http/refusal/refusal.ts", test: REFUSAL,
    find: "return answer(to, tooManyRequests(seconds, violated),",
    replace: "return answer(to, unavailable(seconds),",
  },
  {
    item: "2", file: "src/http/refusal/refusal.ts", test: REFUSAL,
    find: ": String(seconds)]",
    replace: ": String(seconds - 1)]",
  },
  {
    item: "3", file: "src/http/retry-after/retry-after.ts", test: PROMISE,
    find: "Math.max(1, Math.ceil(waitMs / 1_000))",
    replace: "Math.max(1, Math.round(waitMs / 1_000))",
  },
  {
    item: "4", file: "src/http/refusal/refusal.ts", test: PROMISE,
    find: "toRetryAfter(decision.retryAfterMs)",
    replace: "toRetryAfter(decision.nextTokenMs)",
  },
  {
    item: "5", file: "src/core/bucket.ts", test: PROMISE,
    find: "bucket.unitsPerMs * Math.max(0, now - bucket.at)",
    replace: "Math.fround(bucket.unitsPerMs * Math.max(0, now - bucket.at))",
  },
  {
    item: "6", file: "src/http/retry-after/retry-after.ts", test: PROMISE,
    find: "Math.max(1, Math.ceil(waitMs / 1_000))",
    replace: "1 + Math.floor(waitMs / 1_000)",
  },
  {
    item: "7", file: "src/core/decision.ts", test: PROMISE,
    find: "if (decision.allowed) charge(",
    replace: 'if (decision.allowed || decision.reason === "limited") charge(',
  },
  {
    item: "8", file: "src/http/headers/writer.ts", test: PROMISE,
    find: "const LONGEST_WAIT_MS = 2_147_483_647_000;",
    replace: "const LONGEST_WAIT_MS = Infinity;",
  },
  {
    item: "9", file: "src/http/refusal/refusal.ts", test: REFUSAL,
    find: "new TextEncoder().encode(text).length",
    replace: "text.length",
  },
  {
    item: "10", file: "src/http/refusal/problem.ts", test: REFUSAL,
    find: "status: 429,",
    replace: "status: 403,",
  },
  {
    item: "11", file: "src/http/refusal/refusal.ts", test: REFUSAL,
    find: "(all[i]?.retryAfterMs ?? 0) > 0",
    replace: "all[i]?.remaining === 0",
  },
  {
    item: "12", file: "src/http/gate.ts", test: WIRE,
    find: "if (isPreflight(request)) return SKIP;",
    replace: 'if (isPreflight(request) || reader.method(request) === "HEAD") return SKIP;',
  },
  {
    item: "13", file: "src/http/gate.ts", test: REFUSAL,
    find: "if (!decision.allowed) return",
    replace: 'if (!decision.allowed && reader.header(request, "accept") === "text/html") return SKIP; else if (!decision.allowed) return',
  },
  {
    item: "14", file: "src/http/refusal/refusal.ts", test: WIRE,
    find: '"Cache-Control", "no-store", ',
    replace: "",
  },
  {
    item: "15", file: "src/core/bucket.ts", test: FIELDS,
    find: "Math.floor((limit.size - spent) / limit.unitsPerToken)",
    replace: "Math.ceil((limit.size - spent) / limit.unitsPerToken)",
  },
  {
    item: "16", file: "src/core/decision.ts", test: REFUSAL,
    find: "spentAt(bucket, limit, now) + taken * limit.unitsPerToken",
    replace: "spentAt(bucket, limit, now)",
  },
  {
    item: "17", file: "src/adapters/node.ts", test: WIRE,
    find: 'if (known.outcome === "pass") applyToNode(response, known);',
    replace: 'if (known.outcome === "pass") queueMicrotask(() => applyToNode(response, known));',
  },
  {
    item: "18", file: "src/http/responses/node.ts", test: WIRE,
    find: "if (!response.headersSent) {",
    replace: "if (fields.length > 0) {",
  },
  {
    item: "19", file: "src/adapters/node.ts", test: WIRE,
    find: "return listener(request, response);",
    replace: "return listener(request, Object.assign(response, { writeHead: (status) => Object.getPrototypeOf(response).writeHead.call(response, status) }));",
  },
  {
    item: "20", file: "src/http/responses/node.ts", test: WIRE,
    find: "response.setHeader(lowerCase(fields[i] as string), fields[i + 1] as string);",
    replace: "{ response.setHeader(fields[i], fields[i + 1]); response.addTrailers([[fields[i], fields[i + 1]]]); }",
  },
  {
    item: "21", file: "src/http/gate.ts", test: REFUSAL,
    find: 'return { outcome: "pass", fields, ',
    replace: 'return { outcome: "pass", fields: [...fields, "Retry-After", "0"], ',
  },
  {
    item: "22", file: "src/http/headers/writer.ts", test: FIELDS,
    find: "if (seen.has(lower)) throw",
    replace: "if (seen.has(name)) throw",
  },
  {
    item: "23", file: "src/http/headers/fields.ts", test: FIELDS,
    find: '`"${labelOf(policy, name)}";r=`',
    replace: "`${labelOf(policy, name)};r=`",
  },
  {
    item: "24", file: "src/http/headers/writer.ts", test: FIELDS,
    find: "value(facts) : value;",
    replace: "value(facts) : `${value};left=${shown.remaining}`;",
  },
  {
    item: "25", file: "src/core/policy.ts", test: FIELDS,
    find: "[A-Za-z0-9_.-]{0,63}$/",
    replace: ".{0,63}$/s",
  },
  {
    item: "26", file: "src/http/headers/fields.ts", test: PROMISE,
    find: "Math.ceil(limit.fullMs / 1_000)",
    replace: "Math.floor(limit.fullMs / 1_000)",
  },
  {
    item: "27", file: "src/http/headers/writer.ts", test: REFUSAL,
    find: "const resetMs = refused ? decision.retryAfterMs :",
    replace: "const resetMs =",
  },
  {
    item: "28", file: "src/http/headers/fields.ts", test: FIELDS,
    find: "Math.ceil(reading.nextTokenMs / 1_000)",
    replace: "Math.floor(reading.nextTokenMs / 1_000)",
  },
  {
    item: "29", file: "src/http/headers/fields.ts", test: FIELDS,
    find: "String(Math.ceil((wallClock() + resetMs) / 1_000))",
    replace: "String(Math.round((wallClock() + resetMs) / 1_000))",
  },
  {
    item: "30", file: "src/http/retry-after/retry-after.ts", test: REFUSAL,
    find: "new Date(Math.ceil(epochMs / 1_000) * 1_000)",
    replace: "new Date(epochMs)",
  },
  {
    item: "31", file: "src/core/bucket.ts", test: PROMISE,
    find: "return bucket.at - now > limit.fullMs;",
    replace: "return false;",
  },
  {
    item: "32", file: "src/http/gate.ts", test: CALLERS,
    find: "const decision = limiter.consume(",
    replace: "const decision = limiter.peek(",
  },
  {
    item: "33", file: "src/http/gate.ts", test: CALLERS,
    find: 'whole === "") return UNIDENTIFIED;',
    replace: 'whole === "") return ["undefined"];',
  },
  {
    item: "34", file: "src/core/key.ts", test: CALLERS,
    find: "encoded += `${text.length}:${text}`;",
    replace: "encoded += `:${text}`;",
  },
  {
    item: "35", file: "src/core/decision.ts", test: CALLERS,
    find: "if (decision.allowed) charge(",
    replace: "if (decision.allowed || decision.limits?.[i]?.retryAfterMs === 0) charge(",
  },
  {
    item: "36", file: "src/core/bucket.ts", test: PROMISE,
    find: "const spent = Math.max(0, bucket.spent - refilled);",
    replace: "const spent = bucket.spent - refilled;",
  },
  {
    item: "37", file: "src/http/responses/cors.ts", test: WIRE,
    find: "...names.filter((name) => !known.has(name.toLowerCase()))",
    replace: "...names.filter((name) => !known.has(name))",
  },
  {
    item: "38", file: "src/http/gate.ts", test: CALLERS,
    find: "if (isPreflight(request)) return SKIP;",
    replace: "",
  },
  {
    item: "39", file: "src/adapters/node.ts", test: WIRE,
    find: "refuseOnNode(response, known);",
    replace: "refuseOnNode(response, known), request.destroy();",
  },
  {
    item: "40", file: "src/guard/fallback.ts", test: REFUSAL,
    find: 'return unasked(policy, cost, "store_unavailable", RETRY_AFTER_MS, error);',
    replace: 'return unasked(policy, cost, "limited", RETRY_AFTER_MS, error);',
  },
  {
    item: "41", file: "src/http/responses/node.ts", test: WIRE,
    find: "response.setHeader(lowerCase(fields[i] as string), fields[i + 1] as string);",
    replace: "response.setHeaders(new Map([[fields[i], fields[i + 1]]]));",
  },
  {
    item: "42", file: "src/http/gate.ts", test: CALLERS,
    find: "partitionKey?.(key)",
    replace: "partitionKey?.(key) ?? new TextEncoder().encode(String(key))",
  },
  {
    item: "43", file: "src/http/gate.ts", test: CALLERS,
    find: ": skipped ? SKIP : identify(request);",
    replace: ": identify(request);",
  },
];
