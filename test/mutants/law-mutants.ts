import type { Mutant } from "./mutants.js";

const BOUND = "laws-bound";
const PROMISE = "laws-promise";
const MODEL = "laws-model";
const RESERVATIONS = "reservations";

/** The mistakes against the laws, law by law. */
export const lawMutants: readonly Mutant[] = [
  {
    item: "L1", test: BOUND,
    find: "const spent = Math.max(0, bucket.spent - refilled);",
    replace: "const spent = Math.max(-bucket.unitsPerToken, bucket.spent - refilled);",
  },
  {
    item: "L1", test: RESERVATIONS,
    find: "Math.min(tokens, Math.ceil(units / unitsPerToken))",
    replace: "tokens",
  },
  {
    item: "L2", test: PROMISE,
    find: "over <= 0 ? 0 : Math.ceil(over / limit.unitsPerMs)",
    replace: "over <= 0 ? 0 : 1 + Math.floor(over / limit.unitsPerMs)",
  },
  {
    item: "L2", test: RESERVATIONS,
    find: "Math.min(2 * limit.size, Number.MAX_SAFE_INTEGER)",
    replace: "Number.MAX_SAFE_INTEGER",
  },
  {
    item: "L2", test: "laws-waiting",
    find: "((told[i]?.resetMs ?? 0) - 1) * unitsPerMs + 1)",
    replace: "(told[i]?.resetMs ?? 0) * unitsPerMs + 1)",
  },
  {
    item: "L3", test: PROMISE,
    find: "if (decision.allowed) charge(",
    replace: 'if (decision.allowed || decision.reason === "limited") charge(',
  },
  {
    item: "L4", test: PROMISE,
    find: "return Math.ceil(spent / limit.unitsPerMs);",
    replace: "return Math.floor(spent / limit.unitsPerMs);",
  },
  {
    item: "L5", test: BOUND,
    find: "const over = spent - (limit.size - cost * limit.unitsPerToken);",
    replace: "const over = 1 + spent - (limit.size - cost * limit.unitsPerToken);",
  },
  {
    item: "L6", test: BOUND,
    find: "return bucket.at - now > limit.fullMs;",
    replace: "return false;",
  },
  {
    item: "L7", test: "laws-snapshot",
    find: "const decision = decide(buckets, policy, cost, now, true);",
    replace: "const decision = Object.assign((globalThis.kept ??= {}), decide(buckets, policy, cost, now, true));",
  },
  {
    item: "L8", test: MODEL,
    find: "waitFor(remaining + 1, spent, limit) + lag,",
    replace: "waitFor(remaining + 1, spent, limit),",
  },
  {
    item: "L9", test: "bad-input",
    find: "if (!Number.isSafeInteger(value) || value < least) throw",
    replace: "if (!Number.isSafeInteger(value) || value < 0) throw",
  },
  {
    item: "L10", test: "laws-together",
    find: "waits.every((wait) => wait === 0)",
    replace: "waits.some((wait) => wait === 0)",
  },
  {
    item: "L10", test: "combine",
    find: "made[i]?.allowed ? undoCharge(charge, made[i] as Decision) : undefined",
    replace: "undefined as void",
  },
  {
    item: "L10", test: "combine",
    find: "if (!isAllowed(decisions)) decisions.forEach(tookNothing);",
    replace: "",
  },
  {
    item: "L1", test: "refund",
    find: "Math.min(tokens, Math.ceil(units / unitsPerToken))",
    replace: "(resetMs > ageMs ? tokens : 0)",
  },
  {
    item: "L1", test: "combine",
    find: "return tookNothing(decision) as CombinedDecision;",
    replace: "return decision;",
  },
  {
    item: "L2", test: "waiter",
    find: "(waitMs > 0 ? graceMs : this.#storeTimeoutMs)",
    replace: "graceMs",
  },
  {
    item: "L2", test: "waiter",
    find: "if (this.#rejectIfLate(first, waitMs, now, this.#storeTimeoutMs)) continue;",
    replace: "",
  },
  {
    item: "L1", test: "waiter-concurrent",
    find: "const refunds = [...grants].map(",
    replace: "const refunds = ([] as Answer[]).map(",
  },
  {
    item: "L1", test: "waiter-concurrent",
    find: "if (grant === undefined) return;",
    replace: "if (grant === undefined) continue;",
  },
  {
    item: "L2", test: "waiter-concurrent",
    find: "isRefunded ? 1 : Math.max(1, retryAfterMs)",
    replace: "Math.max(1, retryAfterMs)",
  },
  {
    item: "L1", test: "refund",
    find: "resetMs > 0 ? tokens : 0",
    replace: "tokens",
  },
  {
    item: "L11", test: "fetch/outage",
    find: "decision.degraded || fields.length === 0",
    replace: "fields.length === 0",
  },
  {
    item: "L11", test: "failure",
    find: 'return this.#without(policy, cost, "store_unavailable", RETRY_AFTER_MS, error);',
    replace: 'return this.#without(policy, cost, "limited", RETRY_AFTER_MS, error);',
  },
  {
    item: "L11", test: "local-share",
    find: 'reason: decision.allowed ? null : "store_unavailable", degraded',
    replace: "reason: decision.reason, degraded",
  },
  {
    item: "L12", test: "guard",
    find: "startTimer(() => this.#onTimer(due, -Infinity)",
    replace: "void (() => this.#onTimer(due, -Infinity)",
  },
  {
    item: "L12", test: "deadlines",
    find: "entry.before = entry.after = null;",
    replace: "",
  },
  {
    item: "L12", test: "deadlines",
    find: "const extraMs = Math.min(lateMs, this.#afterMs);",
    replace: "const extraMs = lateMs;",
  },
  {
    item: "L12", test: "deadlines",
    find: "this.#wait(entry, Math.min(lateMs, this.#afterMs), false);",
    replace: "this.#wait(entry, lateMs, false);",
  },
  {
    item: "L12", test: "stalled-loop",
    find: 'if (typeof setImmediate === "function") setImmediate(then);',
    replace: 'if (typeof setImmediate === "function") then();',
  },
  {
    item: "L13", test: "memory",
    find: "if (fullAt < soonest || victim < 0) {",
    replace: "if (fullAt > soonest || victim < 0) {",
  },
  {
    item: "L14", test: "laws-numbers",
    find: "(BigInt(spent) * BigInt(to) + BigInt(from) - 1n) / BigInt(from)",
    replace: "(BigInt(spent) * BigInt(to)) / BigInt(from)",
  },
  {
    item: "L14", test: "memory",
    find: "const decision = consume(entry.buckets, policy, all ? cost : policy.maxCost + 1, now);",
    replace: "if (!all) return would[i] as Decision; const decision = consume(entry.buckets, policy, cost, now);",
  },
  {
    item: "L15", test: "platform",
    find: "return sharesWork() ? new SharedDeadlines(afterMs) : new OwnDeadlines(afterMs);",
    replace: "return new SharedDeadlines(afterMs);",
  },
  {
    item: "L15", test: "platform",
    find: "if (!this.#isShared) return void this.#runRound(name, [job]);",
    replace: "",
  },
  {
    item: "L15", test: "platform",
    find: "batch && sharesWork() ? LARGEST_BATCH : 1",
    replace: "batch ? LARGEST_BATCH : 1",
  },
  {
    item: "L15", test: "platform",
    find: "if (isShared) sha ??= sha1(script);",
    replace: "sha ??= sha1(script);",
  },
  {
    item: "L15", test: "platform",
    find: "if (this.#isShared) denial.newer = {",
    replace: "denial.newer = {",
  },
  {
    item: "L15", test: "platform",
    find: "if (this.#isShared) for (const name of names) this.#last.set(name, turn);",
    replace: "for (const name of names) this.#last.set(name, turn);",
  },
  {
    item: "L15", test: "platform",
    find: "if (this.#isShared) this.#queues.set(name, queue);",
    replace: "this.#queues.set(name, queue);",
  },
  {
    item: "L15", test: "platform",
    find: "if (this.#isShared && this.#waiting >= maxWaiters)",
    replace: "if (this.#waiting >= maxWaiters)",
  },
  {
    item: "L15", test: "platform",
    find: "const mergeable = sharesWork() && options.merge",
    replace: "const mergeable = options.merge",
  },
  {
    item: "L15", test: "platform",
    find: "if (pending >= maxPending && sharesWork()) {",
    replace: "if (pending >= maxPending) {",
  },
  {
    item: "L15", test: "platform",
    find: "const queue = isShared ? scheduler.queue : createCallQueue();",
    replace: "const queue = scheduler.queue;",
  },
  {
    item: "L16", test: "memory",
    find: "if (--this.#untilSweep < 0) this.#sweep(now);",
    replace: "",
  },
  {
    item: "L16", test: "policy-names",
    find: "if (byName.size > MOST_CLAIMS) byName.delete(byName.keys().next().value as string);",
    replace: "",
  },
  {
    item: "L16", test: "bucket-name",
    find: "const LONGEST_NAME = 128;",
    replace: "const LONGEST_NAME = 129;",
  },
  {
    item: "L16", test: "bucket-name",
    find: "return isShort ? key : DIGEST + sha256(clearName(policy, key));",
    replace: "return isShort ? key : DIGEST + sha256(portableKey(key));",
  },
  {
    item: "L16", test: "deny-cache",
    find: "this.#denials.set(policy.name, keys.set(short, denial));",
    replace: "this.#denials.set(policy.name, keys.set(key, denial));",
  },
];
