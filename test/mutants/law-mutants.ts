import type { Mutant } from "./mutants.js";

const PROMISE = "laws-promise";
const MODEL = "laws-model";
const SETTLE = "settle";
const FAILING = "together-failing";
const COSTS = "laws-costs";
const FINES = "fines";
const QUOTA = "laws-quota";
const TWO_CLOCKS = "two-clocks";

/** The mistakes against the laws, law by law. */
export const lawMutants: readonly Mutant[] = [
  {
    item: "L1", test: "settle-keys", in: "createSettle",
    find: "isOurs ? charged : named",
    replace: "named",
  },
  {
    item: "L20", test: "quota-line", in: "waitAt",
    find: "Math.ceil((tokens - Math.max(0, capacity - spent)) / capacity) - 1",
    replace: "0",
  },
  {
    item: "L20", test: "calendar", in: "renewal",
    find: "days * DAY_SECONDS + 10_800",
    replace: "days * DAY_SECONDS + 7_200",
  },
  {
    item: "L1", test: "refund", in: "refundable",
    find: "Math.ceil(units / limit.unitsPerToken)",
    replace: "tokens",
  },
  {
    item: "L2", test: PROMISE, in: "msUntil",
    find: "Math.ceil(units / limit.unitsPerMs)",
    replace: "1 + Math.floor(units / limit.unitsPerMs)",
  },
  {
    item: "L2", test: "laws-waiting", in: "forecastAfter",
    find: "(resetMs - 1)",
    replace: "resetMs",
  },
  {
    item: "L2", test: "laws-waiting", in: "WaitQueue.leave",
    find: "this.#goOn();",
    replace: "",
  },
  {
    item: "L3", test: PROMISE, in: "consume",
    find: "if (!decision.allowed) convertStale(buckets, policy, now);",
    replace: 'if (decision.reason === "limited") buckets.forEach((bucket, i) => changeUnits(bucket, policy.limits[i], now, costAt(costs, i) * policy.limits[i].unitsPerToken));',
  },
  {
    item: "L4", test: PROMISE, in: "answer",
    find: "msUntil(spent, limit, from, now)",
    replace: "msUntil(spent, limit, from, now) - 1",
  },
  {
    item: "L7", test: "laws-snapshot", in: "consume",
    find: "decide(buckets, policy, costs, now, true)",
    replace: "Object.assign((globalThis.kept ??= {}), decide(buckets, policy, costs, now, true))",
  },
  {
    item: "L8", test: MODEL, in: "answer",
    find: "msUntil(unitsOver(limit, remaining + 1, spent), limit, from, now)",
    replace: "Math.ceil(unitsOver(limit, remaining + 1, spent) / limit.unitsPerMs)",
  },
  {
    item: "L10", test: "laws-two-stores", in: "chargeGroups",
    find: "undoAll(charges, made, next)",
    replace: "undoAll(charges, [], next)",
  },
  {
    item: "L10", test: "laws-together", in: "decideSeveral",
    find: "let i = 0; taken",
    replace: "let i = 1; taken",
  },
  {
    item: "L10", test: "combine", in: "giveBackAll",
    find: "(decision ? undo(charges[i] as LimiterCharge, decision) : undefined)",
    replace: "undefined as undefined",
  },
  {
    item: "L10", test: "combine-errors", in: "chargeGroups",
    find: "(error) => giveBackAll(charges, made, () => {",
    replace: "(error) => giveBackAll(charges, [], () => {",
  },
  {
    item: "L18", test: "combine-observers", in: "bindingPart",
    find: "charges[i]?.shadow",
    replace: "charges[i]?.limiter.shadow(charges[i].key)",
  },
  {
    item: "L1", test: "refund", in: "refundable",
    find: "Math.ceil(units / limit.unitsPerToken)",
    replace: "(resetMsOf(decision, limit) > ageMs ? tokens : 0)",
  },
  {
    item: "L1", test: SETTLE, in: "createMark",
    find: "decision.#by = by",
    replace: "void by",
  },
  {
    item: "L2", test: "waiter", in: "WaitLine.#isLate",
    find: "(due.at > now ? graceMs : this.#timeoutMs)",
    replace: "graceMs",
  },
  {
    item: "L1", test: "waiter-concurrent", in: "WaitQueue.#close",
    find: "round.grants.map(",
    replace: "round.grants.slice(0, 0).map(",
  },
  {
    item: "L2", test: "waiter-concurrent", in: "isSameCall",
    find: "charge.policy === other.policy && sameCosts(charge.cost, other.cost)",
    replace: "charge.policy === other.policy",
  },
  {
    item: "L2", test: "waiter-concurrent", in: "WaitLine.learn",
    find: "(unused.size > 0 ? 1 : Math.max(1, refusal.decision.retryAfterMs))",
    replace: "Math.max(1, refusal.decision.retryAfterMs)",
  },
  {
    item: "L1", test: "waiter-combined", in: "WaitQueues.#enter",
    find: "JSON.stringify(charges.map((charge) => charge && bucketId(charge.policy, charge.encoded)))",
    replace: "charges.map((charge) => charge && bucketId(charge.policy, charge.encoded)).join(\"\\n\")",
  },
  {
    item: "L16", test: "waking", in: "PAUSE_MS",
    find: "PAUSE_MS = 10",
    replace: "PAUSE_MS = 0",
  },
  {
    item: "L11", test: "fetch/outage", in: "createHeaderWriter",
    find: "decision.degraded || fields.length === 0",
    replace: "fields.length === 0",
  },
  {
    item: "L11", test: "local-share", in: "Fallback.decide",
    find: 'decision.allowed ? null : "store_unavailable"',
    replace: "decision.reason",
  },
  {
    item: "L11", test: "flapping", in: "Fallback.granted",
    find: "share.limits[i]?.refill ? cost : 0",
    replace: "cost",
  },
  {
    item: "L11", test: "flapping", in: "Fallback.#open",
    find: 'if (call.verb === "peek") return answers;',
    replace: 'if (call.verb === "peek" || call.verb === "adjust") return answers;',
  },
  {
    item: "L11", test: "flapping", in: "Fallback.#open",
    find: 'if (call.verb === "peek") return answers;',
    replace: 'if (call.verb === "peek" || call.verb === "renew") return answers;',
  },
  {
    item: "L11", test: "flapping", in: "createSettle",
    find: "(settleLocally(from), done as boolean)",
    replace: "done as boolean",
  },
  {
    item: "L11", test: "flapping", in: "createSettle",
    find: "mapCosts(share, changes, (change) => Math.min(0, change))",
    replace: "changes",
  },
  {
    item: "L11", test: "flapping", in: "chargeGroup",
    find: "guarded.granted(charge.policy, charge.encoded, charge.cost, decision);",
    replace: "",
  },
  {
    item: "L11", test: "flapping", in: "answeringNow",
    find: "fallback.granted(policy, key, costs, decision);",
    replace: "",
  },
  {
    item: "L11", test: "flapping", in: "ConsumeCall.answered",
    find: "fallback.granted(this.#policy, this.#key, this.#costs, marked);",
    replace: "",
  },
  {
    item: "L12", test: "one-guard", in: "StoreGuard.#setupOf",
    find: "breaker: this.#breaker",
    replace: "breaker: new CircuitBreaker(this.#settings.breaker, () => undefined)",
  },
  {
    item: "L12", test: "guard", in: "SharedDeadlines.#arm",
    find: "startTimer(() => this.#onTimer(due, -Infinity)",
    replace: "void (() => this.#onTimer(due, -Infinity)",
  },
  {
    item: "L12", test: "deadlines", in: "SharedDeadlines.end",
    find: "entry.before = entry.after = null;",
    replace: "",
  },
  {
    item: "L12", test: "stalled-loop", in: "afterOnePoll",
    find: "setImmediate(then)",
    replace: "then()",
  },
  {
    item: "L13", test: "memory", in: "MemoryShard.evictOne",
    find: "fullAt < soonest",
    replace: "fullAt > soonest",
  },
  {
    item: "L14", test: "laws-numbers", in: "makeLimit",
    find: "asked ?? tokens",
    replace: "asked ?? 100",
  },
  {
    item: "L14", test: "memory", in: "MemoryStore.#consumeTogether",
    find: "this.#take(policy, key, all ? cost : Infinity, now)",
    replace: "all ? this.#take(policy, key, cost, now) : null",
  },
  {
    item: "L15", test: "platform", in: "createDeadlines",
    find: "sharesWork() ? new SharedDeadlines(afterMs) : new OwnDeadlines(afterMs)",
    replace: "new SharedDeadlines(afterMs)",
  },
  {
    item: "L15", test: "platform", in: "Rounds.join",
    find: "if (!this.#isShared) return void this.#runRound(name, [job]);",
    replace: "",
  },
  {
    item: "L15", test: "platform", in: "RedisStore.constructor",
    find: "sharesWork() ? MOST_PARTS : 1",
    replace: "MOST_PARTS",
  },
  {
    item: "L15", test: "platform", in: "scriptRunner",
    find: "if (isShared) sha = computed;",
    replace: "sha = computed;",
  },
  {
    item: "L15", test: "platform", in: "DenyCache.expect",
    find: "if (this.#isShared) denial.newer = {",
    replace: "denial.newer = {",
  },
  {
    item: "L15", test: "platform", in: "KeyQueue.#append",
    find: "if (this.#isShared) for (const name of names) this.#last.set(name, turn);",
    replace: "for (const name of names) this.#last.set(name, turn);",
  },
  {
    item: "L15", test: "platform", in: "WaitQueues.#open",
    find: "if (!settings.isShared) return new WaitQueue(settings, new Polls(), charges, () => undefined);",
    replace: "",
  },
  {
    item: "L15", test: "platform", in: "WaitQueue.constructor",
    find: "charge !== null && setup.isShared",
    replace: "charge !== null",
  },
  {
    item: "L15", test: "platform", in: "WaitQueues.#enter",
    find: "(this.#waiting < maxWaiters || !isShared)",
    replace: "this.#waiting < maxWaiters",
  },
  {
    item: "L15", test: "platform", in: "parseCall",
    find: "sharesWork() && options.merge",
    replace: "options.merge",
  },
  {
    item: "L15", test: "platform", in: "createFetch",
    find: "pending >= maxPending && sharesWork()",
    replace: "pending >= maxPending",
  },
  {
    item: "L15", test: "platform", in: "createTraffic",
    find: "isShared ? scheduler.queue : createCallQueue()",
    replace: "scheduler.queue",
  },
  {
    item: "L16", test: "many-keys", in: "MemoryTable.put",
    find: "if (--this.#untilSweep < 0) this.#sweep(now);",
    replace: "",
  },
  {
    item: "L16", test: "bucket-name", in: "LONGEST_NAME",
    find: "LONGEST_NAME = 128",
    replace: "LONGEST_NAME = 129",
  },
  {
    item: "L16", test: "bucket-name", in: "shortKey",
    find: "clearName(policy, key)",
    replace: "portableKey(key)",
  },
  {
    item: "L16", test: "partition", in: "MOST_BYTES",
    find: "MOST_BYTES = 128",
    replace: "MOST_BYTES = 129",
  },
  {
    item: "L16", test: "partition", in: "partitionsOf",
    find: 'checkPartition(made, "partitionKey()")',
    replace: "made as Uint8Array",
  },
  {
    item: "L16", test: "deny-cache", in: "DenyCache.remember",
    find: "keys.set(short, denial)",
    replace: "keys.set(key, denial)",
  },
  {
    item: "L17", test: "now-or-later", in: "startAll",
    find: "orElse<T | undefined>(call, (error) => void errors.push(error))",
    replace: "call()",
  },
  {
    item: "L17", test: FAILING, in: "startAll",
    find: "orElse<T | undefined>(call, (error) => void errors.push(error))",
    replace: "call()",
  },
  {
    item: "L17", test: FAILING, in: "combinedVerbs",
    find: "return () => startAll(peeks, (all) =>",
    replace: "return () => Promise.all(peeks.map((peek) => peek())).then((all) =>",
  },
  {
    item: "L17", test: FAILING, in: "combinedVerbs",
    find: "startAll<void, void>(changes, () => undefined)",
    replace: "Promise.all(acts.map((act) => act())).then(() => undefined)",
  },
  {
    item: "L17", test: FAILING, in: "combinedVerbs",
    find: "startAll(settlements, (done) => done.some(Boolean))",
    replace: "Promise.all(settlements.map((settlement) => settlement())).then((done) => done.some(Boolean))",
  },
  {
    item: "L17", test: "gate", in: "createGate",
    find: "decideLater(request, rest, { caller, cost, policy })",
    replace: "decideLater(request, rest, { caller, cost: undefined, policy })",
  },
  {
    item: "L18", test: "gate", in: "isFree",
    find: "policy !== undefined && policy !== null",
    replace: "policy !== null",
  },
  {
    item: "L18", test: "gate", in: "createGate",
    find: "key === unlimited",
    replace: "requests !== null && key === unlimited",
  },
  {
    item: "L9", test: "combinations", in: "createRequests",
    find: "limiter.charges(callers, undefined);",
    replace: "",
  },
  {
    item: "L9", test: FAILING, in: "combinedVerbs",
    find: "parted.charges(keys, options)",
    replace: "[]",
  },
  {
    item: "L9", test: "combine-arguments", in: "createOperatorVerbs",
    find: "{ throw tooMuch(); }",
    replace: "{ void tooMuch(); }",
  },
  {
    item: "L9", test: "bad-input", in: "isByName",
    find: "if (!isPlain(cost)) throw new TypeError(",
    replace: "if (!isPlain(cost)) void new TypeError(",
  },
  {
    item: "L9", test: "other-realms", in: "isPlain",
    find: 'Object.hasOwn((Object.getPrototypeOf(value) ?? Object.prototype) as object, "isPrototypeOf")',
    replace: "(Object.getPrototypeOf(value) ?? Object.prototype) === Object.prototype",
  },
  {
    item: "L17", test: "unsendable", in: "takeResponse",
    find: "status >= 200 && status <= 599",
    replace: "status <= 599",
  },
  {
    item: "L17", test: "unsendable", in: "takeResponse",
    find: "made.bodyUsed || body.locked || taken.has(body)",
    replace: "made.bodyUsed || body.locked",
  },
  {
    item: "L17", test: "unsendable", in: "takeResponse",
    find: "made.bodyUsed || body.locked || taken.has(body)",
    replace: "taken.has(body)",
  },
  {
    item: "L17", test: "unsendable", in: "respondOnReply",
    find: "isWebResponse(payload) ? takeResponse(payload) : payload",
    replace: "payload",
  },
  {
    item: "L17", test: "unsendable", in: "watchRespond",
    find: "if (isUnsendable(response.statusCode)) return response;",
    replace: "",
  },
  {
    item: "L17", test: "fastify-raw", in: "keepForRaw",
    find: 'reportFailure("setHeader", error)',
    replace: "throw error",
  },
  {
    item: "L17", test: "fastify-raw", in: "keepForRaw",
    find: 'asError(error, "writeHead")',
    replace: "error",
  },
  {
    item: "L19", test: COSTS, in: "decideSeveral",
    find: "missingOf(limit, costAt(costs, i), spentAt(",
    replace: "missingOf(limit, costAt(costs, 0), spentAt(",
  },
  {
    item: "L19", test: COSTS, in: "decideSeveral",
    find: "costAt(costs, i), now, taken)",
    replace: "costAt(costs, 0), now, taken)",
  },
  {
    item: "L19", test: COSTS, in: "byName",
    find: "costAt(others, i)",
    replace: "1",
  },
  {
    item: "L19", test: COSTS, in: "costsOf",
    find: "all.find(({ limit }) => limit === policy.limits[i]?.name)",
    replace: "all[i]",
  },
  {
    item: "L19", test: "settle-costs", in: "createSettle",
    find: "correction(decision, policy, taken, used, guarded.now() - decision.at)",
    replace: "costAt(correction(decision, policy, taken, used, guarded.now() - decision.at), 0)",
  },
  {
    item: "L10", test: FINES, in: "adjust",
    find: "const tooMuch = policy.limits.some(",
    replace: "const tooMuch = policy.limits.every(",
  },
  {
    item: "L10", test: FINES, in: "createOperatorVerbs",
    find: "if (!done) throw tooMuch();",
    replace: "if (!done) void tooMuch();",
  },
  {
    item: "L2", test: FINES, in: "consumeBlocked",
    find: "blockMs <= 0",
    replace: "blockMs <= 0 || costs === 0",
  },
  {
    item: "L2", test: FINES, in: "peekBlocked",
    find: "return blockMs > 0 ? whileBlocked(",
    replace: "return blockMs > 0 && costs !== 0 ? whileBlocked(",
  },
  {
    item: "L6", test: TWO_CLOCKS, in: "LostTime.look",
    find: "this === byDefault && isOtherPlatform()",
    replace: "false",
  },
  {
    item: "L6", test: TWO_CLOCKS, in: "MemoryStore.consumeUnlisted",
    find: "!this.#lost.look(now)",
    replace: "true",
  },
  {
    item: "L6", test: TWO_CLOCKS, in: "MemoryShard.#age",
    find: "limit.fullMs === 0",
    replace: "limit.fullMs < 0",
  },
  {
    item: "L6", test: "suspended", in: "CircuitBreaker.refusal",
    find: "this.#lost.look(monotonicClock()) ? this.refusal(call) : effect.error",
    replace: "effect.error",
  },
  {
    item: "L6", test: "suspended", in: "WaitQueue.join",
    find: "if (isOld) this.#line.isNews = true;",
    replace: "",
  },
  {
    item: "L4", test: "memory/blocks", in: "MemoryStore.#blockFor",
    find: "this.#table.delete(this.#bucketKey, this.#blocks)",
    replace: "this.#table.delete(this.#bucketKey, null)",
  },
  {
    item: "L8", test: "ended-blocks", in: "whileBlocked",
    find: "allowed: false, blocked: true, reason:",
    replace: "allowed: false, reason:",
  },
  {
    item: "L11", test: "check-decision", in: "isMark",
    find: "(blocked === true && !allowed)",
    replace: "blocked === true",
  },
  {
    item: "L11", test: "check-decision", in: "isDecision",
    find: '(!Object.hasOwn(answer, "blocked") || isMark(',
    replace: "(isMark(",
  },
  {
    item: "L13", test: "blocks", in: "MemoryShard.#fullAt",
    find: "(limit.fullMs || leftMs)",
    replace: "limit.fullMs",
  },
  {
    item: "L14", test: FINES, in: "keep",
    find: "limits.forEach((limit: Limit, i) => {",
    replace: "records.delete(BLOCK); limits.forEach((limit: Limit, i) => {",
  },
  {
    item: "L14", test: FINES, in: "consumeBlocked",
    find: "convertStale(buckets, policy, now);",
    replace: "",
  },
  {
    item: "L17", test: "failing-answers", in: "toJson",
    find: 'throw new TypeError("Expected the object literal of an answer',
    replace: 'void new TypeError("Expected the object literal of an answer',
  },
  {
    item: "L18", test: "adapters/node", in: "isFree",
    find: "policy !== undefined && policy !== null",
    replace: "policy !== null",
  },
  {
    item: "L20", test: QUOTA, in: "changeUnits",
    find: "(bucket.at !== date || !hasOwnDate(bucket, limit, now))",
    replace: "now > (date as number)",
  },
  {
    item: "L20", test: QUOTA, in: "answer",
    find: "from = Math.max(from, kind.dateOf(now))",
    replace: "from = Math.max(from, now)",
  },
  {
    item: "L20", test: QUOTA, in: "answer",
    find: "from = Math.max(from, kind.dateOf(now))",
    replace: "from = from > now ? from : kind.dateOf(now)",
  },
  {
    item: "L20", test: QUOTA, in: "hasOwnDate",
    find: "isSameKind &&",
    replace: "",
  },
  {
    item: "L20", test: QUOTA, in: "hasOwnDate",
    find: "(bucket.unitsPerMs < ALL_UNITS) === (limit.unitsPerMs < ALL_UNITS)",
    replace: "bucket.unitsPerMs === ALL_UNITS || limit.unitsPerMs < ALL_UNITS",
  },
  {
    item: "L20", test: "calendar", in: "firstInstant",
    find: "for (const offset of [before, after])",
    replace: "for (const offset of [after, before])",
  },
  {
    item: "L20", test: "calendar", in: "periodsOf",
    find: "[-1, 0, 1, 2]",
    replace: "[0, 1]",
  },
  {
    item: "L20", test: "quotas", in: "choiceIn",
    find: "dateRulesOf(policy)?.checkStore(own.store, policy, own.policy)",
    replace: "void 0",
  },
  {
    item: "L20", test: "quotas", in: "dateRules",
    find: "capacity: capacity / QUOTA_PARTS",
    replace: "capacity",
  },
  {
    item: "L20", test: "quotas", in: "COUNTED",
    find: '"unitsPerToken", "calendar"]',
    replace: '"unitsPerToken"]',
  },
  {
    item: "L20", test: "quotas", in: "checkStoreKinds",
    find: 'store.clock === monotonicClock || store.clock?.name === "monotonicClock"',
    replace: "false",
  },
  {
    item: "L20", test: "quotas", in: "createGateLimiter",
    find: "dateRulesOf(policy)?.storeOptions(policy)",
    replace: "",
  },
  {
    item: "L10", test: "memory", in: "MemoryStore.#consumeTogether",
    find: "all ? cost : Infinity",
    replace: "all ? cost : Number.MAX_SAFE_INTEGER",
  },
  {
    item: "L21", test: "model", in: "inFlightCode",
    find: "Math.ceil((now + staleAfterMs) / step)",
    replace: "Math.floor((now + staleAfterMs) / step)",
  },
  {
    item: "L21", test: "model", in: "changeUnits",
    find: "units > 0 ? kind.dateOf(now) : kind.backTo(from)",
    replace: "units > 0 || kind.amounts ? kind.dateOf(now) : kind.backTo(from)",
  },
  {
    item: "L1", test: "late-reports", in: "createSettle",
    find: "isRelease ? { withoutHeld: store } : null",
    replace: "null",
  },
  {
    item: "L21", test: "late-reports", in: "createSettle",
    find: "if (!isRelease) markCharged(decision, by);",
    replace: "markCharged(decision, by);",
  },
  {
    item: "L21", test: "late-reports", in: "createSettle",
    find: "isRelease ? make : settle",
    replace: "settle",
  },
  {
    item: "L21", test: "late-reports", in: "settlementOf",
    find: "{ policy }, isRelease",
    replace: "{ policy }, isRelease === null",
  },
  {
    item: "L21", test: "renewals", in: "renew",
    find: "const pending = answers.then(done).finally(ended);",
    replace: "done([undefined]); const pending = answers.then(() => undefined).finally(ended);",
  },
  {
    item: "L13", test: "renewals", in: "stopRenewing",
    find: "works.delete(work)",
    replace: "void works",
  },
  {
    item: "L12", test: "turns", in: "StoreAsk.tellBreaker",
    find: "if (this.#options.inBackground !== true || this.isProbe) super.tellBreaker(error);",
    replace: "super.tellBreaker(error);",
  },
  {
    item: "L12", test: "laws-settlements", in: "settleLater",
    find: "settlementLines.get(store) ??",
    replace: "[...settlementLines.values()][0] ??",
  },
  {
    item: "L12", test: "laws-settlements", in: "settleLine",
    find: "for (const settle of some) line.delete(settle);",
    replace: "",
  },
  {
    item: "L21", test: "renewals", in: "chargeGroup",
    find: "guarded.ask(call, { late })",
    replace: "guarded.ask(call)",
  },
  {
    item: "L21", test: "limiter", in: "ConsumeCall.late",
    find: "holdRulesOf(this.#policy)?.giveBackLate(",
    replace: "void (",
  },
  {
    item: "L21", test: "gate", in: "createVerdicts",
    find: "hold !== undefined && hasLeft(request)",
    replace: "hold === null",
  },
  {
    item: "L13", test: "held-records", in: "HeldRecords.#evictOne",
    find: "if (record.at < victim.at) victim = record;",
    replace: "",
  },
  {
    item: "L18", test: "shadow-once", in: "wantsOf",
    find: "each.shadow",
    replace: "each.limiter.shadow(each.key)",
  },
  {
    item: "L18", test: "shadow-once", in: "isInShadow",
    find: 'decision.allowed && (hasOwn(decision, "shadow") || limiter.shadow(key))',
    replace: "decision !== null && limiter.shadow(key)",
  },
  {
    item: "L21", test: "deny-cache", in: "DenyCache.remember",
    find: "this.#forMs === 0 || policy.inFlight !== undefined",
    replace: "this.#forMs === 0",
  },
  {
    item: "L21", test: "waiter-in-flight", in: "WaitLine.#isLate",
    find: "if (isUnsure(due, now) && until - now < EARLY_MS) return true;",
    replace: "if (isUnsure(due, now)) return due.latest > until;",
  },
  {
    item: "L21", test: "gate-aborts", in: "Work.holdUntil",
    find: "this.#hold?.until(handler)",
    replace: "void handler",
  },
  {
    item: "L21", test: "gate-aborts", in: "plugin",
    find: "if (hasReleased(request)) return void reply.hijack();",
    replace: "",
  },
  {
    item: "L21", test: "gate", in: "Work.end",
    find: "if (hold !== undefined) return this.#release(hold, actualCost, outcome);",
    replace: "",
  },
  {
    item: "L21", test: "gate-reports", in: "Work.#release",
    find: "actualCost !== undefined",
    replace: "actualCost !== undefined && this.#reported === null",
  },
  {
    item: "L21", test: "gate-renewals", in: "holdOf",
    find: "keepInFlight(limiter as GateLimiter, key, decision, policy, hold)",
    replace: "[keepInFlight, limiter as GateLimiter, key, decision, policy].length > 0",
  },
  {
    item: "L21", test: "gate-failures", in: "wrapHandlers",
    find: "handled.then(finish).catch(fail)",
    replace: "handled.then(finish, fail)",
  },
  {
    item: "L21", test: "work-sockets", in: "endOnClose",
    find: "onClose(request, end)",
    replace: "null",
  },
  {
    item: "L21", test: "work-sockets", in: "endWithoutSocket",
    find: "!response.socket && !connection?._httpMessage",
    replace: "!response.socket",
  },
  {
    item: "L21", test: "work-sockets", in: "endWithoutSocket",
    find: 'response.once("finish", end);',
    replace: "",
  },
  {
    item: "L12", test: "work-sockets", in: "onClose",
    find: "listeners.delete(listener) && listeners.size === 0",
    replace: "listeners.delete(listener) && listeners.size < 0",
  },
  {
    item: "L21", test: "work-dropped", in: "RequestHold.lapsed",
    find: "this.unread?.();",
    replace: "",
  },
  {
    item: "L12", test: "work-dropped", in: "hearSignal",
    find: "request.stop = onSignalAbort(",
    replace: "void onSignalAbort(",
  },
  {
    item: "L21", test: "work-dropped", in: "bindingsOf",
    find: 'typeof incoming?.method !== "string"',
    replace: "incoming === undefined",
  },
  {
    item: "L21", test: "work-dropped", in: "endWithBindings",
    find: "else work.whenSettles(endOnClose, outgoing);",
    replace: "",
  },
  {
    item: "L21", test: "gate-signals", in: "watchesClient",
    find: "waits || parts.some((part) => mayHold(part.policy))",
    replace: "waits && parts.length > 0",
  },
];
