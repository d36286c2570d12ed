import type { Mutant } from "./mutants.js";

const BOUND = "test/core/laws-bound.test.ts";
const PROMISE = "test/core/laws-promise.test.ts";
const MODEL = "test/core/laws-model.test.ts";
const RESERVATIONS = "test/composed/reservations.test.ts";

/** The mistakes against the laws, law by law. */
export const lawMutants: readonly Mutant[] = [
  {
    item: "L1", file: "src/core/bucket.ts", test: BOUND,
    find: "const spent = Math.max(0, bucket.spent - refilled);",
    replace: "const spent = Math.max(-bucket.unitsPerToken, bucket.spent - refilled);",
  },
  {
    item: "L1", file: "src/core/refundable.ts", test: RESERVATIONS,
    find: "Math.min(tokens, Math.ceil(units / limit.unitsPerToken))",
    replace: "tokens",
  },
  {
    item: "L2", file: "src/core/bucket.ts", test: PROMISE,
    find: "over <= 0 ? 0 : Math.ceil(over / limit.unitsPerMs)",
    replace: "over <= 0 ? 0 : 1 + Math.floor(over / limit.unitsPerMs)",
  },
  {
    item: "L2", file: "src/core/decision.ts", test: RESERVATIONS,
    find: "Math.min(2 * limit.size, Number.MAX_SAFE_INTEGER)",
    replace: "Number.MAX_SAFE_INTEGER",
  },
  {
    item: "L2", file: "src/composed/forecast.ts", test: "test/composed/laws-waiting.test.ts",
    find: "spent: Math.max(0, (resetMs - 1) * unitsPerMs + 1)",
    replace: "spent: resetMs * unitsPerMs + 1",
  },
  {
    item: "L3", file: "src/core/decision.ts", test: PROMISE,
    find: "if (decision.allowed) charge(",
    replace: 'if (decision.allowed || decision.reason === "limited") charge(',
  },
  {
    item: "L4", file: "src/core/bucket.ts", test: PROMISE,
    find: "return Math.ceil(spent / limit.unitsPerMs);",
    replace: "return Math.floor(spent / limit.unitsPerMs);",
  },
  {
    item: "L5", file: "src/core/bucket.ts", test: BOUND,
    find: "const over = spent - (limit.size - cost * limit.unitsPerToken);",
    replace: "const over = 1 + spent - (limit.size - cost * limit.unitsPerToken);",
  },
  {
    item: "L6", file: "src/core/bucket.ts", test: BOUND,
    find: "return bucket.at - now > limit.fullMs;",
    replace: "return false;",
  },
  {
    item: "L7", file: "src/core/decision.ts", test: "test/core/laws-snapshot.test.ts",
    find: "return decision;",
    replace: "return Object.assign((globalThis.kept ??= {}), decision);",
  },
  {
    item: "L8", file: "src/core/decision.ts", test: MODEL,
    find: "waitFor(remaining + 1, spent, limit) + lag,",
    replace: "waitFor(remaining + 1, spent, limit),",
  },
  {
    item: "L9", file: "src/core/errors.ts", test: "test/core/bad-input.test.ts",
    find: "if (!Number.isSafeInteger(value) || value < least)",
    replace: "if (!Number.isSafeInteger(value) || value < 0)",
  },
  {
    item: "L10", file: "src/core/decision.ts", test: "test/core/laws-together.test.ts",
    find: "waits.every((wait) => wait === 0)",
    replace: "waits.some((wait) => wait === 0)",
  },
  {
    item: "L10", file: "src/composed/combine.ts", test: "test/composed/combine.test.ts",
    find: "made[place]?.allowed ? undo(part, made[place] as Decision) : undefined",
    replace: "undefined as void",
  },
  {
    item: "L10", file: "src/composed/combine-charge.ts", test: "test/composed/combine.test.ts",
    find: "if (!isAllowed(decisions)) decisions.forEach(tookNothing);",
    replace: "",
  },
  {
    item: "L1", file: "src/core/refundable.ts", test: "test/limiter/refund.test.ts",
    find: "Math.min(tokens, Math.ceil(units / limit.unitsPerToken))",
    replace: "(resetMs > ageMs ? tokens : 0)",
  },
  {
    item: "L1", file: "src/composed/combine.ts", test: "test/composed/combine.test.ts",
    find: "return tookNothing(decision) as CombinedDecision;",
    replace: "return decision;",
  },
  {
    item: "L2", file: "src/composed/turnstile.ts", test: "test/composed/waiter.test.ts",
    find: "(wait > 0 ? slackMs : this.#storeMs)",
    replace: "slackMs",
  },
  {
    item: "L2", file: "src/composed/turnstile.ts", test: "test/composed/waiter.test.ts",
    find: "if (this.#isLate(who, wait, now, this.#storeMs)) this.#fail(place, tooLate(wait, now - who.until));",
    replace: "if (false) throw now;",
  },
  {
    item: "L1", file: "src/core/refundable.ts", test: "test/limiter/refund.test.ts",
    find: "resetMs > 0 ? tokens : 0",
    replace: "tokens",
  },
  {
    item: "L11", file: "src/http/headers/writer.ts", test: "test/client/fetch/outage.test.ts",
    find: "decision.degraded || fields.length === 0",
    replace: "fields.length === 0",
  },
  {
    item: "L11", file: "src/guard/fallback.ts", test: "test/guard/failure.test.ts",
    find: 'return unasked(policy, cost, "store_unavailable", RETRY_AFTER_MS, error);',
    replace: 'return unasked(policy, cost, "limited", RETRY_AFTER_MS, error);',
  },
  {
    item: "L11", file: "src/guard/fallback.ts", test: "test/guard/local-share.test.ts",
    find: 'reason: decision.allowed ? null : "store_unavailable", degraded',
    replace: "reason: decision.reason, degraded",
  },
  {
    item: "L12", file: "src/guard/deadlines.ts", test: "test/guard/guard.test.ts",
    find: "startTimer(() => this.#look(due, -Infinity)",
    replace: "void (() => this.#look(due, -Infinity)",
  },
  {
    item: "L12", file: "src/guard/deadlines.ts", test: "test/guard/deadlines.test.ts",
    find: "waiting.before = waiting.after = null;",
    replace: "",
  },
  {
    item: "L12", file: "src/guard/deadlines.ts", test: "test/guard/deadlines.test.ts",
    find: "Math.min(stalledMs, this.#afterMs)",
    replace: "stalledMs",
  },
  {
    item: "L12", file: "src/guard/deadlines.ts", test: "test/guard/stalled-loop.test.ts",
    find: 'if (typeof setImmediate === "function") setImmediate(then);',
    replace: 'if (typeof setImmediate === "function") then();',
  },
  {
    item: "L13", file: "src/stores/memory/shard.ts", test: "test/stores/memory/memory.test.ts",
    find: "if (fullAt < soonest || victim < 0) {",
    replace: "if (fullAt > soonest || victim < 0) {",
  },
  {
    item: "L14", file: "src/core/bucket.ts", test: "test/core/laws-numbers.test.ts",
    find: "(BigInt(spent) * BigInt(to) + BigInt(from) - 1n) / BigInt(from)",
    replace: "(BigInt(spent) * BigInt(to)) / BigInt(from)",
  },
  {
    item: "L14", file: "src/stores/memory/memory.ts", test: "test/stores/memory/memory.test.ts",
    find: "const decision = consume(place.buckets, policy, all ? cost : policy.maxCost + 1, now);",
    replace: "if (!all) return would[i] as Decision; const decision = consume(place.buckets, policy, cost, now);",
  },
];
