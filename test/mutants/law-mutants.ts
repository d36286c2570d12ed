import type { Mutant } from "./mutants.js";

const BOUND = "laws-bound";
const PROMISE = "laws-promise";
const MODEL = "laws-model";
const SETTLE = "settle";
const FAILING = "together-failing";
const COSTS = "laws-costs";
const FINES = "fines";
const QUOTA = "laws-quota";

/** The mistakes against the laws, law by law. */
export const lawMutants: readonly Mutant[] = [
  {
    item: "L1", test: "settle-keys",
    find: "if (isOurs) checkChargedKey(decision, encoded, key);",
    replace: "",
  },
  {
    item: "L1", test: "settle-keys",
    find: "own[part]?.encoded !== claim.own[i]?.encoded",
    replace: "own[part] === undefined",
  },
  {
    item: "L20", test: "quota-line",
    find: "Math.ceil((tokens - Math.max(0, capacity - spent)) / capacity) - 1",
    replace: "0",
  },
  {
    item: "L20", test: "calendar",
    find: "(days * DAY_SECONDS + 10_800)",
    replace: "(days * DAY_SECONDS + 7_200)",
  },
  {
    item: "L1", test: BOUND,
    find: "const spent = Math.max(0, bucket.spent - refilled);",
    replace: "const spent = Math.max(-bucket.unitsPerToken, bucket.spent - refilled);",
  },
  {
    item: "L1", test: SETTLE,
    find: "const left = ageMs > 0 && rule === undefined ? Math.ceil(units / unitsPerToken) :",
    replace: "const left = ageMs > 0 && rule === undefined ? cost :",
  },
  {
    item: "L2", test: PROMISE,
    find: "over <= 0 ? 0 : Math.ceil(over / limit.unitsPerMs)",
    replace: "over <= 0 ? 0 : 1 + Math.floor(over / limit.unitsPerMs)",
  },
  {
    item: "L2", test: SETTLE,
    find: "return over > 0 ? Math.min(over, policy.limits[i]?.capacity ?? 0)",
    replace: "return over > 0 ? over",
  },
  {
    item: "L2", test: "laws-waiting",
    find: "? (resetMs - 1) * unitsPerMs + 1 :",
    replace: "? resetMs * unitsPerMs + 1 :",
  },
  {
    item: "L3", test: PROMISE,
    find: "else for (let i = 0; i < buckets.length; i++) chargeAt(buckets, policy, i, costAt(costs, i), now);",
    replace: 'if (decision.allowed || decision.reason === "limited") for (let i = 0; i < buckets.length; i++) chargeAt(buckets, policy, i, costAt(costs, i), now);',
  },
  {
    item: "L4", test: PROMISE,
    find: "resetMs: Math.ceil(spent / limit.unitsPerMs) + lag,",
    replace: "resetMs: Math.floor(spent / limit.unitsPerMs) + lag,",
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
    find: "for (let i = 0; taken && i < buckets.length; i++) {",
    replace: "for (let i = 1; taken && i < buckets.length; i++) {",
  },
  {
    item: "L10", test: "combine",
    find: "(decision ? undo((claims[i] as Claim).charge, decision) : undefined)",
    replace: "undefined as undefined",
  },
  {
    item: "L10", test: "combine",
    find: "if (!isAllowed(decisions)) return decisions;",
    replace: "",
  },
  {
    item: "L10", test: "combine-errors",
    find: "(error) => giveBackAll(claims, made, () => {",
    replace: "(error) => giveBackAll(claims, [], () => {",
  },
  {
    item: "L10", test: "combine-names",
    find: "if (!shadow && store.consumeTogether !== undefined) byStore.set(store, group);",
    replace: "",
  },
  {
    item: "L18", test: "combine-observers",
    find: "asked.filter((i) => charges[i]?.shadow !== true);",
    replace: "asked.filter((i) => charges[i]?.limiter.shadow(charges[i].key) !== true);",
  },
  {
    item: "L1", test: "refund",
    find: "const left = ageMs > 0 && rule === undefined ? Math.ceil(units / unitsPerToken) :",
    replace: "const left = ageMs > 0 && rule === undefined ? (resetMs > ageMs ? cost : 0) :",
  },
  {
    item: "L1", test: "combine-settle",
    find: "if (by === null || by.by !== self()) {",
    replace: "if (by === null) {",
  },
  {
    item: "L1", test: SETTLE,
    find: "decision.#by = by;",
    replace: "void by;",
  },
  {
    item: "L2", test: "waiter",
    find: "(due.at > now ? graceMs : rules.timeoutMs)",
    replace: "graceMs",
  },
  {
    item: "L2", test: "waiter-concurrent",
    find: "if (now - state.soonest > rules.timeoutMs) refuseLate(step, rules.timeoutMs);",
    replace: "",
  },
  {
    item: "L1", test: "waiter-concurrent",
    find: "const grants = itemsOf(round.grants);",
    replace: "const grants: Answer[] = [];",
  },
  {
    item: "L2", test: "waiter-concurrent",
    find: "charge.policy === other.policy && sameCosts(charge.cost, other.cost)",
    replace: "charge.policy === other.policy",
  },
  {
    item: "L2", test: "waiter-concurrent",
    find: "(unused.size > 0 ? 1 : Math.max(1, refusal.decision.retryAfterMs))",
    replace: "Math.max(1, refusal.decision.retryAfterMs)",
  },
  {
    item: "L2", test: "waking",
    find: "state.isNews = true;",
    replace: "state.isNews = false;",
  },
  {
    item: "L1", test: "waiter-combined",
    find: "JSON.stringify(charges.map((charge) => charge && bucketId(charge.policy, charge.encoded)))",
    replace: 'charges.map((charge) => charge && bucketId(charge.policy, charge.encoded)).join("\\n")',
  },
  {
    item: "L16", test: "waiter-concurrent",
    find: "const hasPlace = queue.length < maxWaitersPerKey && ",
    replace: "const hasPlace = ",
  },
  {
    item: "L16", test: "waking",
    find: "const PAUSE_MS = 10;",
    replace: "const PAUSE_MS = 0;",
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
    item: "L12", test: "one-guard",
    find: "timeoutMs, breaker: this.#breaker,",
    replace: "timeoutMs, breaker: new CircuitBreaker(this.#settings.breaker, () => undefined),",
  },
  {
    item: "L13", test: "one-guard",
    find: "this.#observers.has(observer) || this.#observers.size >= MOST_OBSERVERS",
    replace: "this.#observers.has(observer)",
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
    find: "const decision = this.#take(policy, key, all ? cost : Infinity, now);",
    replace: "const decision = all ? this.#take(policy, key, cost, now) : null;",
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
    find: "if (!isShared) return new WaitQueue(setup, new Polls(), charges, () => undefined);",
    replace: "",
  },
  {
    item: "L15", test: "platform",
    find: "charges.filter((charge) => charge !== null && setup.isShared)",
    replace: "charges.filter((charge) => charge !== null)",
  },
  {
    item: "L15", test: "platform",
    find: "(this.#waiting < maxWaiters || !isShared)",
    replace: "this.#waiting < maxWaiters",
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
    item: "L16", test: "many-keys",
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
    item: "L16", test: "partition",
    find: "const MOST_BYTES = 128;",
    replace: "const MOST_BYTES = 129;",
  },
  {
    item: "L16", test: "partition",
    find: 'return checkPartition(made, "partitionKey()");',
    replace: "return made as Uint8Array;",
  },
  {
    item: "L16", test: "deny-cache",
    find: "this.#denials.set(policy.name, keys.set(short, denial));",
    replace: "this.#denials.set(policy.name, keys.set(key, denial));",
  },
  {
    item: "L17", test: "now-or-later",
    find: "const results = calls.map((call) => orElse<T | undefined>(call, (error) => void errors.push(error)));",
    replace: "const results = calls.map((call) => call());",
  },
  {
    item: "L17", test: FAILING,
    find: "const results = calls.map((call) => orElse<T | undefined>(call, (error) => void errors.push(error)));",
    replace: "const results = calls.map((call) => call());",
  },
  {
    item: "L17", test: FAILING,
    find: "return () => startAll(peeks, (decisions) =>",
    replace: "return () => Promise.all(peeks.map((peek) => peek())).then((decisions) =>",
  },
  {
    item: "L17", test: FAILING,
    find: "return () => startAll<void, void>(acts, () => undefined);",
    replace: "return () => Promise.all(acts.map((act) => act())).then(() => undefined);",
  },
  {
    item: "L17", test: FAILING,
    find: "return () => startAll(settlements, (done) => done.some(Boolean));",
    replace: "return () => Promise.all(settlements.map((settlement) => settlement())).then((done) => done.some(Boolean));",
  },
  {
    item: "L17", test: "gate",
    find: "policy.then(chargeUnder.bind(null, request, caller, cost))",
    replace: "policy.then(chargeUnder.bind(null, request, caller, undefined))",
  },
  {
    item: "L18", test: "gate",
    find: "if (policy === undefined || policy === null) throw noPolicy",
    replace: "if (policy === null) throw noPolicy",
  },
  {
    item: "L18", test: "gate",
    find: "if (key === unlimited) throw",
    replace: "if (requests !== null && key === unlimited) throw",
  },
  {
    item: "L9", test: "combinations",
    find: "limiter.charges(callers, undefined);",
    replace: "",
  },
  {
    item: "L9", test: FAILING,
    find: "return self().charges(keys, options);",
    replace: "return [];",
  },
  {
    item: "L9", test: "combine-arguments",
    find: "      throw tooMuch();",
    replace: "      void tooMuch();",
  },
  {
    item: "L9", test: "bad-input",
    find: "if (!isPlain(cost)) throw new TypeError(",
    replace: "if (!isPlain(cost)) void new TypeError(",
  },
  {
    item: "L9", test: "other-realms",
    find: 'return Object.hasOwn((Object.getPrototypeOf(value) ?? Object.prototype) as object, "isPrototypeOf");',
    replace: "return (Object.getPrototypeOf(value) ?? Object.prototype) === Object.prototype;",
  },
  {
    item: "L17", test: "unsendable",
    find: "if (!(status >= 200 && status <= 599)) throw",
    replace: "if (!(status <= 599)) throw",
  },
  {
    item: "L17", test: "unsendable",
    find: "if (made.bodyUsed || body.locked || taken.has(body)) {",
    replace: "if (made.bodyUsed || body.locked) {",
  },
  {
    item: "L17", test: "unsendable",
    find: "if (made.bodyUsed || body.locked || taken.has(body)) {",
    replace: "if (taken.has(body)) {",
  },
  {
    item: "L17", test: "unsendable",
    find: "isWebResponse(payload) ? takeResponse(payload) : payload",
    replace: "payload",
  },
  {
    item: "L17", test: "unsendable",
    find: "if (isUnsendable(response.statusCode)) return response;",
    replace: "",
  },
  {
    item: "L17", test: "fastify-raw",
    find: 'reportFailure("setHeader", error);',
    replace: "throw error;",
  },
  {
    item: "L17", test: "fastify-raw",
    find: 'throw asError(error, "writeHead");',
    replace: "throw error;",
  },
  {
    item: "L19", test: COSTS,
    find: "waitOf(limit, costAt(costs, i), spentAt(",
    replace: "waitOf(limit, costAt(costs, 0), spentAt(",
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
    find: "if (!names.includes(each)) {",
    replace: "if (names.length === 0) {",
  },
  {
    item: "L19", test: "settle-costs",
    find: "const changes = correction(decision, charged, taken, used, guarded.now() - decision.at);",
    replace: "const changes = costAt(correction(decision, charged, taken, used, guarded.now() - decision.at), 0);",
  },
  {
    item: "L10", test: FINES,
    find: "const tooMuch = policy.limits.some(",
    replace: "const tooMuch = policy.limits.every(",
  },
  {
    item: "L10", test: FINES,
    find: "if (!done) throw tooMuch();",
    replace: "if (!done) void tooMuch();",
  },
  {
    item: "L2", test: FINES,
    find: "block.spent = Math.max(blockLeft(block, now), forMs);",
    replace: "block.spent = forMs;",
  },
  {
    item: "L2", test: FINES,
    find: "if (blockMs <= 0) return consume(",
    replace: "if (blockMs <= 0 || costs === 0) return consume(",
  },
  {
    item: "L2", test: FINES,
    find: "return blockMs > 0 ? whileBlocked(",
    replace: "return blockMs > 0 && costs !== 0 ? whileBlocked(",
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
    item: "L4", test: "ended-blocks",
    find: "if (forMs === 0) return void records.delete(BLOCK);",
    replace: "",
  },
  {
    item: "L4", test: "memory/blocks",
    find: "if (forMs === 0) return this.#table.delete(this.#bucketKey, this.#blocks);",
    replace: "if (forMs === 0) return this.#table.delete(this.#bucketKey, null);",
  },
  {
    item: "L8", test: "ended-blocks",
    find: "allowed: false, blocked: true, reason:",
    replace: "allowed: false, reason:",
  },
  {
    item: "L11", test: "check-decision",
    find: "return blocked === undefined || (blocked === true && !allowed);",
    replace: "return blocked === undefined || blocked === true;",
  },
  {
    item: "L11", test: "check-decision",
    find: '(!Object.hasOwn(answer, "blocked") || isMark(',
    replace: "(isMark(",
  },
  {
    item: "L13", test: "blocks",
    find: "at - now > (limit.fullMs || leftMs);",
    replace: "at - now > limit.fullMs;",
  },
  {
    item: "L14", test: FINES,
    find: "limits.forEach(({ name, rule }: Limit, i) => {",
    replace: "records.delete(BLOCK); limits.forEach(({ name, rule }: Limit, i) => {",
  },
  {
    item: "L14", test: FINES,
    find: "  convertStale(buckets, policy, now);",
    replace: "",
  },
  {
    item: "L17", test: "failing-answers",
    find: 'throw new TypeError("Expected the object literal of an answer',
    replace: 'void new TypeError("Expected the object literal of an answer',
  },
  {
    item: "L18", test: "adapters/node",
    find: "if (policy === undefined || policy === null) throw noPolicy(policy);",
    replace: "if (policy === null) throw noPolicy(policy);",
  },
  {
    item: "L20", test: QUOTA,
    find: "ownDate(record, now) !== dateOf(from) ? 0 : units",
    replace: "now > dateOf(from) ? 0 : units",
  },
  {
    item: "L20", test: QUOTA,
    find: "own >= now ? own : Math.max(own, dateOf(now))) - now",
    replace: "own >= now ? own : now) - now",
  },
  {
    item: "L20", test: QUOTA,
    find: "units <= 0 && own >= now ? own : Math.max(own, dateOf(now))",
    replace: "own >= now ? own : dateOf(now)",
  },
  {
    item: "L20", test: QUOTA,
    find: "unitsPerMs === ALL_UNITS && at >= now && at - now <= facts.fullMs ? at",
    replace: "at >= now && at - now <= facts.fullMs ? at",
  },
  {
    item: "L20", test: QUOTA,
    find: "bucket.spent === 0 || (bucket.unitsPerMs === ALL_UNITS && limit.unitsPerMs < ALL_UNITS)) return 0;",
    replace: "bucket.spent === 0) return 0;",
  },
  {
    item: "L20", test: "calendar",
    find: "Math.min(day, last));",
    replace: "day);",
  },
  {
    item: "L20", test: "calendar",
    find: "for (const offset of [before, after])",
    replace: "for (const offset of [after, before])",
  },
  {
    item: "L20", test: "calendar",
    find: "const begins = [-1, 0, 1, 2].map(",
    replace: "const begins = [0, 1].map(",
  },
  {
    item: "L20", test: "quotas",
    find: "if (isPolicy(policy)) policy.dated?.checkStore(own.store, policy);",
    replace: "if (isPolicy(policy)) void 0;",
  },
  {
    item: "L20", test: QUOTA,
    find: "spent === 0 ? 0 : lagAt(bucket, limit, now, spent - before)",
    replace: "lagAt(bucket, limit, now, spent - before)",
  },
  {
    item: "L20", test: QUOTA,
    find: "&& at - now <= facts.fullMs ? at",
    replace: "? at",
  },
  {
    item: "L20", test: QUOTA,
    find: "ageMs > 0 && rule === undefined",
    replace: "ageMs > 0",
  },
  {
    item: "L20", test: "calendar",
    find: "if (showLocal(local - offset) === local) return",
    replace: "if (offset === before) return",
  },
  {
    item: "L20", test: "quotas",
    find: "if (isClockError(error)) throw error;",
    replace: "",
  },
  {
    item: "L20", test: "quotas",
    find: "if (!isClockError(error)) return this.#fail(withCause(error, this.setup.causeOf));",
    replace: "return this.#fail(withCause(error, this.setup.causeOf));",
  },
  {
    item: "L20", test: "quotas",
    find: "capacity: capacity / QUOTA_PARTS",
    replace: "capacity",
  },
  {
    item: "L20", test: "quotas",
    find: '"unitsPerToken", "calendar"]',
    replace: '"unitsPerToken"]',
  },
  {
    item: "L20", test: "quotas",
    find: 'store.clock === monotonicClock || store.clock?.name === "monotonicClock"',
    replace: "false",
  },
  {
    item: "L20", test: "quotas",
    find: "defaultStore(policy.dated?.storeOptions(policy))",
    replace: "defaultStore()",
  },
  {
    item: "L10", test: "memory",
    find: "all ? cost : Infinity",
    replace: "all ? cost : Number.MAX_SAFE_INTEGER",
  },
  {
    item: "L21", test: "model",
    find: "Math.ceil((now + staleAfterMs) / step) * step - 1;",
    replace: "Math.floor((now + staleAfterMs) / step) * step - 1;",
  },
  {
    item: "L21", test: "model",
    find: "if (date >= now) current = withTokens(",
    replace: "if (date > now) current = withTokens(",
  },
  {
    item: "L21", test: "model",
    find: "units > 0 ? dateOf(now) : dateOf(from as number), units",
    replace: "dateOf(now), units",
  },
  {
    item: "L21", test: "model",
    find: "dateOf(to) < now ? 0 : Math.min(tokens, tokensAt(dates, dateOf(from)))",
    replace: "dateOf(to) < now ? 0 : tokens",
  },
  {
    item: "L21", test: "model",
    find: "date - now > fullMs ? own : date, tokens",
    replace: "date, tokens",
  },
  {
    item: "L21", test: "model",
    find: "isWait ? Math.min(retryMs, until(spent - size + cost)) : retryAfterMs",
    replace: "isWait ? until(spent - size + cost) : retryAfterMs",
  },
  {
    item: "L21", test: "limiter",
    find: "const used = policy.inFlight ? exceptInFlight(policy, named, 0) : named;",
    replace: "const used = named;",
  },
  {
    item: "L21", test: "limiter",
    find: "heldAt: decision.at + heldAfter(work) });",
    replace: "heldAt: decision.at });",
  },
  {
    item: "L21", test: "limiter",
    find: 'if (ageMs > times.longestMs) return "over";',
    replace: "",
  },
  {
    item: "L12", test: "renewals",
    find: "const answer = first.call(() => {",
    replace: "const answer = ((send: () => void | Promise<void>) => send())(() => {",
  },
  {
    item: "L21", test: "renewals",
    find: "return moved instanceof Promise ? moved.then(done) : done(moved);",
    replace: "done(undefined); return moved as Promise<void>;",
  },
  {
    item: "L21", test: "renewals",
    find: 'if (ageMs > msAfter(renewals, times) + fullMs) return "lost";',
    replace: "",
  },
  {
    item: "L21", test: "renewals",
    find: "first?.policy === policy",
    replace: "first !== undefined",
  },
  {
    item: "L13", test: "renewals",
    find: "  works.delete(work);",
    replace: "  void works;",
  },
  {
    item: "L13", test: "renewals",
    find: "if (line.size > MOST_KEPT) line.delete(",
    replace: "if (line.size < 0) line.delete(",
  },
  {
    item: "L21", test: "limiter",
    find: "(policy as Policy).inFlight?.later(settle, store);",
    replace: "",
  },
  {
    item: "L21", test: "renewals",
    find: "if (isHeld === false) dropWork(work, true);",
    replace: "if (isHeld === 0) dropWork(work, true);",
  },
  {
    item: "L12", test: "turns",
    find: "if (this.#open >= callsAtOnce(left, this.#callMs, next.until - now)) return;",
    replace: "",
  },
  {
    item: "L12", test: "turns",
    find: "if (this.isProbe) super.tellBreaker(error);",
    replace: "super.tellBreaker(error);",
  },
  {
    item: "L12", test: "turns",
    find: "refused < MOST_REFUSED; tried",
    replace: "refused < 1; tried",
  },
  {
    item: "L21", test: "renewals",
    find: "if (isOver && isAllowed(decisions)) releaseAllLate(charges, decisions);",
    replace: "",
  },
  {
    item: "L21", test: "renewals",
    find: "if (first.staleAfterMs === other.staleAfterMs && first.longestMs === other.longestMs) return;",
    replace: "if (first.staleAfterMs > 0 || other.staleAfterMs > 0) return;",
  },
  {
    item: "L21", test: "limiter",
    find: "this.#policy.inFlight?.giveBackLate(",
    replace: "void (",
  },
  {
    item: "L21", test: "limiter",
    find: "const share = Math.max(1, Math.floor(capacity / sharedBy), cost);",
    replace: "const share = Math.floor(capacity / sharedBy);",
  },
  {
    item: "L21", test: "gate",
    find: 'if (!isGone || verdict.outcome !== "pass" || !verdict.work.holds) return verdict;',
    replace: "if (isGone || !isGone) return verdict;",
  },
  {
    item: "L13", test: "held-records",
    find: "if (record.at < victim.at) victim = record;",
    replace: "",
  },
  {
    item: "L18", test: "shadow-once",
    find: "if (each === null || each.shadow) return [];",
    replace: "if (each === null || each.limiter.shadow(each.key)) return [];",
  },
  {
    item: "L18", test: "shadow-once",
    find: "return decision.allowed && (decision.shadow !== undefined || limiter.shadow(key));",
    replace: "return decision !== null && limiter.shadow(key);",
  },
  {
    item: "L21", test: "deny-cache",
    find: "this.#forMs === 0 || policy.inFlight !== undefined",
    replace: "this.#forMs === 0",
  },
  {
    item: "L21", test: "waiter-in-flight",
    find: "if (isUnsure(step, due) && until - now < EARLY_MS) return true;",
    replace: "if (isUnsure(step, due)) return due.latest > until;",
  },
  {
    item: "L21", test: "gate-aborts",
    find: "this.#charge.hold?.until(handler);",
    replace: "void handler;",
  },
  {
    item: "L21", test: "gate-aborts",
    find: "if (hasReleased(request)) return void reply.hijack();",
    replace: "",
  },
  {
    item: "L21", test: "gate",
    find: "if (hold !== undefined) return this.#release(hold, actualCost, outcome);",
    replace: "",
  },
  {
    item: "L21", test: "gate-reports",
    find: "if (actualCost !== null) {",
    replace: "if (actualCost !== null && this.#reported === null) {",
  },
  {
    item: "L21", test: "gate-renewals",
    find: "keepInFlight(limiter as GateLimiter, key, decision, policy, hold) ?",
    replace: "[keepInFlight, limiter as GateLimiter, key, decision, policy].length > 0 ?",
  },
  {
    item: "L21", test: "gate-failures",
    find: "handled.then(finish).catch(fail)",
    replace: "handled.then(finish, fail)",
  },
  {
    item: "L21", test: "work-sockets",
    find: "stop = onClose(request, end);",
    replace: "stop = null;",
  },
  {
    item: "L21", test: "work-sockets",
    find: "if (!response.socket && !connection?._httpMessage) end();",
    replace: "if (!response.socket) end();",
  },
  {
    item: "L21", test: "work-sockets",
    find: 'response.once("finish", end);',
    replace: "",
  },
  {
    item: "L12", test: "work-sockets",
    find: "if (listeners.delete(listener) && listeners.size === 0) connection",
    replace: "if (listeners.delete(listener) && listeners.size < 0) connection",
  },
  {
    item: "L21", test: "work-dropped",
    find: "return this.unread === null && waitedMs <",
    replace: "return waitedMs <",
  },
  {
    item: "L21", test: "work-dropped",
    find: "MOST_AFTER_LEAVING * staleAfterMs",
    replace: "Infinity",
  },
  {
    item: "L17", test: "work-dropped",
    find: "this.#stopWaiting === null ? 0 : monotonicClock() - this.#leftAt",
    replace: "monotonicClock() - this.#leftAt",
  },
  {
    item: "L21", test: "work-dropped",
    find: "this.unread?.();",
    replace: "",
  },
  {
    item: "L12", test: "work-dropped",
    find: "request.stop = onSignalAbort(",
    replace: "void onSignalAbort(",
  },
  {
    item: "L21", test: "work-dropped",
    find: 'typeof incoming?.method !== "string"',
    replace: "incoming === undefined",
  },
  {
    item: "L21", test: "work-dropped",
    find: "else work.whenSettles(endOnClose, outgoing);",
    replace: "",
  },
  {
    item: "L21", test: "gate-signals",
    find: "return waits || parts.some((part) => mayHold(part.policy));",
    replace: "return waits && parts.length > 0;",
  },
];
