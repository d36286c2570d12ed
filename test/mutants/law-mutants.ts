import type { Mutant } from "./mutants.js";

const BOUND = "laws-bound";
const PROMISE = "laws-promise";
const MODEL = "laws-model";
const RESERVATIONS = "reservations";
const COSTS = "laws-costs";
const FINES = "fines";

/** The mistakes against the laws, law by law. */
export const lawMutants: readonly Mutant[] = [
  {
    item: "L1", test: BOUND,
    find: "const spent = Math.max(0, bucket.spent - refilled);",
    replace: "const spent = Math.max(-bucket.unitsPerToken, bucket.spent - refilled);",
  },
  {
    item: "L1", test: RESERVATIONS,
    find: "const left = ageMs > 0 ? Math.ceil(units / unitsPerToken) :",
    replace: "const left = ageMs > 0 ? cost :",
  },
  {
    item: "L2", test: PROMISE,
    find: "over <= 0 ? 0 : Math.ceil(over / limit.unitsPerMs)",
    replace: "over <= 0 ? 0 : 1 + Math.floor(over / limit.unitsPerMs)",
  },
  {
    item: "L2", test: RESERVATIONS,
    find: "return over > 0 ? Math.min(over, policy.limits[i]?.capacity ?? 0)",
    replace: "return over > 0 ? over",
  },
  {
    item: "L2", test: "laws-waiting",
    find: "((readings(part)[place]?.resetMs ?? 0) - 1) * unitsPerMs + 1)",
    replace: "(readings(part)[place]?.resetMs ?? 0) * unitsPerMs + 1)",
  },
  {
    item: "L3", test: PROMISE,
    find: "else for (let i = 0; i < buckets.length; i++) chargeAt(buckets, policy, i, costAt(costs, i), now);",
    replace: 'if (decision.allowed || decision.reason === "limited") for (let i = 0; i < buckets.length; i++) chargeAt(buckets, policy, i, costAt(costs, i), now);',
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
    find: "const decision = decide(buckets, policy, costs, now, true);",
    replace: "const decision = Object.assign((globalThis.kept ??= {}), decide(buckets, policy, costs, now, true));",
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
    find: "(decision ? undoCharge(charges[i] as LimiterCharge, decision) : undefined)",
    replace: "undefined as undefined",
  },
  {
    item: "L10", test: "combine",
    find: "if (!isAllowed(decisions)) decisions.forEach(tookNothing);",
    replace: "",
  },
  {
    item: "L1", test: "refund",
    find: "const left = ageMs > 0 ? Math.ceil(units / unitsPerToken) :",
    replace: "const left = ageMs > 0 ? (resetMs > ageMs ? cost : 0) :",
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
    item: "L11", test: "fetch/outage",
    find: "decision.degraded || fields.length === 0",
    replace: "fields.length === 0",
  },
  {
    item: "L11", test: "failure",
    find: 'return this.#without(policy, costs, "store_unavailable", RETRY_AFTER_MS, error);',
    replace: 'return this.#without(policy, costs, "limited", RETRY_AFTER_MS, error);',
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
    find: "if (!all) this.#settle(entry, policy, now);",
    replace: "",
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
    find: "if (isShared) sha = computed;",
    replace: "sha = computed;",
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
  {
    item: "L19", test: COSTS,
    find: "waitOf(buckets[i] as Bucket, limit, costAt(costs, i), now));",
    replace: "waitOf(buckets[i] as Bucket, limit, costAt(costs, 0), now));",
  },
  {
    item: "L19", test: COSTS,
    find: "else for (let i = 0; i < buckets.length; i++) chargeAt(buckets, policy, i, costAt(costs, i), now);",
    replace: "else for (let i = 0; i < buckets.length; i++) chargeAt(buckets, policy, i, costAt(costs, 0), now);",
  },
  {
    item: "L19", test: COSTS,
    find: "given[limit.name]) : costAt(others, i)",
    replace: "given[limit.name]) : 1",
  },
  {
    item: "L19", test: COSTS,
    find: "all.find(({ limit }) => limit === policy.limits[i]?.name)?.cost ?? none",
    replace: "all[i]?.cost ?? none",
  },
  {
    item: "L19", test: COSTS,
    find: "if (!names.includes(each)) throw",
    replace: "if (names.length === 0) throw",
  },
  {
    item: "L19", test: "reservations-costs",
    find: "const changes = correctionOf(charge, decision as Decision, estimate, used, ageMs);",
    replace: "const changes = costAt(correctionOf(charge, decision as Decision, estimate, used, ageMs), 0);",
  },
  {
    item: "L10", test: FINES,
    find: "const tooMuch = policy.limits.some(",
    replace: "const tooMuch = policy.limits.every(",
  },
  {
    item: "L9", test: FINES,
    find: "if (!taken) throw new RangeError(",
    replace: "if (!taken) void new RangeError(",
  },
  {
    item: "L2", test: FINES,
    find: "block.spent = Math.max(blockLeft(block, now), forMs);",
    replace: "block.spent = forMs;",
  },
  {
    item: "L2", test: FINES,
    find: "const decision = this.#blockMs(now) > 0 ? this.#refuse",
    replace: "const decision = this.#blockMs(now) > 0 && costs !== 0 ? this.#refuse",
  },
  {
    item: "L2", test: FINES,
    find: "const decision = blockMs > 0 ? whileBlocked(",
    replace: "const decision = blockMs > 0 && costs !== 0 ? whileBlocked(",
  },
  {
    item: "L2", test: FINES,
    find: "remaining > 0 ? 0 : nextTokenMs, resetMs].map((ms) => Math.max(ms, blockMs));",
    replace: "remaining > 0 ? 0 : nextTokenMs, resetMs].map(() => blockMs);",
  },
  {
    item: "L6", test: FINES,
    find: "return ahead > spent ? spent : Math.max(0, spent + ahead);",
    replace: "return ahead > 0 ? spent : Math.max(0, spent + ahead);",
  },
  {
    item: "L13", test: "blocks",
    find: "at - now > (limit.fullMs || leftMs);",
    replace: "at - now > limit.fullMs;",
  },
  {
    item: "L14", test: FINES,
    find: "limits.forEach(({ name }: Limit, i) => {",
    replace: "records.delete(BLOCK); limits.forEach(({ name }: Limit, i) => {",
  },
  {
    item: "L14", test: FINES,
    find: "if (blockMs > 0) settleStale(buckets, policy, now);",
    replace: "",
  },
];
