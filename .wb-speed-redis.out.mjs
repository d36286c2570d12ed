// .wb-r.mjs
import { Redis } from "ioredis";

// src/core/check.ts
function show(value) {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}\u2026` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "function") return "a function";
  return Object(value) === value ? "an object" : String(value);
}
function expected(name, what, got) {
  return `Expected \`${name}\` to be ${what}, got ${show(got)}`;
}
function notDefined(policy, name = "policy", what = "made by definePolicy") {
  return new TypeError(`${expected(name, what, policy)}. Pass a copy to definePolicy first.`);
}
function checkOptions(options, names, what = "an object", explain, name = "options") {
  if (typeof options !== "object" || options === null) throw new TypeError(expected(name, what, options));
  checkNames(options, names, explain);
  return ownMembers(options);
}
function ownMembers(value) {
  return { __proto__: null, ...value };
}
function isPlain(value) {
  return Object.hasOwn(Object.getPrototypeOf(value) ?? Object.prototype, "isPrototypeOf");
}
function checkNames(options, names, explain) {
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) {
      throw new TypeError(`Unknown option \`${name}\`${explain?.(name, names) ?? suggestion(name, names)}`);
    }
  }
}
function checkClock(clock) {
  if (typeof clock === "function") return;
  const cure = typeof Object(clock).now === "function" ? ". Write clock.now" : "";
  throw new TypeError(expected("clock", "a function that returns milliseconds", clock) + cure);
}
function positiveInteger(name, value, cure = "") {
  return integerFrom(1, "a positive integer", name, value, cure);
}
function wholeNumber(name, value) {
  return integerFrom(0, "a whole number of at least 0", name, value);
}
function integerFrom(least, what, name, value, cure = "") {
  if (typeof value !== "number") throw new TypeError(expected(name, what, value));
  if (!Number.isSafeInteger(value) || value < least) throw new RangeError(expected(name, what, value) + cure);
  return value;
}
function checkName(what, name) {
  if (typeof name !== "string") throw new TypeError(expected(what, "a string", name));
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name)) {
    throw new RangeError(expected(what, "1 to 64 letters, digits, `_`, `-` or `.`, starting with a letter or digit", name));
  }
  return name;
}
function suggestion(name, names) {
  for (let beginning = name.toLowerCase(); beginning.length > 2; beginning = beginning.slice(0, -1)) {
    const nearest = names.find((known) => known.toLowerCase().startsWith(beginning));
    if (nearest !== void 0) return `. Did you mean \`${nearest}\`?`;
  }
  return `. Known options: ${names.map((known) => `\`${known}\``).join(", ")}`;
}

// src/core/clock.ts
function monotonicClock() {
  const { performance: performance2 } = globals;
  if (performance2 === void 0) throw new TypeError(NO_PERFORMANCE);
  return performance2.now();
}
var globals = globalThis;
var NO_PERFORMANCE = "Expected `performance` to be there, got undefined. Pass `clock: Date.now`, or define it.";
function readClock(clock) {
  const now = Math.floor(clock());
  if (!Number.isSafeInteger(now)) throw new RangeError(expected("clock()", "a finite number of milliseconds below 2^53", now));
  return now;
}

// src/core/bucket.ts
var ALL_UNITS = Number.MAX_SAFE_INTEGER;
var RATE = {
  dateOf: (now) => now,
  backTo: () => void 0,
  retryAfterMs: Infinity,
  isInFlight: false,
  apart: void 0
};
function fullBucket(limit) {
  if (limit.unitsPerMs === void 0) throw notDefined(limit);
  return { spent: 0, at: 0, unitsPerMs: limit.unitsPerMs, unitsPerToken: limit.unitsPerToken, dates: void 0 };
}
function spentAt(bucket, limit, now) {
  if (bucket.spent === 0) return 0;
  if (limit.kind.apart !== void 0) return limit.kind.apart.spentAt(bucket, now);
  const refilled = bucket.unitsPerMs * Math.max(0, now - bucket.at);
  const spent = Math.max(0, bucket.spent - refilled);
  return bucket.unitsPerToken === limit.unitsPerToken ? spent : convert(spent, bucket.unitsPerToken, limit.unitsPerToken);
}
function backFrom(bucket, limit, now) {
  if (bucket.spent === 0) return now;
  return hasOwnDate(bucket, limit, now) ? Math.max(bucket.at, now) : limit.kind.dateOf(now);
}
function hasOwnDate(bucket, limit, now) {
  const isSameKind = bucket.unitsPerMs < ALL_UNITS === limit.unitsPerMs < ALL_UNITS;
  return isSameKind && !isImpossible(bucket, limit, now);
}
function unitsOver(limit, tokens, spent) {
  return Math.max(0, spent - (limit.size - tokens * limit.unitsPerToken));
}
function msUntil(units, limit, from, now) {
  return typeof from === "number" ? from - now + Math.ceil(units / limit.unitsPerMs) : limit.kind.apart.msUntil(from, limit, now, units);
}
function stillSpent(units, { refill, unitsPerMs }, lateMs) {
  return units < 0 && lateMs > 0 && refill !== void 0 ? Math.min(0, units + unitsPerMs * lateMs) : units;
}
function charge(bucket, limit, now, units, from) {
  const { kind } = limit;
  const date = units > 0 ? kind.dateOf(now) : kind.backTo(from);
  if (kind.apart !== void 0) return kind.apart.charge(bucket, limit, now, units, date);
  const spent = spentAt(bucket, limit, now);
  const isElsewhere2 = units < 0 && date !== void 0 && (bucket.at !== date || !hasOwnDate(bucket, limit, now));
  const at = backFrom(bucket, limit, now);
  setBucket(bucket, limit, Math.max(0, isElsewhere2 ? spent : spent + units), units > 0 ? Math.max(at, date) : at);
}
function setBucket(bucket, limit, spent, at) {
  bucket.spent = spent;
  bucket.at = at;
  bucket.unitsPerMs = limit.unitsPerMs;
  bucket.unitsPerToken = limit.unitsPerToken;
}
function isStale(bucket, limit, now) {
  if (bucket.unitsPerMs !== limit.unitsPerMs || bucket.unitsPerToken !== limit.unitsPerToken) return true;
  return bucket.spent > 0 && isImpossible(bucket, limit, now);
}
function isImpossible(bucket, limit, now) {
  return bucket.at - now > limit.fullMs;
}
function convert(spent, from, to) {
  const units = (BigInt(spent) * BigInt(to) + BigInt(from) - 1n) / BigInt(from);
  return Math.min(Number(units), Number.MAX_SAFE_INTEGER);
}

// src/core/limit.ts
var perMinute = (tokens) => ({ tokens, everyMs: 6e4 });
var LIMIT_OPTIONS = [
  "name",
  "capacity",
  "refill",
  "renews",
  "returns",
  "cost",
  "unit"
];
function makeLimit(options, name) {
  const own = ownMembers(options);
  const field = own.returns === void 0 ? "renews" : "returns";
  const written2 = own[field];
  const dating = written2?.dating;
  const given = ["refill", "renews", "returns"].filter((each) => own[each] !== void 0);
  if (given.length > 1) throw new TypeError(`Expected only one of \`${given.join("` and `")}\`, got ${given.length}`);
  const asked2 = !("capacity" in own) && !written2 ? void 0 : positiveInteger("capacity", own.capacity);
  if (written2 !== void 0 && dating?.field !== field) {
    const { every, name: made2 } = Object(written2);
    const [, day, week] = /^"?(?:(da)|(week))/.exec(every ?? made2 ?? show(written2)) ?? [];
    const returns = "afterMs" in Object(written2) ? "afterMs" : "whenDone";
    const maker = field === "returns" ? returns : day ? "daily" : week ? "weekly" : "monthly";
    const copy = typeof written2 === "object" ? `. For a copy write ${maker}(limit.${field})` : "";
    throw new TypeError(expected(field, `made by ${maker}()`, written2) + copy);
  }
  const refill = dating ? { tokens: ALL_UNITS, everyMs: 1 } : checkOptions(
    own.refill,
    ["tokens", "everyMs"],
    typeof own.refill === "function" ? `called, as in perMinute(${asked2 ?? 5})` : REFILL_TEXT,
    explainRefill,
    "refill"
  );
  const tokens = positiveInteger(
    "refill.tokens",
    refill.tokens,
    ". For one token every two seconds write { tokens: 1, everyMs: 2000 }."
  );
  const everyMs = positiveInteger("refill.everyMs", refill.everyMs);
  const capacity = asked2 ?? tokens;
  const divisor = greatestCommonDivisor(tokens, everyMs);
  const unitsPerMs = tokens / divisor;
  const unitsPerToken = everyMs / divisor;
  const size = capacity * unitsPerToken;
  if (size > Number.MAX_SAFE_INTEGER) {
    const most = Math.floor(Number.MAX_SAFE_INTEGER / unitsPerToken);
    throw new RangeError(
      `${expected("capacity", `at most ${most} at this refill`, capacity)}. Lower it, or shorten \`refill.everyMs\`.`
    );
  }
  const cost = own.cost === void 0 ? 1 : wholeNumber("cost", own.cost);
  if (cost > capacity) {
    throw new RangeError(`${expected("cost", `at most the capacity, ${capacity}`, cost)}. Lower it, or raise \`capacity\`.`);
  }
  const unit = own.unit === void 0 ? {} : { unit: checkName("unit", own.unit) };
  const kept = { name, capacity, [dating ? field : "refill"]: written2 ?? Object.freeze({ tokens, everyMs }), ...unit };
  const fullMs = Math.ceil(size / unitsPerMs);
  const computed = { kind: dating?.kind ?? RATE, unitsPerMs, unitsPerToken, size, fullMs, ...dating?.facts };
  return own.cost === void 0 ? withComputed(kept, { ...computed, cost }) : withComputed({ ...kept, cost }, computed);
}
var REFILL_TEXT = "an object such as perSecond(5), or `renews: monthly()`, or `returns: whenDone()`";
var explainRefill = () => " of `refill`. Write { tokens: 5, everyMs: 60_000 }, or perMinute(5)";
function withComputed(written2, computed) {
  for (const name of Reflect.ownKeys(computed)) Object.defineProperty(written2, name, { value: computed[name] });
  return Object.freeze(written2);
}
function greatestCommonDivisor(a, b) {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}
function costAt(costs, position) {
  return typeof costs === "number" ? costs : costs[position];
}
function simplest(list) {
  for (let i = 1; i < list.length; i++) if (list[i] !== list[0]) return list;
  return list[0];
}
function sameCosts(a, b) {
  return a === b || typeof a === "object" && typeof b === "object" && a.every((cost, i) => cost === b[i]);
}

// src/core/decision.ts
function consume(buckets, policy, costs, now) {
  const decision = decide(buckets, policy, costs, now, true);
  if (!decision.allowed) convertStale(buckets, policy, now);
  return decision;
}
function peek(buckets, policy, costs, now) {
  return decide(buckets, policy, costs, now, false);
}
function adjust(buckets, policy, changes, now, from) {
  const tooMuch = policy.limits.some(
    (limit, i) => spentAt(buckets[i], limit, now) + costAt(changes, i) * limit.unitsPerToken > Number.MAX_SAFE_INTEGER
  );
  if (tooMuch) return false;
  for (let i = 0; i < buckets.length; i++) {
    const limit = policy.limits[i];
    const units = stillSpent(costAt(changes, i) * limit.unitsPerToken, limit, now - (sinceAt(from, i) ?? now));
    charge(buckets[i], limit, now, units, from);
  }
  return true;
}
function sinceAt(from, position) {
  const since = typeof from === "object" ? from.since : void 0;
  return typeof since === "object" ? since[position] : since;
}
function renewHeld(buckets, policy, tokens, now, move) {
  policy.limits.forEach((limit, i) => {
    const bucket = buckets[i];
    const { apart: apart2 } = limit.kind;
    if (apart2?.move === void 0) charge(bucket, limit, now, 0);
    else apart2.move(bucket, limit, now, costAt(tokens, i), move);
  });
  return isHeldAt(policy, move.from, now);
}
var isHeldAt = ({ inFlight }, from, now) => (inFlight?.kind.dateOf(from) ?? now) >= now;
function convertStale(buckets, policy, now) {
  for (let i = 0; i < buckets.length; i++) {
    const [bucket, limit] = [buckets[i], policy.limits[i]];
    if (isStale(bucket, limit, now)) charge(bucket, limit, now, 0);
  }
}
function whileBlocked(decision, blockMs) {
  const blocked = (reading) => ({
    ...reading,
    remaining: 0,
    retryAfterMs: Math.max(reading.retryAfterMs, blockMs),
    nextTokenMs: Math.max(reading.remaining > 0 ? 0 : reading.nextTokenMs, blockMs),
    resetMs: Math.max(reading.resetMs, blockMs)
  });
  const refused = { ...blocked(decision), allowed: false, blocked: true, reason: decision.reason ?? "limited" };
  if (decision.limits === null) return refused;
  const limits = decision.limits.map(blocked);
  return { ...refused, ...limits.reduce((a, b) => bindsMore(b, a) ? b : a), limits };
}
function readings(decision) {
  return decision.limits ?? [decision];
}
function decide(buckets, policy, costs, now, take2) {
  if (policy.limits.length > 1) return decideSeveral(buckets, policy, costs, now, take2);
  const reading = answer(buckets[0], policy.limits[0], costAt(costs, 0), now, take2);
  return decisionBy(reading, policy, null, now);
}
function decideSeveral(buckets, policy, costs, now, take2) {
  let taken = take2;
  for (let i = 0; taken && i < buckets.length; i++) {
    const limit = policy.limits[i];
    taken = missingOf(limit, costAt(costs, i), spentAt(buckets[i], limit, now)) === 0;
  }
  const limits = buckets.slice();
  let binding;
  for (let i = 0; i < buckets.length; i++) {
    const next = answer(buckets[i], policy.limits[i], costAt(costs, i), now, taken);
    limits[i] = next;
    if (binding === void 0 || bindsMore(next, binding)) binding = next;
  }
  return decisionBy(binding, policy, limits, now);
}
function decisionBy(binding, policy, limits, now) {
  const { limit, cost, capacity, remaining, retryAfterMs, nextTokenMs, resetMs } = binding;
  const decision = {
    allowed: retryAfterMs === 0,
    reason: retryAfterMs === 0 ? null : retryAfterMs === Infinity ? "cost_above_capacity" : "limited",
    policy: policy.name,
    limit,
    cost,
    capacity,
    remaining,
    retryAfterMs,
    nextTokenMs,
    resetMs,
    limits,
    at: now,
    degraded: false
  };
  if (binding.inFlight) decision.inFlight = true;
  return decision;
}
function missingOf(limit, cost, spent) {
  if (cost === 0) return 0;
  return cost > limit.capacity ? Infinity : unitsOver(limit, cost, spent);
}
function answer(bucket, limit, cost, now, take2) {
  const { kind, size, unitsPerToken } = limit;
  const before = spentAt(bucket, limit, now);
  const over = missingOf(limit, cost, before);
  const takes = take2 && over === 0;
  const taken = takes ? cost * unitsPerToken : 0;
  const spent = before + taken;
  let from = bucket;
  if (kind.apart === void 0) {
    from = before === 0 ? now : backFrom(bucket, limit, now);
    if (taken > 0) from = Math.max(from, kind.dateOf(now));
    if (takes) setBucket(bucket, limit, spent, from);
  } else if (takes) kind.apart.charge(bucket, limit, now, taken, kind.dateOf(now));
  const remaining = Math.max(0, Math.floor((size - spent) / unitsPerToken));
  const reading = {
    limit: limit.name,
    cost,
    capacity: limit.capacity,
    remaining,
    retryAfterMs: over === 0 || over === Infinity ? over : Math.min(kind.retryAfterMs, msUntil(over, limit, from, now)),
    nextTokenMs: spent === 0 ? 0 : msUntil(unitsOver(limit, remaining + 1, spent), limit, from, now),
    resetMs: spent === 0 ? 0 : msUntil(spent, limit, from, now)
  };
  if (kind.isInFlight) reading.inFlight = true;
  return reading;
}
function bindsMore(a, b) {
  if (a.retryAfterMs !== b.retryAfterMs) return a.retryAfterMs > b.retryAfterMs;
  if (hasFewerLeft(a, b) || hasFewerLeft(b, a)) return hasFewerLeft(a, b);
  return a.nextTokenMs > b.nextTokenMs;
}
function hasFewerLeft(a, b) {
  if (a.inFlight !== b.inFlight) return b.inFlight === true;
  return a.cost === b.cost ? a.remaining < b.remaining : requestsLeft(a) < requestsLeft(b);
}
function requestsLeft({ remaining, cost }) {
  return cost === 0 ? Infinity : remaining / cost;
}

// src/core/cost.ts
function parseCost(policy, cost, own) {
  const costs = cost === void 0 ? policy.ownCosts : parseTokens(policy, cost, "cost", policy.ownCosts);
  if (policy.inFlight === void 0 || typeof cost !== "number") return costs;
  const isForOne = own?.inFlight !== void 0 && own.limits.length === 1 && policy.limits.length === 1;
  return isForOne ? costs : exceptInFlight(policy, costs, policy.ownCosts);
}
function exceptInFlight(policy, costs, others) {
  return mapCosts(policy, costs, (cost, i) => policy.limits[i]?.kind.isInFlight ? costAt(others, i) : cost);
}
function parseTokens(policy, tokens, name, others = 0) {
  return isByName(tokens, name) ? byName(policy, tokens, name, others) : wholeNumber(name, tokens);
}
function isByName(cost, name) {
  if (typeof cost !== "object" || cost === null || Array.isArray(cost)) return false;
  if (!isPlain(cost)) throw new TypeError(
    `${expected(name, "a number or a plain object", cost)} of another kind. Pass a copy: { ...object }, or Object.fromEntries(map)`
  );
  return true;
}
function byName(policy, given, name, others) {
  const names = policy.limits.map((limit) => limit.name);
  for (const each of Object.keys(given)) {
    if (!names.includes(each)) {
      throw new TypeError(`Unknown limit \`${each}\` in \`${name}\`. The limits of policy "${policy.name}": ${names.join(", ")}`);
    }
  }
  return simplest(
    policy.limits.map(
      (limit, i) => Object.hasOwn(given, limit.name) ? wholeNumber(`${name}.${limit.name}`, given[limit.name]) : costAt(others, i)
    )
  );
}
function mapCosts(policy, costs, change) {
  return simplest(policy.limits.map((_, i) => change(costAt(costs, i), i)));
}
function neverFits(policy, costs) {
  return typeof costs === "number" ? costs > policy.maxCost : policy.limits.some(({ capacity }, i) => costAt(costs, i) > capacity);
}
function costsOf(decision, policy) {
  const all = readings(decision);
  return mapCosts(policy, 0, (none2, i) => all.find(({ limit }) => limit === policy.limits[i]?.name)?.cost ?? none2);
}

// src/core/errors.ts
var SluiceError = class extends Error {
  /** The class's name, safe from minifiers. Becomes the error's `name`. */
  static kind = "SluiceError";
  /** The class's `kind`. A field, because a frozen `Error.prototype` forbids to assign it. */
  name = this.constructor.kind;
  /** Made by sluice and by stores. */
  constructor(code, message, options) {
    super(message, options);
    this.code = code;
    Object.defineProperty(this, /* @__PURE__ */ Symbol.for("sluice.error"), { value: true });
  }
  /** Whether `value` is an error of this class, from any copy of the package. */
  static [Symbol.hasInstance](value) {
    if (super[Symbol.hasInstance](value)) return true;
    const error = Object(value);
    return /* @__PURE__ */ Symbol.for("sluice.error") in error && Object.hasOwn(this, "kind") && [error.name, "SluiceError"].includes(this.kind);
  }
};

// src/core/key.ts
var UNIDENTIFIED = Object.freeze(
  Object.defineProperty([""], /* @__PURE__ */ Symbol.for("sluice.unidentified"), { value: true })
);
function encodeKey(key) {
  if (typeof key === "string") {
    if (key === "") throw new TypeError("Expected `key` to be a non-empty string, got an empty one");
    return key.charCodeAt(0) === 40 ? `(${key}` : key;
  }
  if (!Array.isArray(key) || key.length === 0) {
    throw new TypeError(expected("key", 'a non-empty string or a tuple such as ["user", 42]', key));
  }
  let encoded = "(";
  for (const part of key) {
    const text = typeof part === "string" ? part : Number.isSafeInteger(part) || typeof part === "bigint" ? String(part) : "";
    if (text === "" && /* @__PURE__ */ Symbol.for("sluice.unidentified") in key) return "(";
    if (text === "") {
      throw new TypeError(`Expected every part of \`key\` to be a non-empty string or an integer, got ${show(part)}`);
    }
    encoded += `${text.length}:${text}`;
  }
  return encoded;
}

// src/stores/memory/shard.ts
var SMALLEST = 8;
var LARGEST_FILL = 0.75;
var EXAMINED = 256;
var SAMPLED = 16;
var WORDS = 7;
var LOW = 1;
var LIMIT = 2;
var SPENT = 12;
var AT = 20;
var MemoryShard = class {
  /** Slots taken, idle buckets included. */
  used = 0;
  #mask = SMALLEST - 1;
  #words = new Int32Array(WORDS * SMALLEST);
  /** The same bytes. Half of the doubles begin between two multiples of 8 bytes. */
  #bytes = new DataView(this.#words.buffer);
  /** The slot where the last eviction stopped; the next one continues there. */
  #hand = 0;
  #limits;
  #onRemoved;
  constructor(limits, onRemoved) {
    this.#limits = limits;
    this.#onRemoved = onRemoved;
  }
  /** Reads a bucket into `out`. An absent bucket reads as full. */
  get(key, stored, out) {
    const slot = this.#find(key, stored);
    if (slot < 0) {
      out.spent = 0;
      return;
    }
    stored.slot = slot;
    const id = this.#words[WORDS * slot + LIMIT];
    const { limit } = id === stored.id ? stored : this.#limits.get(id);
    out.spent = this.#bytes.getFloat64(4 * WORDS * slot + SPENT, true);
    out.at = this.#bytes.getFloat64(4 * WORDS * slot + AT, true);
    out.unitsPerMs = limit.unitsPerMs;
    out.unitsPerToken = limit.unitsPerToken;
  }
  /** Overwrites a bucket if it is there. Returns whether it was. */
  update(key, stored, bucket) {
    const known = stored.slot & this.#mask;
    const slot = this.#isAt(known, key.high, key.low, stored) ? known : this.#find(key, stored);
    if (slot < 0) return false;
    const id = this.#words[WORDS * slot + LIMIT];
    if (id !== stored.id) {
      this.#words[WORDS * slot + LIMIT] = this.#limits.addBucket(stored);
      this.#limits.removeBucket(id);
    }
    this.#write(slot, bucket);
    return true;
  }
  /** Adds a bucket that is not there yet. Returns how many idle buckets it removed to make room. */
  insert({ high, low }, stored, bucket, now) {
    const dropped = this.used < (this.#mask + 1) * LARGEST_FILL ? 0 : this.#rebuild(now, this.#mask + 1);
    const slot = this.#take(low);
    this.#words[WORDS * slot] = high;
    this.#words[WORDS * slot + LOW] = low;
    this.#words[WORDS * slot + LIMIT] = this.#limits.addBucket(stored);
    this.#write(slot, bucket);
    return dropped;
  }
  /** Removes a bucket of a key, or with null those of all limits. Returns how many there were. */
  delete({ high, low }, stored) {
    const before = this.used;
    for (let slot = low & this.#mask; this.#isTaken(slot); ) {
      if (this.#isAt(slot, high, low, stored)) this.#remove(slot);
      else slot = slot + 1 & this.#mask;
    }
    return before - this.used;
  }
  /** Removes the first idle bucket of 256, or else the one that would be full soonest. The shard must not be empty. */
  evictOne(now) {
    let victim = -1;
    let soonest = Infinity;
    let slot = this.#hand;
    for (let examined = 0, left = this.#mask; examined < EXAMINED && left >= 0 && soonest > now; left--) {
      slot = slot + 1 & this.#mask;
      if (!this.#isTaken(slot)) continue;
      examined += 1;
      const fullAt = this.#fullAt(slot, now, now);
      if (fullAt < soonest || victim < 0) {
        soonest = fullAt;
        victim = slot;
      }
    }
    this.#hand = slot;
    const isBusy = this.#fullAt(victim, now) > now;
    this.#remove(victim);
    return isBusy ? "busy" : "idle";
  }
  /** Removes all idle buckets if a sample finds no busy one. Returns how many it removed. */
  sweep(now) {
    for (let i = 0; i < SAMPLED; i++) {
      this.#hand = this.#hand + 1 & this.#mask;
      if (this.#isTaken(this.#hand) && this.#fullAt(this.#hand, now) > now) return 0;
    }
    return this.#rebuild(now, SMALLEST);
  }
  #find({ high, low }, stored) {
    for (let slot = low & this.#mask; ; slot = slot + 1 & this.#mask) {
      if (this.#isAt(slot, high, low, stored)) return slot;
      if (!this.#isTaken(slot)) return -1;
    }
  }
  // Another version of a policy may have other numbers in a limit of one name.
  #isAt(slot, high, low, stored) {
    if (this.#words[WORDS * slot] !== high || this.#words[WORDS * slot + LOW] !== low) return false;
    const id = this.#words[WORDS * slot + LIMIT];
    return stored === null || id === stored.id || this.#limits.get(id).limit.name === stored.limit.name;
  }
  #isTaken(slot) {
    return this.#words[WORDS * slot] !== 0 || this.#words[WORDS * slot + LOW] !== 0;
  }
  #write(slot, { spent, at }) {
    this.#bytes.setFloat64(4 * WORDS * slot + SPENT, spent, true);
    this.#bytes.setFloat64(4 * WORDS * slot + AT, at, true);
  }
  /** Takes the next empty slot for a fingerprint. */
  #take(low) {
    let slot = low & this.#mask;
    while (this.#isTaken(slot)) slot = slot + 1 & this.#mask;
    this.used += 1;
    return slot;
  }
  // A record more than one full refill ahead of the clock is brought to now (law L6). `ifImpossible` stands for it. A
  // block has no capacity: it is impossible when it is further ahead than it is long.
  #fullAt(slot, now, ifImpossible = null) {
    const { limit } = this.#limits.get(this.#words[WORDS * slot + LIMIT]);
    const at = this.#bytes.getFloat64(4 * WORDS * slot + AT, true);
    const leftMs = Math.ceil(this.#bytes.getFloat64(4 * WORDS * slot + SPENT, true) / limit.unitsPerMs);
    const isImpossible2 = at - now > (limit.fullMs || leftMs);
    if (isImpossible2 && ifImpossible !== null) return ifImpossible;
    return (isImpossible2 ? now : at) + leftMs;
  }
  #forget(slot) {
    this.#onRemoved?.(this.#bytes.getFloat64(4 * WORDS * slot + SPENT, true));
    this.#limits.removeBucket(this.#words[WORDS * slot + LIMIT]);
  }
  // Closes the gap (backward shift), so that no probe stops early and no tombstones pile up.
  #remove(slot) {
    this.#forget(slot);
    let gap = slot;
    for (let next = gap + 1 & this.#mask; this.#isTaken(next); next = next + 1 & this.#mask) {
      const home = this.#words[WORDS * next + LOW] & this.#mask;
      const awayFromHome = next - home & this.#mask;
      const awayFromGap = next - gap & this.#mask;
      if (awayFromHome < awayFromGap) continue;
      this.#words.copyWithin(WORDS * gap, WORDS * next, WORDS * (next + 1));
      gap = next;
    }
    this.#words[WORDS * gap] = 0;
    this.#words[WORDS * gap + LOW] = 0;
    this.used -= 1;
  }
  // Keeps the busy buckets only, in as many slots as these fill to three eighths at most, so that rebuilding stays
  // rare. Only a sweep makes a shard smaller: one whose buckets are idle soon would be rebuilt at every few inserts.
  #rebuild(now, leastSlots) {
    const busy = [];
    for (let slot = 0; slot <= this.#mask; slot++) {
      if (!this.#isTaken(slot)) continue;
      if (this.#fullAt(slot, now) > now) busy.push(WORDS * slot);
      else this.#forget(slot);
    }
    const dropped = this.used - busy.length;
    const words = this.#words;
    let slots = leastSlots;
    while (busy.length > slots * LARGEST_FILL / 2) slots *= 2;
    this.#mask = slots - 1;
    this.#words = new Int32Array(WORDS * slots);
    this.#bytes = new DataView(this.#words.buffer);
    this.#hand = 0;
    this.used = 0;
    for (const from of busy) {
      const to = WORDS * this.#take(words[from + LOW]);
      for (let i = 0; i < WORDS; i++) this.#words[to + i] = words[from + i];
    }
    return dropped;
  }
};

// src/stores/memory/stored-limits.ts
var StoredLimits = class {
  #byId = [];
  #freeIds = [];
  /** The limit of a bucket that is kept. */
  get(id) {
    return this.#byId[id];
  }
  /** Adds a bucket of `stored`, and returns the limit's number. */
  addBucket(stored) {
    if (stored.buckets === 0) {
      stored.id = this.#freeIds.pop() ?? this.#byId.length;
      this.#byId[stored.id] = stored;
    }
    stored.buckets += 1;
    return stored.id;
  }
  /** Removes a bucket of the limit with this number. */
  removeBucket(id) {
    const stored = this.get(id);
    stored.buckets -= 1;
    if (stored.buckets > 0) return;
    stored.id = -1;
    this.#byId[id] = void 0;
    this.#freeIds.push(id);
  }
};

// src/stores/memory/table.ts
var BUCKETS_PER_SHARD = 5850;
var PUTS_PER_SWEEP = 4096;
var MemoryTable = class {
  size = 0;
  evictedBusy = 0;
  #maxKeys;
  #limits = new StoredLimits();
  /** Created on first use, so that a large empty table costs next to nothing. */
  #shards;
  /** The last shard, and the part of a fingerprint that chose it: a decision asks for it twice for each limit. */
  #shard;
  #high = 0;
  /** The shard that was swept last, and the calls of `put` until the next one is. */
  #swept = 0;
  #untilSweep = 0;
  #onRemoved;
  /** `onRemoved` gets the `spent` of each bucket that is removed. */
  constructor(maxKeys, onRemoved) {
    this.#maxKeys = maxKeys;
    this.#onRemoved = onRemoved;
    this.#shards = Array.from({ length: Math.ceil(maxKeys / BUCKETS_PER_SHARD) });
  }
  /** Reads a bucket into `out`. An absent bucket reads as full. */
  get(key, stored, out) {
    this.#shardOf(key).get(key, stored, out);
  }
  /** Writes a bucket that was brought to the numbers of its limit. Makes room for a new one. */
  put(key, stored, bucket, now) {
    if (--this.#untilSweep < 0) this.#sweep(now);
    const shard = this.#shardOf(key);
    if (shard.update(key, stored, bucket)) return;
    if (this.size >= this.#maxKeys) this.#evict(shard, now);
    const dropped = shard.insert(key, stored, bucket, now);
    this.size += 1 - dropped;
  }
  /** Forgets a bucket of a key, or with null those of all limits. */
  delete(key, stored) {
    this.size -= this.#shardOf(key).delete(key, stored);
  }
  #evict(preferred, now) {
    const shard = preferred.used > 0 ? preferred : this.#shards.find((other) => other !== void 0 && other.used > 0);
    if (shard.evictOne(now) === "busy") this.evictedBusy += 1;
    this.size -= 1;
  }
  // One shard after another. So the memory of idle buckets returns without a timer and without a pause.
  #sweep(now) {
    this.#untilSweep = PUTS_PER_SWEEP;
    this.#swept = (this.#swept + 1) % this.#shards.length;
    this.size -= this.#shards[this.#swept]?.sweep(now) ?? 0;
  }
  #shardOf({ high }) {
    if (high === this.#high && this.#shard !== void 0) return this.#shard;
    const i = Math.floor((high >>> 0) / 2 ** 32 * this.#shards.length);
    this.#high = high;
    return this.#shard = this.#shards[i] ??= new MemoryShard(this.#limits, this.#onRemoved);
  }
};

// src/stores/memory/window-table.ts
var WindowTable = class {
  #rows = new Rows();
  #index;
  /** Of the record that is written: where it was, then where it is. */
  #entry = { spent: 0, at: 0, unitsPerMs: 1, unitsPerToken: 1 };
  constructor(maxKeys) {
    this.#index = new MemoryTable(maxKeys, (place) => this.#rows.free(place));
  }
  get size() {
    return this.#index.size;
  }
  get evictedBusy() {
    return this.#index.evictedBusy;
  }
  /** Reads a record into `out`. An absent one reads as full. */
  get(key, stored, out) {
    this.#index.get(key, stored, out);
    out.spent = this.#rows.read(out.spent, out.dates ??= []);
  }
  /** Writes a record that was brought to `now`, and has tokens. */
  put(key, stored, { at, dates = [] }, now) {
    const entry = this.#entry;
    this.#index.get(key, stored, entry);
    if (entry.spent > 0 && entry.at < now) {
      this.#index.delete(key, stored);
      entry.spent = 0;
    }
    entry.spent = this.#rows.write(entry.spent, dates);
    entry.at = at;
    this.#index.put(key, stored, entry, now);
  }
  /** Forgets a record of a key, or with null those of all limits. */
  delete(key, stored) {
    this.#index.delete(key, stored);
  }
};
var WIDTHS = [1, 2, 3, 5, 8, 12, 18];
var POOL_OF = Array.from({ length: 19 }, (_, amounts) => WIDTHS.findIndex((width) => width >= amounts));
var ROWS_PER_CHUNK = 256;
var MOST_IN_PLACE = 32;
var Rows = class {
  #pools = WIDTHS.map((width) => new Pool(width));
  /** Reads the amounts at `place` into `list`. Returns the sum of their units. 0 is the place of none. */
  read(place, list) {
    const count = place % MOST_IN_PLACE;
    while (list.length > 3 * count) list.pop();
    if (count === 0) return 0;
    const row = Math.floor(place / MOST_IN_PLACE);
    const { width, chunks } = this.#pools[POOL_OF[count]];
    const { numbers, spans } = chunks[Math.floor(row / ROWS_PER_CHUNK)];
    let from = row % ROWS_PER_CHUNK * width;
    let sum = 0;
    for (let to = 0; to < 3 * count; from++) {
      const last = numbers[2 * from];
      const units = numbers[2 * from + 1];
      list[to++] = last;
      list[to++] = units;
      list[to++] = last - spans[from];
      sum += units;
    }
    return sum;
  }
  /** Writes amounts over those at `place`, or for 0 into a free row. Returns their place. */
  write(place, list) {
    const count = list.length / 3;
    const pool = this.#pools[POOL_OF[count]];
    let row = Math.floor(place / MOST_IN_PLACE);
    if (place === 0 || POOL_OF[place % MOST_IN_PLACE] !== POOL_OF[count]) {
      this.free(place);
      row = pool.take();
    }
    const { numbers, spans } = pool.chunks[Math.floor(row / ROWS_PER_CHUNK)];
    let to = row % ROWS_PER_CHUNK * pool.width;
    for (let from = 0; from < list.length; to++) {
      const last = list[from++];
      numbers[2 * to] = last;
      numbers[2 * to + 1] = list[from++];
      spans[to] = last - list[from++];
    }
    return row * MOST_IN_PLACE + count;
  }
  free(place) {
    if (place > 0) this.#pools[POOL_OF[place % MOST_IN_PLACE]].free(Math.floor(place / MOST_IN_PLACE));
  }
};
var Pool = class {
  width;
  chunks = [];
  /** The chunks with free rows, and the numbers of those that are gone. */
  #open = /* @__PURE__ */ new Set();
  #gone = [];
  /** The chunk that gave the last row. */
  #last;
  constructor(width) {
    this.width = width;
  }
  take() {
    const chunk = this.#last && this.#open.has(this.#last) ? this.#last : this.#open.values().next().value ?? this.#add();
    this.#last = chunk;
    const row = chunk.next;
    chunk.next = chunk.spans[row * this.width];
    chunk.used += 1;
    if (chunk.used === ROWS_PER_CHUNK) this.#open.delete(chunk);
    return chunk.id * ROWS_PER_CHUNK + row;
  }
  free(row) {
    const chunk = this.chunks[Math.floor(row / ROWS_PER_CHUNK)];
    chunk.spans[row % ROWS_PER_CHUNK * this.width] = chunk.next;
    chunk.next = row % ROWS_PER_CHUNK;
    chunk.used -= 1;
    this.#open.add(chunk);
    if (chunk.used > 0 || this.#open.size === 1) return;
    this.#open.delete(chunk);
    this.chunks[chunk.id] = void 0;
    this.#gone.push(chunk.id);
  }
  #add() {
    const id = this.#gone.pop() ?? this.chunks.length;
    const spans = new Uint32Array(ROWS_PER_CHUNK * this.width);
    for (let row = 0; row < ROWS_PER_CHUNK; row++) spans[row * this.width] = row + 1;
    const chunk = { id, numbers: new Float64Array(2 * ROWS_PER_CHUNK * this.width), spans, used: 0, next: 0 };
    this.chunks[id] = chunk;
    this.#open.add(chunk);
    return chunk;
  }
};

// src/port/dated.ts
var datedWorkOf = ({ dated }) => dated?.work;
var holdingOf = ({ inFlight }) => inFlight?.returns.dating.holding;
function rateNumbers({ from }, position) {
  const since = sinceAt(from, position);
  return since === void 0 ? [0, 0, 0, 0, 0, 0] : [since, 0, 1, 0, 0, 0];
}

// src/limits/dated-work.ts
var QUOTA_PARTS = 32;
var MOST_RENEWALS = 100;
var datedWork = {
  numbersOf,
  // A block and a reset have no dates: they are possible by any clock.
  tokensOf: (what, part, now) => "cpa".includes(what) ? [...part.policy.limits.map((_, i) => costAt(part.tokens, i)), ...numbersOf([part], now === "" ? Date.now() : Number(now))] : part.tokens,
  clockFault(parts, now) {
    const here = Date.now();
    if (parts.every(({ policy }) => policy.limits.every((limit) => isWithinPeriods(limit, now, here)))) return void 0;
    return `Expected the clocks of this process and the store to be within a period, got ${dateText(here)} here and ${dateText(now)} there. Set them; no tokens were taken`;
  },
  storeOptions: ({ limits }) => limits.some(({ renews }) => renews) ? { clock: Date.now } : void 0,
  checkStore: checkStoreKinds,
  checkGiven(policy, tokens, given) {
    if (policy.inFlight === void 0 || sameCosts(tokens, exceptInFlight(policy, tokens, 0))) return;
    throw new TypeError(`${expected("tokens", "of rates and quotas", given)}. Work returns tokens in flight when it is done`);
  },
  evenly(limit) {
    if (limit.renews === void 0) return limit;
    const { capacity, windowSeconds = 0 } = limit;
    const windowMs = windowSeconds * 1e3;
    const divisor = greatestCommonDivisor(capacity, windowMs);
    return { capacity: capacity / QUOTA_PARTS, unitsPerMs: capacity / divisor, unitsPerToken: windowMs / divisor };
  },
  dateAfter({ kind }, date, renewals) {
    const known = datesAfter.get(kind);
    const dates = known?.[0] === date ? known : [date];
    if (dates !== known) datesAfter.set(kind, dates);
    const last = Math.min(renewals, MOST_RENEWALS);
    while (dates.length <= last) dates.push(kind.dateOf(dates.at(-1) + 1));
    return dates[last];
  }
};
var datesAfter = /* @__PURE__ */ new WeakMap();
function numbersOf(parts, now) {
  return parts.flatMap((part) => part.policy.limits.flatMap((limit, i) => {
    const { kind, fullMs, renews, returns } = limit;
    if (renews !== void 0) return [kind.backTo(part.from) ?? 0, fullMs, ...datesNear(limit, now)];
    if (returns === void 0) return rateNumbers(part, i);
    if ("afterMs" in returns) return windowNumbers(kind.backTo(part.from), fullMs);
    const { from, to, moved = 0 } = part;
    const { staleAfterMs } = returns;
    const date = to === void 0 ? 0 : kind.dateOf(to);
    return [kind.backTo(from) ?? 0, -fullMs, fullMs - staleAfterMs + 1, date, costAt(moved, i), staleAfterMs];
  }));
}
var windowNumbers = (date, fullMs) => [date ?? 0, fullMs, Number.MAX_SAFE_INTEGER, date === void 0 ? 0 : 1, 0, 0];
var near = /* @__PURE__ */ new WeakMap();
function datesNear({ kind, fullMs }, now) {
  const known = near.get(kind);
  if (known !== void 0 && now > known[1] && now <= known[2]) return known;
  const last = kind.dateOf(now);
  const dates = [kind.dateOf(now - 2 * fullMs)];
  while (dates.at(-1) < last) dates.push(kind.dateOf(dates.at(-1) + 1));
  const [before, previous] = dates.slice(-3);
  const found = [before + 1, previous, last, kind.dateOf(last + 1)];
  near.set(kind, found);
  return found;
}
function isWithinPeriods(limit, now, here) {
  if (limit.renews === void 0) return true;
  const [first, , , last] = datesNear(limit, here);
  return now >= first && now <= last;
}
function dateText(ms) {
  return Math.abs(ms) < 864e13 ? new Date(ms).toISOString() : String(ms);
}
function checkStoreKinds(given, { name, limits }, own) {
  const store = given;
  let held;
  for (const { name: limit, renews, returns } of limits) {
    if (returns !== void 0 && "staleAfterMs" in returns) {
      held ??= returns;
      checkSameTimes(name, held, returns);
    } else if (returns !== void 0) checkSameLength(own, `${name} ${limit}`, returns.afterMs);
    const kind = (renews ?? returns)?.dating.of;
    if (kind === void 0) continue;
    if (!Array.isArray(store.kinds) || !store.kinds.includes(kind)) {
      throw new TypeError(
        `Expected a store with \`kinds\` that include "${kind}" for policy "${name}", got ${store.kinds ? "others" : "none"}. See the guide to stores, or use \`refill\`` + (kind === "window" && store.kinds ? ". For a store made by `leased`, pass the store that it wraps" : "")
      );
    }
    if (renews && (store.clock === monotonicClock || store.clock?.name === "monotonicClock")) {
      throw new TypeError(
        `Expected a clock of dates for the quota of policy "${name}", got monotonicClock. Pass \`clock: Date.now\` to the store`
      );
    }
  }
}
function checkSameTimes(name, first, other) {
  if (first.staleAfterMs === other.staleAfterMs && first.maxWorkMs === other.maxWorkMs) return;
  const text = ({ staleAfterMs, maxWorkMs }) => `${staleAfterMs} and ${maxWorkMs}`;
  throw new RangeError(
    `Expected the limits in flight of policy "${name}" to have the same \`staleAfterMs\` and \`maxWorkMs\`, got ${text(first)}, and ${text(other)}. Their tokens are renewed together: pass the same to each \`whenDone\``
  );
}
var lengths = /* @__PURE__ */ new WeakMap();
var MOST_LENGTHS = 1e3;
function checkSameLength(own, name, afterMs2) {
  const known = lengths.get(own) ?? /* @__PURE__ */ new Map();
  lengths.set(own, known);
  const other = known.get(name);
  if (other === void 0 && known.size < MOST_LENGTHS) known.set(name, afterMs2);
  if (other === void 0 || other === afterMs2) return;
  const [policy, limit] = name.split(" ");
  throw new RangeError(
    `Expected the windows "${limit}" of all tiers of policy "${policy}" to have one length, got ${other} and ${afterMs2} ms. Give a tier with another length a policy name of its own`
  );
}

// src/limits/dates.ts
function placesOf(records, start) {
  return [...records.keys()].filter((place) => place.startsWith(start) && !place.includes(".", start.length));
}

// src/limits/window-amounts.ts
var MOST_AMOUNTS = 18;
var windowAmounts = {
  spentAt(bucket, now) {
    const list = amountsOf(bucket);
    let { spent } = bucket;
    for (let i = 0; i < list.length && list[i] < now; i += 3) spent -= list[i + 1];
    return spent;
  },
  charge(bucket, limit, now, units, date) {
    const list = amountsOf(bucket);
    const latest = limit.kind.dateOf(now);
    const spent = bucket.spent - bringTo(list, latest, now);
    if (units > 0) take(list, latest, units);
    const taken = units > 0 ? units : date === void 0 ? giveBackNewest(list, units) : giveBackAt(list, date, units, now);
    setBucket(bucket, limit, spent + taken, list.length > 0 ? list[list.length - 3] : 0);
  },
  msUntil(bucket, limit, now, units) {
    const list = amountsOf(bucket);
    let date = units < bucket.spent ? now - 1 : bucket.at;
    for (let i = 0, left = units; left > 0 && date !== bucket.at && i < list.length; i += 3) {
      if (list[i] < now) continue;
      date = list[i];
      left -= list[i + 1];
    }
    return Math.min(date, limit.kind.dateOf(now)) + 1 - now;
  },
  read(records, limit, bucket) {
    const found = placesOf(records, `^${limit.name}.`).map((place) => records.get(place));
    found.sort((a, b) => a.at - b.at);
    setAmounts(bucket, limit, found.flatMap(({ spent, at, unitsPerToken }) => [at, spent, at - unitsPerToken + 1]));
  },
  write(records, limit, { dates = [] }) {
    for (const place of placesOf(records, `^${limit.name}.`)) records.delete(place);
    for (let i = 0; i < dates.length; i += 3) {
      const [at, spent, first] = dates.slice(i);
      records.set(`^${limit.name}.${i / 3}`, { spent, at, unitsPerMs: ALL_UNITS, unitsPerToken: at - first + 1 });
    }
  }
};
function amountsOf(bucket) {
  return bucket.dates ??= bucket.spent > 0 ? [bucket.at, bucket.spent, bucket.at] : [];
}
function setAmounts(bucket, limit, list) {
  let spent = 0;
  for (let i = 0; i < list.length; i += 3) spent += list[i + 1];
  setBucket(bucket, limit, spent, list.at(-3) ?? 0);
  bucket.dates = list;
}
function bringTo(list, latest, now) {
  let over = 0;
  let units = 0;
  for (; over < list.length && list[over] < now; over += 3) units += list[over + 1];
  if (over > 0) remove(list, 0, over);
  for (let i = list.length - 3; i >= 0 && list[i] > latest; i -= 3) {
    list[i] = latest;
    list[i + 2] = Math.min(list[i + 2], latest);
    if (i + 3 < list.length) join(list, i);
  }
  return units;
}
function take(list, date, units) {
  const end = list.length;
  if (end > 0 && list[end - 3] === date) {
    list[end - 2] = list[end - 2] + units;
    return;
  }
  list.push(date, units, date);
  if (end < 3 * MOST_AMOUNTS) return;
  let least = Infinity;
  let shortest = 0;
  for (let i = 0; i < end; i += 3) {
    const span = list[i + 3] - list[i + 2];
    if (span >= least) continue;
    least = span;
    shortest = i;
  }
  join(list, shortest);
}
function join(list, i) {
  list[i] = list[i + 3];
  list[i + 1] = list[i + 1] + list[i + 4];
  remove(list, i + 3, 3);
}
function giveBackAt(list, date, units, now) {
  if (date === null || date < now) return 0;
  let i = 0;
  while (i < list.length && list[i] < date) i += 3;
  return i < list.length && list[i + 2] <= date ? lessen(list, i, units) : 0;
}
function giveBackNewest(list, units) {
  let given = 0;
  while (given > units && list.length > 0) given += lessen(list, list.length - 3, units - given);
  return given;
}
function lessen(list, i, units) {
  const there = list[i + 1];
  if (there + units > 0) {
    list[i + 1] = there + units;
    return units;
  }
  remove(list, i, 3);
  return 0 - there;
}
function remove(list, from, count) {
  for (let i = from; i + count < list.length; i++) list[i] = list[i + count];
  for (let i = 0; i < count; i++) list.pop();
}

// src/limits/window.ts
var LONGEST_WINDOW_MS = 316224e5;
function afterMs(ms) {
  const given = typeof ms === "object" && ms !== null ? ms.afterMs : ms;
  if (positiveInteger("afterMs", given) > LONGEST_WINDOW_MS) {
    throw new RangeError(expected("afterMs", `at most ${LONGEST_WINDOW_MS} ms`, given));
  }
  const length = given;
  const dateOf = (now) => now + length - 1;
  const kind = {
    dateOf,
    backTo(from) {
      const taken = typeof from === "object" ? from.at : from;
      return taken === void 0 ? void 0 : dateOf(taken);
    },
    retryAfterMs: Infinity,
    isInFlight: false,
    apart: windowAmounts
  };
  const dating = {
    field: "returns",
    of: "window",
    kind,
    facts: { calendar: `after ${length} ms`, fullMs: length - 1, windowSeconds: Math.ceil(length / 1e3) },
    work: datedWork,
    table: WindowTable
  };
  return Object.freeze(Object.defineProperty({ afterMs: length }, "dating", { value: dating }));
}

// src/core/policy.ts
var INLINE = ["capacity", "refill", "renews", "returns", "unit"];
var POLICY_OPTIONS = ["name", ...INLINE, "limits"];
function makePolicy(name, limits) {
  const maxCost = Math.min(...limits.map((limit) => limit.capacity));
  const ownCosts = simplest(Object.freeze(limits.map(({ cost }) => cost)));
  return withComputed(
    { name, limits: Object.freeze(limits) },
    {
      maxCost,
      ownCosts,
      dated: limits.map(({ renews, returns }) => (renews ?? returns)?.dating).find(Boolean),
      inFlight: limits.find((limit) => limit.kind.isInFlight),
      [/* @__PURE__ */ Symbol.for("sluice.policy")]: true
    }
  );
}
function isPolicy(value) {
  return /* @__PURE__ */ Symbol.for("sluice.policy") in Object(value);
}
function definePolicy(options) {
  if (isPolicy(options)) return options;
  const own = checkOptions(
    options,
    POLICY_OPTIONS,
    "an object with `refill`, or with `limits`",
    void 0,
    "policy"
  );
  const name = checkName("policy.name", own.name === void 0 ? "default" : own.name);
  if (/^[^A-Za-z]/.test(name)) throw new RangeError(expected("policy.name", "a name that starts with a letter", name));
  if (own.limits === void 0) return makePolicy(name, [naming(own.name, () => makeLimit(own, name))]);
  if (INLINE.some((member) => own[member] !== void 0)) {
    throw new TypeError(
      "Expected `policy` to have either `limits` or `capacity` and `refill`, got both. Move them into `limits`."
    );
  }
  const written2 = Array.isArray(own.limits) ? own.limits : [];
  const [first, ...others] = written2.map((each, i) => {
    const given = ownMembers(each).name;
    const limitName = checkName("limit.name", given === void 0 ? String(i + 1) : given);
    return naming(`${name}", limit "${limitName}`, () => makeLimit(checkOptions(each, LIMIT_OPTIONS, "an object with `refill`", void 0, "limit"), limitName));
  });
  if (first === void 0) throw new TypeError(expected("policy.limits", "a list of at least one limit", own.limits));
  const names = [first, ...others].map((limit) => limit.name);
  if (new Set(names).size !== names.length) {
    throw new RangeError(
      `Expected the limits of policy "${name}" to have different names, got ${names.join(", ")}. Give each a \`name\`.`
    );
  }
  return makePolicy(name, [first, ...others]);
}
function naming(owner, make) {
  try {
    return make();
  } catch (error) {
    if (owner === void 0) throw error;
    throw Object.assign(error, { message: `Policy "${owner}": ${error.message}` });
  }
}
function samePolicy(a, b) {
  if (a === b) return true;
  if (a.name !== b.name || a.limits.length !== b.limits.length) return false;
  return a.limits.every((limit, i) => COUNTED.every((field) => limit[field] === b.limits[i]?.[field]));
}
var COUNTED = ["name", "capacity", "unitsPerMs", "unitsPerToken", "calendar"];
function bucketId({ name }, key) {
  return `${name} ${key}`;
}

// src/platform.ts
var platform = globalThis;
function sharesWork() {
  return !("EdgeRuntime" in globalThis || "WebSocketPair" in globalThis);
}
function withProcess(use) {
  try {
    return platform.process && use(platform.process);
  } catch {
    return void 0;
  }
}
function builtin(id) {
  return withProcess((process2) => process2.getBuiltinModule?.(id));
}
function processWide(name, make) {
  const values = globalThis;
  return values[symbols[name] ??= /* @__PURE__ */ Symbol.for(`sluice.1.${name}`)] ??= make();
}
var symbols = { __proto__: null };

// src/port/hidden.ts
var Itself = class extends null {
  constructor(itself) {
    return itself;
  }
};
function createHiddenField() {
  return class Hidden extends Itself {
    #value;
    constructor(object, value) {
      super(object);
      this.#value = value;
    }
    static read(object) {
      return #value in object ? object.#value : null;
    }
    static write(object, value) {
      if (#value in object) object.#value = value;
      else new Hidden(object, value);
    }
  };
}
function createMark() {
  return class Charged extends Itself {
    #by;
    #key;
    constructor(decision, by, key) {
      super(decision);
      this.#by = by;
      this.#key = key;
    }
    static read(decision) {
      return #by in decision ? decision.#by : null;
    }
    static keyOf(decision) {
      return decision.#key;
    }
    static add(decision, by, key) {
      if (!(#by in decision)) return void (by !== null && new Charged(decision, by, key));
      decision.#by = by;
      if (key !== void 0) decision.#key = key;
    }
  };
}

// src/warnings/warnings.ts
var DOCS = "https://github.com/sluice-js/sluice/blob/main/docs";
var quiet = () => processWide("quiet", () => /* @__PURE__ */ new Set());
var silenced = () => processWide("silenced", () => /* @__PURE__ */ new Set());
function isQuiet(code) {
  return quiet().has(code) || silenced().has(code);
}
function textOf(error) {
  try {
    return error instanceof Error ? error.stack ?? error.message : show(error);
  } catch {
    return "An error that cannot be read";
  }
}
function warnOnce(code, message, cause = "") {
  if (isQuiet(code)) return;
  quiet().add(code);
  tell(code, message, cause);
}
function warn(code, message) {
  if (!silenced().has(code)) tell(code, message, "");
}
function tell(code, message, cause) {
  const detail = `${cause && `${cause}
`}See ${DOCS}/guides/warnings.md#${code.toLowerCase()}`;
  const isTold = withProcess((process2) => {
    if (process2.emitWarning === void 0 || !sharesWork()) return false;
    process2.emitWarning(message, { type: "Warning", code, detail });
    return true;
  });
  if (!isTold) platform.console?.warn(`[${code}] ${message}
${detail}`);
}

// src/port/store.ts
var LIMIT_KINDS = ["rate", "quota", "in-flight", "window"];
function checkNamedOnce(charges) {
  if (new Set(charges.map(({ policy, key }) => bucketId(policy, key))).size === charges.length) return;
  throw new TypeError("Expected `charges` to name each bucket once, got one twice. Add up their costs.");
}
function checkDecision(answer2, method) {
  if (isDecision(answer2)) return answer2;
  Promise.resolve(answer2).catch(() => void 0);
  const got = typeof answer2 === "object" && answer2 !== null ? membersOf(answer2) : show(answer2);
  throw new TypeError(
    `Expected \`store.${method}()\` to return a decision, got ${got}. Return what \`consumeRecords\` of sluice/store returns.`
  );
}
function isDecision(answer2) {
  if (typeof answer2 !== "object" || answer2 === null || !Object.hasOwn(answer2, "allowed")) return false;
  const { allowed, reason, policy, at, limits } = answer2;
  return allowed === (reason === null) && (allowed || REASONS.includes(reason)) && typeof policy === "string" && Number.isFinite(at) && isReading(answer2) && (reason === "cost_above_capacity" || answer2.retryAfterMs <= MOST_WAIT_MS) && // An inherited one may come from `Object.prototype`, too.
  (!Object.hasOwn(answer2, "blocked") || isMark(answer2.blocked, allowed)) && (limits === null || Array.isArray(limits) && limits.length > 0 && limits.every((each) => isReading(Object(each))));
}
var MOST_WAIT_MS = 2 ** 54;
var REASONS = ["limited", "cost_above_capacity", "store_unavailable"];
function isReading({ limit, cost, capacity, remaining, retryAfterMs, nextTokenMs, resetMs }) {
  return typeof limit === "string" && isAmount(cost) && Number.isSafeInteger(capacity) && Number.isSafeInteger(remaining) && isAmount(remaining) && isAmount(retryAfterMs) && isAmount(nextTokenMs) && isAmount(resetMs);
}
function isAmount(value) {
  return typeof value === "number" && value >= 0;
}
function isMark(blocked, allowed) {
  return blocked === void 0 || blocked === true && !allowed;
}
var SHOWN = [
  "allowed",
  "reason",
  "policy",
  "limit",
  "cost",
  "capacity",
  "remaining",
  "retryAfterMs",
  "nextTokenMs",
  "resetMs",
  "at",
  "limits",
  "blocked"
];
function membersOf(answer2) {
  return `{ ${SHOWN.map((name) => `${name}: ${show(answer2[name])}`).join(", ")} }`;
}

// src/guard/errors.ts
var StoreUnavailableError = class extends SluiceError {
  static kind = "StoreUnavailableError";
};
function isClockError(error) {
  return Object(error).code === "ERR_STORE_CLOCK";
}
function withCause(error, causeOf2) {
  if (!(error instanceof Error) || error.cause !== void 0 || !Object.isExtensible(error)) return error;
  const cause = causeOf2(error) ?? error;
  if (cause !== error) Object.defineProperty(error, "cause", { value: cause, writable: true, configurable: true });
  return error;
}

// src/diagnostics/requests/sampling.ts
var FIRST_CHECKED = 1e3;
function isCheckedTurn(before) {
  return before % 16e3 < 250;
}

// src/diagnostics/awaited.ts
var UNREAD = {
  get() {
    throw new TypeError(
      "Expected a decision, got a promise of one: this limiter asks a store elsewhere. Write `await` before `consume`"
    );
  }
};
var answers = 0;
function hintAwait(answer2) {
  const before = answers++;
  if (before < FIRST_CHECKED || isCheckedTurn(before)) void Object.defineProperty(answer2, "allowed", UNREAD);
}

// src/diagnostics/moving/key-text.ts
var USER_KEY = "<user key>";
var KEYS = {
  express: ['(request) => ["user", request.user?.id]', "request.ip"],
  fastify: ['(request) => ["user", request.user?.id]', "request.ip"],
  hono: ['(c) => ["user", c.var.userId]', "getConnInfo(c).remote.address"]
};
var OWN = ['(request) => ["user", userOf(request)]', "address"];
function keyText(adapter = "") {
  const [user] = KEYS[adapter] ?? OWN;
  return `\`key: ${user}\`${user === OWN[0] ? " with your own `userOf`" : ""}`;
}

// src/diagnostics/moving/misspelt.ts
function replacementOf(name, known) {
  if (["capacity", "refill", "limits", "name"].includes(name)) return ". It belongs in `policy: { \u2026 }`";
  if (name === "clock") return ". It belongs to the store, as in `new MemoryStore({ clock })`";
  if (["breaker", "sharedBy"].includes(name)) {
    return `. It is an option of the store, such as \`new RedisStore(client, { ${name} })\``;
  }
  const meant = [1, 2].flatMap((edits) => known.filter((each) => isNear(name.toLowerCase(), each.toLowerCase(), edits)))[0];
  return meant === void 0 ? void 0 : `. Did you mean \`${meant}\`?`;
}
function isNear(a, b, edits) {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  const [from, to] = [a.slice(i), b.slice(i)];
  if (from === to || edits === 0) return from === to;
  const isSwapped = from[0] === to[1] && from[1] === to[0];
  return isNear(from.slice(1), to, edits - 1) || isNear(from, to.slice(1), edits - 1) || isNear(from.slice(1), to.slice(1), edits - 1) || isSwapped && isNear(from.slice(2), to.slice(2), edits - 1);
}

// src/diagnostics/moving/foreign-options.ts
var EXPRESS = "express-rate-limit";
var FLEXIBLE = "rate-limiter-flexible";
var FASTIFY = "@fastify/rate-limit";
var HONO = "hono-rate-limiter";
var NEST = "@nestjs/throttler";
var SLOW = "express-slow-down";
var BOTTLENECK = "bottleneck";
var QUEUE = "p-queue";
var UPSTASH = "@upstash/ratelimit";
var NONE_TEXT = "there is no such option";
var POLICY_TEXT = '`policy: { name: "limit-1", refill: { tokens: 100, everyMs: 900_000 } }` is a burst of 100 and 100 every 15 minutes; `capacity: 40, refill: { tokens: 60, everyMs: 900_000 }` is at most 100 in any 15 minutes';
var BLOCK_TEXT = "`limiter.block(key, ms)`, after a refusal or at any time";
var JOBS_TEXT = "a limiter of jobs";
var UPSTASH_TEXT = '`policy: { name: "limit-1", refill: { tokens: 10, everyMs: 10_000 } }` is `slidingWindow(10, "10 s")`, and `{ capacity: 20, refill: { tokens: 5, everyMs: 10_000 } }` is `tokenBucket(5, "10 s", 20)`';
var JOB_OPTIONS = [
  {
    of: [BOTTLENECK],
    names: "maxConcurrent minTime reservoir reservoirRefreshInterval reservoirRefreshAmount reservoirIncreaseInterval reservoirIncreaseAmount reservoirIncreaseMaximum",
    here: JOBS_TEXT
  },
  { of: [QUEUE], names: "concurrency intervalCap interval", here: JOBS_TEXT },
  { of: [BOTTLENECK], names: "highWater", here: "`maxWaiters` of `createWaiter`" },
  { of: [BOTTLENECK], names: "strategy rejectOnDrop penalty", here: `${NONE_TEXT}; a full waiter refuses` },
  { of: [BOTTLENECK], names: "weight", here: "`consume(key, cost)`" },
  { of: [BOTTLENECK], names: "priority", here: `${NONE_TEXT}; a waiter serves in order of arrival` },
  { of: [BOTTLENECK], names: "expiration", here: "`maxWorkMs` of `whenDone`" },
  {
    of: [QUEUE, UPSTASH],
    names: "timeout",
    here: "`timeoutMs` of the store for its calls, `maxWaitMs` of `createWaiter` for a wait, an `AbortSignal` for work"
  },
  { of: [QUEUE], names: "throwOnTimeout", here: "`maxWaitMs` of `createWaiter`, and an `AbortSignal` for the work" },
  {
    of: [BOTTLENECK],
    names: "datastore clearDatastore clientOptions connection Redis heartbeatInterval trackDoneStatus",
    here: "`store: new RedisStore(client)`, from sluice/redis"
  },
  { of: [BOTTLENECK], names: "id", here: "a `name` in the policy" },
  { of: [QUEUE], names: "autoStart queueClass carryoverConcurrencyCount carryoverIntervalCount strict", here: NONE_TEXT },
  { of: [UPSTASH], names: "limiter", here: UPSTASH_TEXT },
  { of: [UPSTASH], names: "prefix", here: "`prefix` of RedisStore" },
  { of: [UPSTASH], names: "analytics", here: "`observe: createObserver((event) => \u2026)`" },
  { of: [UPSTASH], names: "ephemeralCache", here: "`denyCacheMs` of RedisStore, on by default" },
  { of: [UPSTASH], names: "enableProtection denyListThreshold", here: BLOCK_TEXT },
  { of: [UPSTASH], names: "dynamicLimits", here: "`consume(key, { policy })`, or `policy: (request) => \u2026` of a middleware" },
  { of: [UPSTASH], names: "tokens window", here: POLICY_TEXT }
];
var GUIDES = {
  [EXPRESS]: `${DOCS}/moving/from-express-rate-limit.md`,
  [FLEXIBLE]: `${DOCS}/moving/from-rate-limiter-flexible.md`,
  [FASTIFY]: `${DOCS}/moving/from-fastify-rate-limit.md`,
  [HONO]: `${DOCS}/moving/from-hono-rate-limiter.md`,
  [NEST]: `${DOCS}/moving/from-nestjs-throttler.md`,
  [SLOW]: `${DOCS}/moving/from-express-slow-down.md`,
  [BOTTLENECK]: `${DOCS}/moving/from-bottleneck.md`,
  [QUEUE]: `${DOCS}/moving/from-bottleneck.md`,
  [UPSTASH]: `${DOCS}/moving/from-upstash-ratelimit.md`
};
var X_FIELDS_TEXT = "`headers: [xRateLimit]` for X-RateLimit fields, from sluice/http";
var ANSWER_TEXT = '`respond: ({ problem }) => ({ ...problem, message: "Slow down" })` for another object, or `respond` with the arguments of a handler for any other answer';
var FALLBACK_TEXT = '`onStoreError: "local"`, the default, `"allow"` or `"unavailable"`';
var WAIT_TEXT = "`limiter: createWaiter(limiter, { maxWaitMs: 2_000 })` holds a request until its tokens are there; the refill sets the pace";
var FOREIGN = [
  { of: [EXPRESS, HONO], names: "windowMs", here: POLICY_TEXT },
  { of: [EXPRESS, HONO, NEST], names: "limit", here: POLICY_TEXT },
  { of: [EXPRESS, FASTIFY], names: "max", here: POLICY_TEXT },
  { of: [FASTIFY], names: "timeWindow", here: POLICY_TEXT },
  { of: [FLEXIBLE], names: "points duration", here: POLICY_TEXT },
  { of: [NEST], names: "ttl", here: POLICY_TEXT },
  { of: [NEST], names: "throttlers", here: '`policy: { name: "limit-1", limits: [{ name: "short", \u2026 }, { name: "long", \u2026 }] }`' },
  { of: [FLEXIBLE], names: "keyPrefix", here: "a `name` in the policy; `prefix` of RedisStore for all of a service" },
  { of: [FASTIFY], names: "nameSpace", here: "a `name` in the policy; `prefix` of RedisStore for all of a service" },
  { of: [EXPRESS], names: "identifier", here: "a `name` in the policy" },
  { of: [FASTIFY], names: "groupId", here: "one policy `name` for the routes that share a budget" },
  { of: [FLEXIBLE], names: "storeClient", here: "`store: new RedisStore(client)`, from sluice/redis" },
  { of: [FASTIFY, "@upstash/ratelimit"], names: "redis", here: "`store: new RedisStore(client)`, from sluice/redis" },
  { of: [NEST], names: "storage", here: "`store: new RedisStore(client)`, from sluice/redis" },
  { of: [HONO], names: "binding", here: `${NONE_TEXT}; a \`store\` of your own can use a binding, see sluice/store` },
  { of: [FASTIFY], names: "cache", here: "`store: new MemoryStore({ maxKeys: 100_000 })`" },
  {
    of: [FLEXIBLE],
    names: "storeType dbName tableName tableCreated clearExpiredByTimeout schema schemaName",
    here: "options of a store, such as `new PostgresStore(pool, { table })`"
  },
  {
    of: [FLEXIBLE],
    names: "indexKeyPrefix disableIndexesCreation attrs dynamoTableOpts ttlSet",
    here: "`casStore`, from sluice/store, for a database without a store here"
  },
  {
    of: [FLEXIBLE],
    names: "useRedisPackage useRedis3AndLowerPackage",
    here: "`new RedisStore(client)`, which detects its client"
  },
  {
    of: [FLEXIBLE],
    names: "customIncrTtlLuaScript customFunction customFunctionLibName",
    here: `${NONE_TEXT}; the script is the arithmetic`
  },
  { of: [FLEXIBLE], names: "insuranceLimiter rejectIfRedisNotReady rejectIfValkeyNotReady", here: FALLBACK_TEXT },
  { of: [EXPRESS], names: "passOnStoreError", here: FALLBACK_TEXT },
  { of: [FASTIFY], names: "skipOnError", here: FALLBACK_TEXT },
  { of: [FLEXIBLE], names: "timeoutMs", here: "`timeoutMs` of the store, 100 by default" },
  {
    of: [FLEXIBLE],
    names: "inMemoryBlockOnConsumed inMemoryBlockDuration",
    here: "`denyCacheMs` of RedisStore and PostgresStore, on by default"
  },
  { of: [FLEXIBLE, NEST], names: "blockDuration", here: BLOCK_TEXT },
  { of: [FLEXIBLE], names: "blockOnConsumed", here: BLOCK_TEXT },
  { of: [FASTIFY], names: "ban onBanReach", here: BLOCK_TEXT },
  {
    of: [FASTIFY],
    names: "continueExceeding exponentialBackoff",
    here: `${NONE_TEXT}: a refusal never lengthens a wait. For a fine, ${BLOCK_TEXT}`
  },
  {
    of: [FLEXIBLE],
    names: "execEvenly execEvenlyMinDelayMs",
    here: "`createWaiter(limiter).consume(key)`, which waits for tokens"
  },
  { of: [FLEXIBLE], names: "maxQueueSize", here: "`maxWaitersPerKey` of `createWaiter`" },
  { of: [FLEXIBLE], names: "whiteList isWhiteListed", here: "`skip: (request) => boolean`", gate: true },
  {
    of: [FLEXIBLE],
    names: "blackList isBlackListed runActionAnyway",
    here: "an answer of your own before the limit, or `limiter.block(key, ms)`"
  },
  {
    of: [EXPRESS, FASTIFY, HONO],
    names: "keyGenerator",
    here: `${USER_KEY}, from the signed-in user`,
    gate: true
  },
  {
    of: [NEST],
    names: "getTracker generateKey",
    here: `${USER_KEY}, from the signed-in user`,
    gate: true
  },
  {
    of: [EXPRESS, FASTIFY],
    names: "ipv6Subnet",
    here: "`key: (request) => addressKey(request.ip, { ipv6Prefix: 56 })`; an address is never the default key",
    gate: true
  },
  {
    of: [NEST],
    names: "ipv6SubnetPrefix",
    here: "`key: (request) => addressKey(request.ip, { ipv6Prefix: 64 })`; an address is never the default key",
    gate: true
  },
  { of: [EXPRESS, HONO], names: "requestPropertyName", here: "`decisionOf(request)`, from the adapter", gate: true },
  {
    of: [HONO],
    names: "requestStorePropertyName",
    here: "`limiter: createLimiter({ policy })`, with `limiter.peek(key)` and `limiter.reset(key)` in a handler",
    gate: true
  },
  { of: [EXPRESS], names: "validate", here: "`silenceWarnings(code)`" },
  { of: [EXPRESS], names: "logger", here: '`observe: createObserver((event) => \u2026)` and `process.on("warning")`' },
  {
    of: [FASTIFY],
    names: "global",
    here: "`global` of the plugin in sluice/fastify, or `config: { rateLimit: false }` on the routes without a limit",
    gate: true
  },
  { of: [FASTIFY], names: "hook", here: '`hook: "preHandler"` in the options of sluice/fastify', gate: true },
  {
    of: [EXPRESS, HONO],
    names: "standardHeaders",
    here: '`headers: ["triple", "draft-11"]`, the default, or `[]` for none',
    gate: true
  },
  {
    of: [FASTIFY],
    names: "enableDraftSpec",
    here: '`headers: ["triple", "draft-11"]`, the default, or `[]` for none',
    gate: true
  },
  { of: [EXPRESS], names: "legacyHeaders", here: X_FIELDS_TEXT, gate: true },
  { of: [FASTIFY], names: "addHeaders addHeadersOnExceeding", here: X_FIELDS_TEXT, gate: true },
  { of: [NEST], names: "setHeaders", here: X_FIELDS_TEXT, gate: true },
  {
    of: [EXPRESS],
    names: "retryAfter",
    here: `${NONE_TEXT}; the value is always the exact wait. \`headers: ["triple", "draft-11", retryAfterDate]\` sends it as a date`,
    gate: true
  },
  { of: [EXPRESS, HONO], names: "message statusCode handler", here: ANSWER_TEXT, gate: true },
  { of: [FASTIFY], names: "errorResponseBuilder", here: ANSWER_TEXT, gate: true },
  { of: [NEST], names: "errorMessage", here: ANSWER_TEXT, gate: true },
  {
    of: [EXPRESS, HONO],
    names: "skipFailedRequests",
    here: "`actualCost: ({ status }) => (status >= 400 ? 0 : undefined)`",
    gate: true
  },
  {
    of: [EXPRESS, HONO],
    names: "skipSuccessfulRequests",
    here: `\`actualCost: ({ status }) => (status < 400 ? 0 : undefined)\`, but read ${DOCS}/guides/login.md before you limit a login`,
    gate: true
  },
  { of: [EXPRESS, HONO], names: "requestWasSuccessful", here: "the test goes into `actualCost`", gate: true },
  { of: [FASTIFY], names: "allowList", here: "`skip: (request) => boolean`", gate: true },
  { of: [NEST], names: "skipIf ignoreUserAgents", here: "`skip: (request) => boolean`", gate: true },
  {
    of: [FASTIFY],
    names: "onExceeding onExceeded",
    here: "`onDecision: (decision, request) => void`, and look at `decision.allowed`",
    gate: true
  },
  ...JOB_OPTIONS,
  { of: [SLOW], names: "delayAfter delayMs maxDelayMs", here: WAIT_TEXT, gate: true }
];

// src/diagnostics/moving/policy-name.ts
var NAME = "limit-1";
var MOST_POLICY_NAMES = 1e3;
var namesInUse = () => processWide("policyNames", () => /* @__PURE__ */ new Set());
function noteName(name) {
  const names = namesInUse();
  if (names.size < MOST_POLICY_NAMES) names.add(name);
}
function newPolicyName(given) {
  const { name } = given;
  if (typeof name === "string" && /^[a-z\d][\w.-]{0,63}$/i.test(name)) return name;
  let n = 1;
  while (namesInUse().has(`limit-${n}`)) n++;
  noteName(`limit-${n}`);
  return `limit-${n}`;
}

// src/diagnostics/moving/moving.ts
var REPLACED = {
  express: "express-rate-limit",
  fastify: "@fastify/rate-limit",
  hono: "hono-rate-limiter"
};
var DEFAULTS = {
  "express-rate-limit": { count: 5, windowMs: 6e4 },
  "hono-rate-limiter": { count: 5, windowMs: 6e4 },
  "@fastify/rate-limit": { count: 1e3, windowMs: 6e4 },
  "rate-limiter-flexible": { count: 4, windowMs: 1e3 }
};
var UNREAD_TEXT = "A refusal is not thrown: look at `(await limiter.consume(key)).allowed`, or write `granted(await limiter.consume(key))`";
function checkForeign(given, known, adapter) {
  if (typeof given !== "object" || given === null) return;
  const found = Object.keys(given).flatMap((name) => {
    const replacement = known.includes(name) ? void 0 : FOREIGN.find(({ names: names2 }) => names2.split(" ").includes(name));
    return replacement === void 0 ? [] : [{ name, replacement }];
  });
  if (found.length === 0) return;
  const origin = originOf(found.map(({ replacement }) => replacement), REPLACED[adapter ?? ""]);
  const byText = /* @__PURE__ */ new Map();
  for (const { name, replacement } of found) {
    const policy = replacement.here === JOBS_TEXT ? jobsText(given) : policyText(given, origin);
    const text = textOfReplacement(replacement, known, policy);
    byText.set(text, [...byText.get(text) ?? [], `\`${name}\``]);
  }
  const here = [...byText].map(([text, names2]) => byText.size === 1 ? text : `for ${joined(names2)}, ${text}`).join("; ");
  const names = joined(found.map(({ name }) => `\`${name}\``));
  const note = origin === FLEXIBLE ? `. ${UNREAD_TEXT}` : "";
  const cure = here.replaceAll(NAME, newPolicyName(given)).replaceAll(USER_KEY, keyText(adapter));
  throw new TypeError(
    `Unknown option${found.length > 1 ? "s" : ""} ${names} (of ${origin}). Here: ${cure}${note}. See ${GUIDES[origin]}`
  );
}
function originOf(replacements, replaced) {
  const all = [...new Set(replacements.flatMap(({ of }) => of))];
  const countOf = (origin) => replacements.filter(({ of }) => of.includes(origin)).length + (origin === replaced ? 0.5 : 0);
  return all.reduce((best, each) => countOf(each) > countOf(best) ? each : best);
}
function textOfReplacement({ here, gate = false }, known, policy) {
  if (here === POLICY_TEXT || here === JOBS_TEXT) return policy;
  return gate && !known.includes("key") ? `in the options of a middleware, ${here}` : here;
}
function policyText(given, origin) {
  const { count: usual, windowMs: usualMs } = DEFAULTS[origin] ?? {};
  const count = [given["limit"], given["max"], given["points"], given["tokens"], usual].find((each) => each !== void 0);
  const seconds = given["duration"];
  const windowMs = [
    given["windowMs"],
    given["ttl"],
    msOf(given["timeWindow"]),
    msOf(given["window"]),
    typeof seconds === "number" ? seconds * 1e3 : void 0,
    usualMs
  ].find((each) => each !== void 0);
  const [all, wholeMs] = inWholeMs(count, windowMs);
  const [tokens, everyMs] = [written(all, "n"), written(wholeMs, "ms")];
  if (tokens === void 0 || everyMs === void 0) return POLICY_TEXT;
  const burst = all === count ? "" : `capacity: ${written(count, "n")}, `;
  const policy = `{ name: "${NAME}", ${burst}refill: ${refillText(tokens, everyMs)} }`;
  const isFixed = typeof count !== "function" && typeof windowMs !== "function";
  if (isFixed) return `\`policy: ${policy}\`${burst === "" ? strictText(Number(count), everyMs) : ""}`;
  return `\`policy: (request) => \u2026\`, which returns a policy made once by \`definePolicy(${policy})\``;
}
function strictText(count, everyMs) {
  const capacity = Math.max(1, Math.floor(count * 0.4));
  const [most, burst, rest] = [count, capacity, count - capacity].map((each) => written(each, "n"));
  if (rest === void 0) return "";
  const window = perOf(everyMs)?.[1].slice("per".length).toLowerCase() ?? `${everyMs} ms`;
  return `, or, for at most ${most} in any ${window}, \`capacity: ${burst}, refill: ${refillText(rest, everyMs)}\``;
}
var joined = (names) => names.join(", ").replace(/, ([^,]*)$/, " and $1");
var EXAMPLE = { concurrency: 5, interval: 1e3, intervalCap: 10 };
function jobsText(given) {
  const own = limitsOf(given);
  const limits = own.length > 0 ? own : limitsOf(EXAMPLE);
  const [only] = limits;
  const policy = only !== void 0 && limits.length === 1 ? `{ name: "${NAME}", ${only[1]} }` : `{ name: "${NAME}", limits: [${limits.map(([name, text]) => `{ name: "${name}", ${text} }`).join(", ")}] }`;
  return `\`createWaiter(createLimiter({ policy: ${policy} }))\`, and \`run(waiter, key, work)\` for each job`;
}
function limitsOf(given) {
  const { maxConcurrent, minTime, reservoir, concurrency, interval, intervalCap } = given;
  const places = written(maxConcurrent ?? concurrency, "n");
  const pause = bucketText(1, 1, minTime);
  const refresh = bucketText(
    given.reservoirIncreaseMaximum ?? reservoir ?? given.reservoirRefreshAmount,
    given.reservoirRefreshAmount ?? given.reservoirIncreaseAmount ?? reservoir,
    given.reservoirRefreshInterval ?? given.reservoirIncreaseInterval
  );
  const interim = bucketText(intervalCap, intervalCap, interval);
  return [
    ...places === void 0 ? [] : [["parallel", `capacity: ${places}, returns: whenDone()`]],
    ...pause === void 0 ? [] : [["pause", pause]],
    ...[refresh, interim].flatMap((text) => text === void 0 ? [] : [["rate", text]])
  ];
}
function bucketText(capacity, tokens, everyMs) {
  const [all, wholeMs] = inWholeMs(tokens, everyMs);
  const [most, each, ms] = [written(capacity, "n"), written(all, "n"), written(wholeMs, "ms")];
  if (most === void 0 || each === void 0 || ms === void 0) return void 0;
  return `${most === each ? "" : `capacity: ${most}, `}refill: ${refillText(each, ms)}`;
}
function inWholeMs(tokens, ms) {
  if (typeof tokens !== "number" || typeof ms !== "number" || Number.isInteger(ms)) return [tokens, ms];
  for (let times = 2; times <= 1e3; times++) {
    const whole = Math.round(times * ms);
    if (whole > 0 && Math.abs(times * ms - whole) < 1e-6) return [times * tokens, whole];
  }
  return [tokens, Math.ceil(ms)];
}
function written(number, variable) {
  if (typeof number === "function") return variable;
  return Number.isSafeInteger(number) && number > 0 ? String(number).replace(/\B(?=(?:\d{3})+$)/g, "_") : void 0;
}
var PER = [
  [1, "perMs", /^ms$/],
  [1e3, "perSecond", /^s(?:ec(?:ond)?)?s?$/],
  [6e4, "perMinute", /^m(?:in(?:ute)?)?s?$/],
  [36e5, "perHour", /^h(?:(?:ou)?r)?s?$/],
  [864e5, "perDay", /^d(?:ay)?s?$/]
];
var perOf = (everyMs) => PER.find(([ms]) => ms > 1 && written(ms, "") === everyMs);
function refillText(tokens, everyMs) {
  const per = perOf(everyMs);
  return per === void 0 ? `{ tokens: ${tokens}, everyMs: ${everyMs} }` : `${per[1]}(${tokens})`;
}
function msOf(window) {
  if (typeof window !== "string") return window;
  const [, number, unit = ""] = /^(\d+) ?(\w+)$/.exec(window.toLowerCase()) ?? [];
  const ms = PER.find(([, , units]) => units.test(unit))?.[0];
  return ms === void 0 ? window : Number(number) * ms;
}

// src/diagnostics/limiter-options.ts
function checkLimiterSetup(given, names) {
  checkForeign(given, names);
  checkBehavior(
    checkOptions(given, names, "an object with a `policy`", replacementOf),
    "`consume(key, { policy: unlimited })`"
  );
}
function checkBehavior({ policy, shadow, observe }, unlimitedHere) {
  if (/* @__PURE__ */ Symbol.for("sluice.unlimited") in Object(policy)) {
    throw new TypeError(
      `Expected \`policy\` to be an object with \`refill\`, or with \`limits\`, got \`unlimited\`. Write ${unlimitedHere}`
    );
  }
  if (typeof policy === "object" && policy !== null && !isPolicy(policy)) {
    checkForeign(policy, POLICY_OPTIONS);
    checkNames(policy, POLICY_OPTIONS, replacementOf);
  }
  if (!["undefined", "boolean", "function"].includes(typeof shadow)) {
    throw new TypeError(expected("shadow", "true, false or a function of the key", shadow));
  }
  if (observe !== void 0 && typeof Object(observe).listens !== "function") {
    throw new TypeError(expected("observe", "made by createObserver(listener)", observe));
  }
}

// src/diagnostics/policy-names.ts
var MANY_NAMES = 1e3;
function checkPolicyName(store, name) {
  if (isQuiet("SLUICE_POLICY_NAMES")) return;
  const namesOf = processWide("names", () => /* @__PURE__ */ new WeakMap());
  const names = namesOf.get(store) ?? /* @__PURE__ */ new Set();
  namesOf.set(store, names.add(name));
  if (names.size < MANY_NAMES) return;
  namesOf.delete(store);
  warnOnce(
    "SLUICE_POLICY_NAMES",
    `One store has ${MANY_NAMES} policy names, such as "${name}": put the tenant into the key instead, as in ["tenant", id, "user", id], and keep one name for all policies of one purpose`
  );
}

// src/diagnostics/quotas.ts
var CODE = "SLUICE_QUOTA_IN_MEMORY";
function checkQuota(policy, isMemory) {
  if (!isMemory || !hasQuota(policy) || !isProduction()) return;
  warnOnce(
    CODE,
    `Expected the quota of policy "${policy.name}" to survive a deployment, got a store in this process's memory. Use a store that lasts`
  );
}
var asked = /* @__PURE__ */ new WeakSet();
function hintUnlogged(client, table, parts) {
  const policy = parts.find((part) => hasQuota(part.policy))?.policy;
  if (policy === void 0 || asked.has(client) || isQuiet(CODE) || !isProduction()) return;
  asked.add(client);
  const quoted = table.replace(/\w+/g, '"$&"');
  const warn2 = ({ rows }) => {
    if (rows[0]?.unlogged !== true) return;
    warnOnce(
      CODE,
      `Expected the quota of policy "${policy.name}" to survive a crash of Postgres, got the unlogged table ${quoted}. Run ALTER TABLE ${quoted} SET LOGGED`
    );
  };
  client.query("SELECT relpersistence = 'u' AS unlogged FROM pg_class WHERE oid = to_regclass($1::text)", [quoted]).then(warn2).catch(() => void 0);
}
function hasQuota({ limits }) {
  return limits.some(({ renews }) => renews !== void 0);
}
function isProduction() {
  return withProcess(({ env }) => env?.["NODE_ENV"]) === "production";
}

// src/diagnostics/stores/client-timeout.ts
var LEAST_MS = 2e3;
var timeouts = /* @__PURE__ */ new WeakMap();
var optionsIn = (value) => Object(value);
function noteClientTimeout(store, client) {
  const { options: given, _options: ofNodeRedisCluster, connectionParameters, isCluster: isCluster2 } = optionsIn(client);
  const options = optionsIn(given);
  const ofNodes = options["redisOptions"];
  const isOfNodes = ofNodes !== void 0 || isCluster2 === true;
  const ofIoredis = isOfNodes ? optionsIn(ofNodes) : options;
  const written2 = (option) => isOfNodes ? `redisOptions: { ${option}: 10_000 }` : `${option}: 10_000`;
  const told = [
    [written2("commandTimeout"), ofIoredis["commandTimeout"]],
    [written2("socketTimeout"), ofIoredis["socketTimeout"]],
    ["socketTimeout: 10_000", optionsIn(options["socket"])["socketTimeout"]],
    ["socketTimeout: 10_000", optionsIn(optionsIn(optionsIn(ofNodeRedisCluster)["defaults"])["socket"])["socketTimeout"]],
    ["query_timeout: 10_000", options["query_timeout"] ?? optionsIn(connectionParameters)["query_timeout"]]
  ];
  for (const [option, value] of told) {
    const ms = Number(value ?? 0);
    if (ms > 0 && ms < (timeouts.get(store)?.ms ?? Infinity)) timeouts.set(store, { option, ms });
  }
}
function checkClientTimeout({ name, inFlight }, store) {
  const found = timeouts.get(store);
  if (inFlight === void 0 || found === void 0 || found.ms >= LEAST_MS) return;
  warnOnce(
    "SLUICE_SHORT_CLIENT_TIMEOUT",
    `The client of policy "${name}" gives up a call after ${found.ms} ms. The answer is then lost, and its tokens in flight stay taken for ${inFlight.returns.staleAfterMs} ms. Write \`${found.option}\`: callers wait for \`timeoutMs\` only.`
  );
}

// src/diagnostics/limiters.ts
var MANY = 100;
var MINUTE_MS = 6e4;
var MOST_POLICIES = 1e3;
function checkLimiter(policy, store) {
  noteName(policy.name);
  const isOwn = store.clock === "server" || store.clock === monotonicClock;
  const isMemory = store.sync && store.guard === void 0;
  checkQuota(policy, isMemory);
  checkClientTimeout(policy, store);
  if (!isOwn && store.clock !== Date.now) return;
  if (isOneOfMany(policy)) {
    warnOnce(
      "SLUICE_LIMITER_PER_REQUEST",
      `${MANY} limiters of policy "${policy.name}" were made within a minute. Make one and reuse it`
    );
  }
  checkPolicyName(store, policy.name);
  if (isMemory) checkSharedMemory(policy);
  if (isMemory && isClusterWorker()) {
    warnOnce(
      "SLUICE_MEMORY_IN_CLUSTER",
      `Each worker of this cluster counts policy "${policy.name}" separately, in its memory. Use a store that all workers share`
    );
  }
}
var made = /* @__PURE__ */ new Map();
var countingSince = -Infinity;
var wasCountedNow = false;
function isOneOfMany(policy) {
  if (wasCountedNow || isQuiet("SLUICE_LIMITER_PER_REQUEST")) return false;
  wasCountedNow = true;
  queueMicrotask(() => wasCountedNow = false);
  const now = monotonicClock();
  if (now - countingSince > MINUTE_MS || made.size >= MOST_POLICIES) {
    made.clear();
    countingSince = now;
  }
  const numbers = JSON.stringify([
    policy.name,
    ...policy.limits.map(({ capacity, refill, renews, returns }) => [capacity, refill ?? renews ?? returns])
  ]);
  const count = (made.get(numbers) ?? 0) + 1;
  made.set(numbers, count);
  return count >= MANY;
}
function isClusterWorker() {
  if (withProcess(({ send }) => send) === void 0 || isQuiet("SLUICE_MEMORY_IN_CLUSTER")) return false;
  return builtin("node:cluster")?.isWorker === true;
}
var PLATFORMS = [
  ["Netlify", "NETLIFY"],
  ["Vercel", "VERCEL", "NOW_REGION"],
  ["AWS Lambda", "AWS_LAMBDA_FUNCTION_NAME", "LAMBDA_TASK_ROOT"],
  ["Google Cloud Functions", "FUNCTION_TARGET", "FUNCTION_NAME"],
  ["Cloud Run", "K_SERVICE", "K_REVISION"],
  ["App Engine", "GAE_SERVICE", "GAE_ENV", "GAE_INSTANCE"],
  ["Azure Functions", "FUNCTIONS_WORKER_RUNTIME", "AZURE_FUNCTIONS_ENVIRONMENT"],
  ["Azure Container Apps", "CONTAINER_APP_NAME"],
  ["Deno Deploy", "DENO_DEPLOYMENT_ID", "DENO_DEPLOY"],
  ["Supabase", "SB_EXECUTION_ID"],
  ["Alibaba Function Compute", "FC_FUNCTION_NAME"],
  ["Tencent Cloud", "SCF_FUNCTIONNAME", "TENCENTCLOUD_RUNENV"],
  ["IBM Code Engine", "CE_APP", "CE_FUNCTION"],
  ["OpenWhisk", "__OW_ACTION_NAME"],
  ["Oracle Functions", "FN_FN_ID"]
];
var NOT_DEPLOYED = ["CI", "NETLIFY_DEV", "AWS_SAM_LOCAL", "FUNCTIONS_EMULATOR", "IS_OFFLINE"];
function checkSharedMemory({ name }) {
  if (isQuiet("SLUICE_MEMORY_NOT_SHARED")) return;
  const platform2 = withProcess(({ env }) => env && platformOf(env));
  if (platform2 === void 0) return;
  warnOnce(
    "SLUICE_MEMORY_NOT_SHARED",
    `Expected a store that all instances on ${platform2} share, got the memory of each: policy "${name}" grants its limit once for each. Use RedisStore or PostgresStore; for a single instance, silenceWarnings("SLUICE_MEMORY_NOT_SHARED")`
  );
}
function platformOf(env) {
  if (NOT_DEPLOYED.some((variable) => env[variable]) || env["VERCEL_ENV"] === "development") return void 0;
  return PLATFORMS.find(([, ...variables]) => variables.some((variable) => env[variable]))?.[0];
}

// src/diagnostics/numbers.ts
function checkNumbers(title, members, charged, tokens) {
  const policies = tokens.map(() => null);
  charged.forEach((each, i) => {
    if (each === null) return;
    if ("own" in each) each.parts.forEach((part, k) => policies[part] = each.own[k]?.policy ?? null);
    else policies[i] = each.policy;
  });
  policies.forEach((policy, i) => {
    const given = tokens[i];
    if (policy === null || policy.limits.length === 1 || !(Number.isSafeInteger(given) && given > 0)) return;
    throw new TypeError(
      `${expected(title, "an object with the names of limits", given)}. Policy "${policy.name}" has ${policy.limits.length} limits: write ${codeOfMembers(members, policies, tokens)}`
    );
  });
}
function codeOfMembers(members, policies, tokens) {
  let at = 0;
  const written2 = members.flatMap(({ name, size, internals }) => {
    const [from, to] = [at, at += size];
    const code = internals.members ? codeOfMembers(internals.members, policies.slice(from, to), tokens.slice(from, to)) : codeOf(policies[from] ?? null, tokens[from]);
    return code === null ? [] : `${codeOfName(name)}: ${code}`;
  });
  return written2.length > 0 ? `{ ${written2.join(", ")} }` : null;
}
function codeOf(policy, tokens) {
  if (policy === null || tokens === void 0) return null;
  if (typeof tokens !== "number") return "\u2026";
  if (policy.limits.length === 1) return String(tokens);
  const named = policy.limits.flatMap(({ name, kind }) => kind.isInFlight ? [] : `${codeOfName(name)}: ${tokens}`);
  return named.length > 0 ? `{ ${named.join(", ")} }` : "0";
}
var codeOfName = (name) => /^[A-Za-z][A-Za-z\d_]*$/.test(name) ? name : JSON.stringify(name);

// src/diagnostics/requests/decision-log.ts
function createDecisionLog() {
  const print = builtin("node:util")?.debuglog("sluice");
  const crypto2 = builtin("node:crypto");
  if (print?.enabled !== true || crypto2 === void 0) return null;
  return (key, decision) => {
    const hash = crypto2.createHash("sha256").update(encodeKey(key)).digest("hex").slice(0, 12);
    const { policy, cost, remaining, capacity, degraded } = decision;
    const refusal = decision.allowed ? decision.shadow : decision;
    const outcome = refusal === void 0 ? "allowed" : `${decision.allowed ? "allowed in shadow, else " : ""}${refusal.reason}`;
    const without = degraded ? ", without the store" : "";
    print(
      `policy ${policy}, key ${hash}, cost ${cost}: ${outcome}, ${remaining} of ${capacity} left, wait ${refusal?.retryAfterMs ?? 0} ms${without}`
    );
  };
}

// src/diagnostics/requests/key-text.ts
var NO_VALUES = "undefined|null|NaN";
var AT_END = new RegExp(`(?:^|[^\\p{L}\\p{N}])(${NO_VALUES})$`, "u");
var IN_FRONT = new RegExp(`(?:^|[\\s:;,|/\\\\#=&~])(${NO_VALUES})(?=[\\s:;,|/\\\\#=&~])`);
var OBJECT = /\[object \w+\]/;
var keysSeen = /* @__PURE__ */ new WeakMap();
function checkKeyText(key, policy) {
  const seen = keysSeen.get(policy) ?? { count: 0 };
  if (seen.count === 0) keysSeen.set(policy, seen);
  const before = seen.count++;
  if (before >= FIRST_CHECKED && !isCheckedTurn(before) || isQuiet("SLUICE_KEY_HAS_NO_VALUE")) return;
  for (const part of typeof key === "string" ? [key] : key) {
    const word = typeof part === "string" ? wordIn(part) : void 0;
    if (word === void 0) continue;
    return warnOnce(
      "SLUICE_KEY_HAS_NO_VALUE",
      `A key under policy "${policy.name || "default"}" contains "${word}" in place of a value, so callers without one share a bucket. Write a tuple of the values, such as ["user", id], in which a missing one is noticed`
    );
  }
}
function wordIn(part) {
  return AT_END.exec(part)?.[1] ?? IN_FRONT.exec(part)?.[1] ?? OBJECT.exec(part)?.[0];
}

// src/diagnostics/requests/unsettled.ts
var MOST_WATCHED = 1e3;
var watchField;
var watchOf = () => watchField ??= processWide("watches", createHiddenField);
var watchesByStore = /* @__PURE__ */ new WeakMap();
var isSilent = () => isQuiet("SLUICE_NOT_SETTLED");
function markHandled(decision) {
  const watch = watchOf().read(decision);
  if (watch !== null) watch.isHandled = true;
}
function watchHeld(store, policy, decided) {
  if (policy.inFlight === void 0) return;
  if (decided instanceof Promise) return void decided.then((decision) => lookAtHeld(store, policy, decision), () => void 0);
  lookAtHeld(store, policy, decided);
}
function lookAtHeld(store, policy, decision) {
  const known = watchesByStore.get(store);
  if (decision.degraded || known === void 0 && isSilent()) return;
  const { kind, returns } = policy.inFlight;
  const byName2 = known ?? /* @__PURE__ */ new Map();
  const watches = byName2.get(policy.name) ?? [];
  while (watches[0]?.isHandled) watches.shift();
  const [oldest] = watches;
  if (oldest !== void 0 && kind.dateOf(oldest.at) < decision.at) {
    watchesByStore.delete(store);
    return warnOnce(
      "SLUICE_NOT_SETTLED",
      `Expected work in flight of policy "${policy.name}" to be settled, got tokens that came back by themselves after ${returns.staleAfterMs} ms. Write run(limiter, key, work), which also renews them, or settle(key, decision, 0) in a \`finally\``
    );
  }
  watchesByStore.set(store, byName2.set(policy.name, watches));
  const holds = decision.allowed && readings(decision).some(({ inFlight, cost }) => inFlight && cost > 0);
  if (!holds || watches.length >= MOST_WATCHED) return;
  const watch = { at: decision.at, isHandled: false };
  watches.push(watch);
  watchOf().write(decision, watch);
}

// src/diagnostics/stores/postgres-client.ts
function checkPostgresClient(client) {
  const [got, cure] = postgresFault(client) ?? [];
  if (got !== void 0) {
    throw new TypeError(`Expected \`client\` to be an object with \`query(text, values)\`, got ${got}. ${cure}.`);
  }
}
function postgresFault(client) {
  if (typeof client === "string") return ["a string", POOL];
  const of = client ?? {};
  if (typeof of.then === "function") return ["a promise", "Write `await` before it"];
  if (typeof client === "function") return functionFault(client);
  if (typeof of.$client?.query === "function") return ["a Drizzle database", "Pass `db.$client`"];
  if (of.$pool !== void 0) return ["a pg-promise database", "Pass `db.$pool`"];
  if (of.createQueryRunner !== void 0 || of.getQueryInterface !== void 0) return ["an ORM's connection", POOL];
  if (of.ended === true) return ["a pool that has ended", "Pass an open one"];
  return typeof of.query === "function" ? void 0 : [show(client), POOL];
}
function functionFault(client) {
  const { query, unsafe } = client;
  if (typeof query === "function") return ["the function of Neon", arrow("query")];
  if (typeof unsafe === "function") return ["a function with `unsafe`, such as that of `postgres` or Bun", arrow("unsafe")];
  const isPlain2 = Object.keys(client).length === 0 && !/^class\b/.test(`${client}`);
  return isPlain2 ? void 0 : ["a function", POOL];
}
var arrow = (method) => `Write \`new PostgresStore((text, values) => sql.${method}(text, values))\``;
var POOL = "Pass a `pg` pool: `new Pool({ connectionString })`";

// src/diagnostics/stores/redis-client.ts
function checkRedisClient(client) {
  const [got, cure] = redisFault(client) ?? [];
  if (got !== void 0) {
    throw new TypeError(
      `Expected \`client\` to be a client of ioredis, iovalkey, node-redis or @upstash/redis, got ${got}. ${cure}.`
    );
  }
}
function redisFault(client) {
  if (typeof client === "string") return ["a string", "Pass a client, such as `new Redis(url)`"];
  const of = client ?? {};
  if (typeof of.then === "function") return ["a promise", "Write `await` before it"];
  if (typeof client === "function" && typeof (of.evalsha ?? of.evalSha) !== "function") return functionWithMembers(client);
  if (of.internal_send_command !== void 0 || of.options?.legacyMode === true) return CALLBACKS;
  if (of.isPipeline === true || of.chain !== void 0 && of.createScript === void 0) return PIPELINE;
  if (of.evalSha !== void 0 && of.sendCommand !== void 0 && of.isOpen === void 0) {
    return ["what `legacy()` or `multi()` returned", "Pass the client itself"];
  }
  if (of.client?.hasCredentials === false) return ["an Upstash client without a URL", "Set UPSTASH_REDIS_REST_URL or `url`"];
  if (typeof of.eval === "function" && (typeof of.evalsha === "function" || typeof of.evalSha === "function")) return void 0;
  const got = show(client);
  return [
    typeof client === "object" && client !== null ? `${got} without \`eval\` and \`evalsha\`` : got,
    arrowFor(of) ?? "Pass a client, such as `new Redis(options)`"
  ];
}
function functionWithMembers(client) {
  const { name, prototype } = client;
  const isClass = /^class\b/.test(`${client}`) || Object.getOwnPropertyNames(prototype ?? {}).length > 1;
  const isMaker = isClass || /^(?:create|connect)(?![a-z])/.test(String(name));
  if (isMaker) return ["a function", "Pass a client, not the class or function that makes one"];
  if (Object.keys(client).length === 0) return void 0;
  return ["a function with members", arrowFor(client) ?? sendArrow("(command, key) => client(command, key)")];
}
function arrowFor(client) {
  if (typeof client.customCommand === "function") return sendArrow("(command) => client.customCommand([...command])");
  return typeof client.send === "function" ? sendArrow("([name, ...args]) => client.send(name, args)") : void 0;
}
var sendArrow = (text) => `Write \`new RedisStore(${text})\``;
var CALLBACKS = ["a client with callbacks", "Use redis 5 or later, which returns promises"];
var PIPELINE = ["a pipeline", "Pass the client that made it"];

// src/diagnostics/stores/store-setup.ts
function checkStore(store) {
  if (typeof store !== "object" || store === null || typeof store.consume !== "function" || typeof store.sync !== "boolean") {
    const got = typeof store === "string" ? "a string" : show(store);
    throw new TypeError(`Expected \`store\` to be an object with \`sync\` and \`consume\`, got ${got}${cureForStore(store)}`);
  }
  if (typeof store.guard?.protect !== "function" && (store.guard !== void 0 || !store.sync)) {
    throw new TypeError(
      `${expected("store.guard", "made by `guard` of sluice/store", store.guard)}. Write \`readonly guard = guard()\` in the store`
    );
  }
}
function checkRedisSetup(store, client, options) {
  const { prefix, batch, cluster } = checkOptions(options, [
    "prefix",
    "denyCacheMs",
    "batch",
    "cluster",
    "spread",
    "clock",
    ...GUARDED
  ]);
  checkRedisClient(client);
  noteClientTimeout(store, client);
  checkFlags({ batch, cluster });
  if (prefix !== void 0 && typeof prefix !== "string") throw new TypeError(expected("prefix", "a string", prefix));
}
function checkPostgresSetup(store, client, options) {
  const { prepare } = checkOptions(options, ["table", "denyCacheMs", "prepare", "clock", ...GUARDED]);
  checkPostgresClient(client);
  noteClientTimeout(store, client);
  checkFlags({ prepare });
}
var GUARDED = ["timeoutMs", "breaker", "sharedBy"];
function checkFlags(flags) {
  for (const [name, value] of Object.entries(flags)) {
    if (value !== void 0 && typeof value !== "boolean") throw new TypeError(expected(name, "true or false", value));
  }
}
var REDIS = "write `new RedisStore(client)`, from sluice/redis";
var POSTGRES = "write `new PostgresStore(pool)`, from sluice/postgres";
var MEMORY = "leave `store` out for this process's memory, or write `new MemoryStore()`";
function cureForStore(store) {
  const text = typeof store === "string" ? store : Object(store).href;
  if (typeof text === "string") return `. ${cureForText(text)}`;
  const of = Object(store);
  if (typeof of.then === "function") return ". Write `await` before it";
  if (typeof of.prototype?.consume === "function") return ". Make one with `new`, such as `new MemoryStore()`";
  if (typeof of.unsafe === "function") {
    return ". Of postgres.js, write `new PostgresStore((text, values) => sql.unsafe(text, values))`, from sluice/postgres";
  }
  if (typeof of.query === "function") return `. Of a pool of pg, ${POSTGRES}`;
  if (typeof of.transaction === "function") return ". Of a database, use `sqlStore`, from sluice/store";
  if (typeof of.eval === "function" || typeof of.sendCommand === "function") return `. Of a client of Redis, ${REDIS}`;
  if (Object(of.client) === of.client) return `. Of options with a client, ${REDIS}`;
  return `. For memory, ${MEMORY}; for a client of Redis, ${REDIS}`;
}
function cureForText(text) {
  if (text.startsWith("postgres")) return "Write `new PostgresStore(new Pool({ connectionString: url }))`, from sluice/postgres";
  const scheme = /^(?:rediss?|valkeys?|unix)(?=:\/\/)/i.exec(text)?.[0].toLowerCase();
  if (scheme !== void 0) {
    const client = scheme.startsWith("redis") ? "ioredis" : "iovalkey";
    return `Write \`new RedisStore(new Redis(url))\`, from sluice/redis, with a client of ${client}`;
  }
  return text === "memory" ? `For memory, ${MEMORY}` : `For a client of Redis, ${REDIS}`;
}
function checkGuardSetup(options, names) {
  const { breaker } = checkOptions(options, names);
  if (breaker !== void 0 && breaker !== false) {
    const what = "false, or an object with `failures` or `probeEveryMs`";
    if (typeof breaker !== "object" || breaker === null) throw new TypeError(expected("breaker", what, breaker));
    checkNames(breaker, ["failures", "probeEveryMs"]);
  }
}
function checkNoTimeout(timeoutMs) {
  if (timeoutMs === void 0) return;
  throw new TypeError(
    `${expected("timeoutMs", "left out for a synchronous store", timeoutMs)}. Nothing can interrupt its calls: set a timeout of the database, such as \`busy_timeout\` of SQLite`
  );
}

// src/warnings/line-of.ts
var MOST_CAUSES = 3;
function withCauses(error) {
  const all = [error];
  for (let cause = causeOf(error); cause !== void 0 && all.length < MOST_CAUSES; cause = causeOf(cause)) all.push(cause);
  return all;
}
function lineOf(error) {
  const texts = [];
  for (const each of withCauses(error)) {
    const { name, message, code } = Object(each);
    if (message || causeOf(each) === void 0) texts.push(String(message || code || name || each).replace(/\.$/, ""));
  }
  const line = texts.filter((text, i) => texts.indexOf(text) === i).join(": ");
  return line.replace(/[\0-\x1F\x7F-\x9F]+/g, " ").slice(0, 200);
}
function causeOf(error) {
  const { cause, errors, lastNodeError } = Object(error);
  return cause ?? (Array.isArray(errors) ? errors[0] : void 0) ?? lastNodeError;
}

// src/diagnostics/stores/store-hints.ts
var MANY_LATE = 5;
function createStoreHints(timeoutMs, nameOf) {
  let lateMs = [];
  let lastLate = -Infinity;
  let lastSuccesses = 0;
  const isSetupFailure = createSetupCheck(nameOf);
  return {
    failed(error) {
      if (isSetupFailure(error)) return true;
      if (!isBug(error)) return false;
      const { name, stack } = error;
      warnOnce(
        "SLUICE_STORE_BUG",
        `${nameOf()} failed with a ${name}: ${lineOf(error)}. This is a bug of the store or its client, not an outage. Meanwhile \`onStoreError\` decides.`,
        stack
      );
      return true;
    },
    late(since, stalledAt, successes) {
      const now = monotonicClock();
      if (successes !== lastSuccesses) lateMs = [];
      lastSuccesses = successes;
      if (since < lastLate || since <= stalledAt || now - since < timeoutMs) return;
      lastLate = now;
      if (lateMs.push(Math.round(now - since)) < MANY_LATE) return;
      const [least, most] = [Math.min(...lateMs), Math.max(...lateMs)];
      lateMs = [];
      warnOnce(
        "SLUICE_STORE_SLOW",
        `${nameOf()} answers after the timeout: ${MANY_LATE} answers in a row took ${least} to ${most} ms, and \`timeoutMs\` is ${timeoutMs}. Raise \`timeoutMs\` of the store, or move the store closer.`
      );
    }
  };
}
function hintOneSlot(reason) {
  warnOnce(
    "SLUICE_REDIS_SLOTS",
    `This Redis Cluster cannot take several slots in one call: ${reason}. Each slot now gets a separate call, which costs up to six times the CPU time with many callers. Use Redis 7 or Valkey, or set \`spread\``
  );
}
function isBug(error) {
  const { name, message, cause } = Object(error);
  if (name === "TypeError") return cause === void 0 && !/fetch|network|sending request|load failed/i.test(String(message));
  return name === "RangeError" || name === "ReferenceError";
}
var says = (pattern) => (message) => pattern.test(message);
var withState = (...states) => (_, { code }) => states.includes(String(code));
var FAILED_SETUPS = [
  {
    // The client of node-redis throws the first, its cluster of version 5 and its sentinel the second.
    is: (message, { stack }) => message === "The client is closed" || /(?:['.](?:master|replicas)'|'isReady')\)$/.test(message) && /@redis[\\/]client/.test(String(stack)),
    code: "SLUICE_REDIS_CONNECT",
    text: "has a client that is not connected: write `await client.connect()` before the first request, and close the client after the last"
  },
  {
    is: withState("42883", "42P01"),
    // undefined_function, undefined_table
    code: "SLUICE_POSTGRES_MIGRATE",
    text: "has no table or function in Postgres, so each call fails: run `migrate()` or the SQL of `postgresSchema` once"
  },
  {
    is: says(/^(?:MOVED|ASK) \d|^CROSSSLOT /),
    text: "reaches one node of a cluster. Pass a cluster client, such as `new Cluster(nodes)` of ioredis or `createCluster` of node-redis; where a proxy stands before the cluster, set `cluster: true` of the store"
  },
  {
    is: says(/^READONLY /),
    text: "reaches a replica, which takes no writes. Connect to the primary; for a failover set `reconnectOnError` of ioredis, or use `createSentinel` or `createCluster` of node-redis"
  },
  {
    is: says(/^NOAUTH |^ERR operation not permitted|unauthenticated (?:multi)?bulk length/),
    text: "has no password. Set `password` of the client"
  },
  {
    is: says(/^WRONGPASS |^ERR invalid password|^Unauthorized/),
    text: "has a wrong user or password. Correct `username` and `password` of the client, or its token"
  },
  {
    is: says(/^NOPERM /),
    text: "has a user without the rights that it needs. Add the rights of the table in the guide to Redis: `ACL SETUSER ... ~sluice:* +evalsha +eval +get +set +setrange +del +time`, where `sluice` is the `prefix` of the store, after the `keyPrefix` of the client"
  },
  {
    is: says(/unknown command ['`"]?eval|command is not allowed|EVALSHA.*not (?:supported|allowed)/i),
    text: "has a server that runs no scripts. Allow EVAL and EVALSHA: no `rename-command`, and no proxy that refuses them"
  },
  {
    is: says(/Unknown Redis command called from|Write commands not allowed after non deterministic/i),
    text: "has a server that is too old for the script. Use Redis 6.2 or newer, or Valkey"
  },
  { is: says(/^DENIED /), text: "has a server in protected mode. Set a password and `bind` of the server" },
  { is: says(/^OOM /), text: "has a server whose memory is full. Raise `maxmemory`, or set `maxmemory-policy volatile-ttl`" },
  {
    is: withState("28P01", "28000"),
    // invalid_password, invalid_authorization_specification
    text: "has a user or password that Postgres refuses. Correct both in the pool, and the user's line in pg_hba.conf"
  },
  { is: says(/^SASL: .*password must be/), text: "has no password. Set `password` of the pool" },
  { is: withState("3D000"), text: "has a database that does not exist. Correct `database` of the pool, or create it" },
  { is: withState("3F000"), text: "has a schema that does not exist. Create it, or correct `table` of the store" },
  { is: withState("25006"), text: "reaches a Postgres that takes no writes, such as a replica. Connect to the primary" },
  {
    is: withState("42501"),
    // insufficient_privilege
    text: "has a user without the rights that it needs. GRANT SELECT, INSERT, UPDATE, DELETE on its table to that user, and where they were revoked, USAGE on its schema and EXECUTE on its functions"
  },
  {
    is: says(/unsupported startup parameter/),
    text: "goes through a pooler that refuses a setting of the connection. Set `statement_timeout` in the database instead: ALTER ROLE app SET statement_timeout = '500ms'"
  },
  {
    is: says(/^The client of `pg` is not connected/),
    text: "has a client that is not connected. Write `await client.connect()` before the first request, or pass a pool"
  }
];
function createSetupCheck(nameOf) {
  const told = /* @__PURE__ */ new Set();
  return (error) => {
    const setup = setupOf(error);
    if (setup === void 0 || told.has(setup)) return setup !== void 0;
    told.add(setup);
    const { code, text } = setup;
    if (code === void 0) warn("SLUICE_STORE_SETUP", `${nameOf()} ${text}. The store said: ${lineOf(error)}.`);
    else warnOnce(code, `${nameOf()} ${text}`);
    return true;
  };
}
function setupOf(error) {
  for (const each of withCauses(error)) {
    const members = Object(each);
    const message = String(members.message).replace(/^Command (?:\d+ \[ \w+ \] )?failed: /, "");
    const setup = FAILED_SETUPS.find(({ is }) => is(message, members));
    if (setup !== void 0) return setup;
  }
  return void 0;
}

// src/diagnostics/index.ts
var ofLimiter = {
  checkKeyText,
  checkLimiter,
  checkLimiterSetup,
  checkNumbers,
  checkPolicyName,
  checkStore,
  createDecisionLog,
  hintAwait,
  markHandled,
  watchHeld
};
var limiterChecks = ofLimiter;
var ofStore = { checkPostgresSetup, checkRedisSetup, hintOneSlot, hintUnlogged };
var storeChecks = ofStore;
var ofGuard = { checkGuardSetup, checkNoTimeout, createStoreHints };
var guardChecks = ofGuard;

// src/core/records.ts
var BLOCK = "!";
var LONGEST_BLOCK_MS = 2147483647e3;
var BLOCK_LIMIT = {
  name: BLOCK,
  capacity: 0,
  refill: { tokens: 1, everyMs: 1 },
  cost: 0,
  unitsPerMs: 1,
  unitsPerToken: 1,
  size: 0,
  fullMs: 0,
  kind: RATE
};
function blockLeft({ spent, at }, now) {
  const ahead = at - now;
  return ahead > spent ? spent : Math.max(0, spent + ahead);
}
function redateBlock(block, now) {
  const isImpossible2 = block.spent > 0 && block.at - now > block.spent;
  if (isImpossible2) block.at = now;
  return isImpossible2;
}
function extendBlock(block, forMs, now) {
  setBucket(block, BLOCK_LIMIT, Math.max(blockLeft(block, now), forMs), now);
}
function consumeBlocked(buckets, policy, costs, now, blockMs) {
  if (blockMs <= 0) return consume(buckets, policy, costs, now);
  convertStale(buckets, policy, now);
  return peekBlocked(buckets, policy, costs, now, blockMs);
}
function peekBlocked(buckets, policy, costs, now, blockMs) {
  const decision = peek(buckets, policy, costs, now);
  return blockMs > 0 ? whileBlocked(decision, blockMs) : decision;
}

// src/stores/memory/fingerprint.ts
function makeFingerprinter(secret) {
  return function fingerprint(text, out) {
    secret ??= crypto.getRandomValues(new Uint32Array(2));
    const k0 = secret[0] | 0;
    const k1 = secret[1] | 0;
    let v0 = k0;
    let v1 = k1 ^ 238;
    let v2 = k0 ^ 1819895653;
    let v3 = k1 ^ 1952801890;
    const length = text.length;
    for (let i = 0; i <= length; i += 2) {
      const word = i + 1 < length ? text.charCodeAt(i) | text.charCodeAt(i + 1) << 16 : (i < length ? text.charCodeAt(i) : 0) | length << 16;
      v3 ^= word;
      v0 = v0 + v1 | 0;
      v1 = (v1 << 5 | v1 >>> 27) ^ v0;
      v0 = v0 << 16 | v0 >>> 16;
      v2 = v2 + v3 | 0;
      v3 = (v3 << 8 | v3 >>> 24) ^ v2;
      v0 = v0 + v3 | 0;
      v3 = (v3 << 7 | v3 >>> 25) ^ v0;
      v2 = v2 + v1 | 0;
      v1 = (v1 << 13 | v1 >>> 19) ^ v2;
      v2 = v2 << 16 | v2 >>> 16;
      v0 ^= word;
    }
    v2 ^= 238;
    for (let half = 0; half < 2; half++) {
      for (let round = 0; round < 3; round++) {
        v0 = v0 + v1 | 0;
        v1 = (v1 << 5 | v1 >>> 27) ^ v0;
        v0 = v0 << 16 | v0 >>> 16;
        v2 = v2 + v3 | 0;
        v3 = (v3 << 8 | v3 >>> 24) ^ v2;
        v0 = v0 + v3 | 0;
        v3 = (v3 << 7 | v3 >>> 25) ^ v0;
        v2 = v2 + v1 | 0;
        v1 = (v1 << 13 | v1 >>> 19) ^ v2;
        v2 = v2 << 16 | v2 >>> 16;
      }
      if (half === 0) {
        out.high = v1 ^ v3;
        v1 ^= 221;
      } else {
        out.low = v1 ^ v3;
      }
    }
    if (out.high === 0 && out.low === 0) out.low = 1;
  };
}

// src/stores/memory/memory.ts
var MOST_KEYS = 1e9;
var MemoryStore = class {
  sync = true;
  clock;
  kinds = LIMIT_KINDS;
  #fingerprint = makeFingerprinter();
  /** The fingerprint of the last key. */
  #key = { high: 0, low: 0 };
  /** The last key if it came at least twice in a row, so that its fingerprint is known; null otherwise. */
  #repeated = null;
  /** The fingerprint of the last key under the last policy's name. */
  #bucketKey = { high: 0, low: 0 };
  /** With a secret of its own: a key that equals a policy's name must not undo the salt. */
  #saltOf = makeFingerprinter();
  #maxKeys;
  #table;
  /** The records whose amounts stay apart, by the class of their table. Made for the first of them. */
  #apart = /* @__PURE__ */ new Map();
  #byPolicy = /* @__PURE__ */ new WeakMap();
  /** The blocks, as buckets of a limit. While no block exists, no call looks for one. */
  #blocks = { limit: BLOCK_LIMIT, id: -1, buckets: 0, slot: 0 };
  #block = fullBucket(BLOCK_LIMIT);
  /** The entry of the last policy, since most stores serve one policy. */
  #last = { policy: null, salt: { high: 0, low: 0 }, limits: [], tables: [], buckets: [] };
  /** Throws a TypeError or RangeError that names the wrong option. */
  constructor(options = {}) {
    const { maxKeys = 1e6, clock = monotonicClock } = checkOptions(options, ["maxKeys", "clock"]);
    checkClock(clock);
    if (positiveInteger("maxKeys", maxKeys) > MOST_KEYS) {
      throw new RangeError(expected("maxKeys", `at most ${MOST_KEYS}`, maxKeys));
    }
    this.clock = clock;
    this.#maxKeys = maxKeys;
    this.#table = new MemoryTable(maxKeys);
  }
  consume(policy, key, costs) {
    return this.#take(policy, key, costs, readClock(this.clock));
  }
  /** Takes all charges or none, in one step. Throws a TypeError when two charges name the same bucket. */
  consumeTogether(charges) {
    checkNamedOnce(charges);
    const now = readClock(this.clock);
    const would = charges.map(({ policy, key, cost }) => this.#peek(policy, key, cost, now));
    const all = would.every(({ allowed }) => allowed);
    return charges.map(({ policy, key, cost }, i) => {
      const decision = this.#take(policy, key, all ? cost : Infinity, now);
      return all ? decision : would[i];
    });
  }
  peek(policy, key, costs) {
    return this.#peek(policy, key, costs, readClock(this.clock));
  }
  adjust(policy, key, changes, from) {
    const now = readClock(this.clock);
    const entry = this.#load(policy, key);
    const done = adjust(entry.buckets, policy, changes, now, from);
    if (done) this.#save(entry, now);
    return done;
  }
  renew(policy, key, tokens, move) {
    const now = readClock(this.clock);
    const entry = this.#load(policy, key);
    const isHeld = renewHeld(entry.buckets, policy, tokens, now, move);
    this.#save(entry, now);
    return isHeld;
  }
  /** A block takes the place of one bucket. */
  block(policy, key, forMs) {
    const now = readClock(this.clock);
    this.#load(policy, key);
    if (forMs === 0) return this.#table.delete(this.#bucketKey, this.#blocks);
    this.#table.get(this.#bucketKey, this.#blocks, this.#block);
    extendBlock(this.#block, forMs, now);
    this.#table.put(this.#bucketKey, this.#blocks, this.#block, now);
  }
  reset(policy, key) {
    this.#load(policy, key);
    this.#table.delete(this.#bucketKey, null);
    for (const table of this.#apart.values()) table.delete(this.#bucketKey, null);
  }
  /** Returns how many buckets are kept now, and how many busy ones were removed since the store was created. */
  stats() {
    const tables2 = [this.#table, ...this.#apart.values()];
    const sumOf = (count) => tables2.reduce((sum, table) => sum + table[count], 0);
    return { buckets: sumOf("size"), evictedBusy: sumOf("evictedBusy") };
  }
  #peek(policy, key, costs, now) {
    return peekBlocked(this.#load(policy, key).buckets, policy, costs, now, this.#blockMs(now));
  }
  #take(policy, key, costs, now) {
    const entry = this.#load(policy, key);
    const blockMs = this.#blockMs(now);
    const decision = consumeBlocked(entry.buckets, policy, costs, now, blockMs);
    if (blockMs > 0 && redateBlock(this.#block, now)) this.#table.put(this.#bucketKey, this.#blocks, this.#block, now);
    this.#save(entry, now);
    return decision;
  }
  /** Loads the block of the loaded key, and returns the milliseconds that it has left. */
  #blockMs(now) {
    if (this.#blocks.buckets === 0) return 0;
    this.#table.get(this.#bucketKey, this.#blocks, this.#block);
    return blockLeft(this.#block, now);
  }
  #load(policy, key) {
    if (this.#last.policy !== policy) this.#last = this.#byPolicy.get(policy) ?? this.#addPolicy(policy);
    const entry = this.#last;
    if (key !== this.#repeated) {
      const { high, low } = this.#key;
      this.#fingerprint(key, this.#key);
      this.#repeated = this.#key.high === high && this.#key.low === low ? key : null;
    }
    this.#bucketKey.high = this.#key.high ^ entry.salt.high;
    this.#bucketKey.low = this.#key.low ^ entry.salt.low;
    if ((this.#bucketKey.high | this.#bucketKey.low) === 0) this.#bucketKey.low = 1;
    for (let i = 0; i < entry.limits.length; i++) {
      entry.tables[i].get(this.#bucketKey, entry.limits[i], entry.buckets[i]);
    }
    return entry;
  }
  #save(entry, now) {
    for (let i = 0; i < entry.limits.length; i++) {
      const bucket = entry.buckets[i];
      const table = entry.tables[i];
      if (bucket.spent > 0) table.put(this.#bucketKey, entry.limits[i], bucket, now);
      else table.delete(this.#bucketKey, entry.limits[i]);
    }
  }
  // Policies of one name share buckets although their numbers differ, so that a change of tier keeps what was spent.
  #addPolicy(policy) {
    if (limiterChecks) limiterChecks.checkPolicyName(this, policy.name);
    const salt = { high: 0, low: 0 };
    this.#saltOf(policy.name, salt);
    const buckets = policy.limits.map(fullBucket);
    const limits = policy.limits.map((limit) => ({ limit, id: -1, buckets: 0, slot: 0 }));
    const tables2 = policy.limits.map((limit) => limit.kind.apart === void 0 ? this.#table : this.#tableOf(limit));
    const entry = { policy, salt, limits, tables: tables2, buckets };
    this.#byPolicy.set(policy, entry);
    return entry;
  }
  #tableOf({ renews, returns }) {
    const Table = (renews ?? returns)?.dating.table;
    const table = this.#apart.get(Table) ?? new Table(this.#maxKeys);
    this.#apart.set(Table, table);
    return table;
  }
};

// src/stores/shared/store-error.ts
var StoreError = class extends SluiceError {
  static kind = "StoreError";
};

// src/limiter/unlimited.ts
var unlimitedBrand = () => /* @__PURE__ */ Symbol.for("sluice.unlimited");
var unlimited = Object.freeze({ [unlimitedBrand()]: true });
function isUnlimited(value) {
  return typeof value === "object" && value !== null && unlimitedBrand() in value;
}
function withoutLimit({
  policy: { name: policy },
  store: { clock }
}) {
  const at = readClock(clock === "server" ? monotonicClock : clock);
  return {
    allowed: true,
    reason: null,
    policy,
    limit: "",
    cost: 0,
    capacity: Infinity,
    remaining: Infinity,
    retryAfterMs: 0,
    nextTokenMs: 0,
    resetMs: 0,
    limits: [],
    at,
    degraded: false
  };
}

// src/port/charged.ts
var ofThisCopy;
var markOfProcess = () => processWide("charged", createMark);
var mark = () => ofThisCopy ??= markOfProcess();
var tiersOfThisCopy;
var tiers = () => tiersOfThisCopy ??= processWide("tiers", createHiddenField);
function markCharged(decision, by, key) {
  const marked = by === null || Object.isExtensible(decision) ? decision : { ...decision };
  mark().add(marked, by, key);
  return marked;
}
function markNew(decision, by, key) {
  if (!decision.allowed) return decision;
  try {
    ofThisCopy ??= markOfProcess();
    new ofThisCopy(decision, by, key);
    return decision;
  } catch {
    return markCharged(decision, by, key);
  }
}
function markTier(decision, policy) {
  if (chargedBy(decision) !== null) tiers().write(decision, policy);
  return decision;
}
function tierOf(decision) {
  return tiers().read(decision);
}
function chargedBy(decision) {
  return mark().read(Object(decision));
}
function checkChargedKey(decision, encoded, key) {
  if (mark().keyOf(decision) !== encoded) throw otherKey(key);
}
function otherKey(key) {
  return new TypeError(`${expected("key", "the key that the decision charged", key)}. Pass the key of its \`consume\``);
}

// src/limiter/arguments.ts
function costOf(asked2, policy, own) {
  return parseCost(policy, typeof asked2 === "object" ? ownOption(asked2, "cost") : asked2, own);
}
function policyOf(asked2, own) {
  return typeof asked2 === "object" ? choiceIn(asked2, ["cost", "policy"], own, "cost", "a number, or an object with `cost` or `policy`") : own.policy;
}
function checkPolicyIn(asked2) {
  if (Object.hasOwn(Object(asked2), "policy") && asked2.policy !== void 0) return;
  throw new TypeError(
    "Expected `policy` in `peek`, because calls of this limiter name theirs, got none. Write peek(key, { policy })"
  );
}
function chosenPolicy(options, own) {
  return options === void 0 ? own.policy : choiceIn(options, ["policy"], own, "options", "an object with `policy`");
}
function choiceIn(asked2, names, own, title, what) {
  if (typeof asked2 !== "object" || asked2 === null) throw new TypeError(expected(title, what, asked2));
  checkNames(asked2, names);
  const policy = ownOption(asked2, "policy");
  if (policy === void 0) return own.policy;
  if (isPolicy(policy)) datedWorkOf(policy)?.checkStore(own.store, policy, own.policy);
  else if (!isUnlimited(policy)) throw notDefined(policy, "policy", "made by definePolicy, or `unlimited`");
  return policy;
}
function ownOption(asked2, name) {
  return Object.hasOwn(asked2, name) ? asked2[name] : void 0;
}
function checkConsumed(decision) {
  const given = Object(decision);
  const isPromise = typeof given.then === "function";
  if (!isPromise && typeof given.allowed === "boolean") return;
  const cure = isPromise ? "Write `await` before `consume`" : "To give tokens back without one, write credit(key, tokens)";
  throw new TypeError(
    `Expected \`decision\` to be a decision of \`consume\`, got ${isPromise ? "a promise" : show(decision)}. ${cure}`
  );
}
function tokensOf(policy, tokens, name, others = 0) {
  const parsed = parseTokens(policy, tokens, name, others);
  if (typeof tokens !== "number" || tokens === 0 || policy.limits.length === 1) return parsed;
  const named = policy.limits.flatMap((limit) => limit.kind.isInFlight ? [] : `${nameInCode(limit.name)}: ${tokens}`);
  throw new TypeError(
    `${expected(name, "an object with the names of limits", tokens)}. Policy "${policy.name}" has ${policy.limits.length} limits: write ${named.length > 0 ? `{ ${named.join(", ")} }` : "0, because all of them are in flight"}`
  );
}
function nameInCode(name) {
  return /^[A-Za-z][A-Za-z\d_]*$/.test(name) ? name : JSON.stringify(name);
}
function throwOrReject({ sync }, make) {
  if (sync) return make();
  try {
    const answer2 = Promise.resolve(make());
    if (limiterChecks) limiterChecks.hintAwait(answer2);
    return answer2;
  } catch (error) {
    return Promise.reject(error);
  }
}
function requireMethod(store, name) {
  const method = store[name];
  if (method === void 0) throw new TypeError(`Expected the store to have \`${name}\`, got one without it`);
  return method;
}

// src/limiter/internals.ts
var brand = () => /* @__PURE__ */ Symbol.for("sluice.limiter");
function attachInternals(limiter, internals) {
  Object.defineProperty(limiter, brand(), { value: internals });
}
function internalsOf(limiter) {
  const internals = Object(limiter)[brand()];
  if (internals === void 0) {
    throw new TypeError(expected("limiter", "made by createLimiter, combine or createWaiter", limiter));
  }
  return internals;
}
function plainInternalsOf(limiter) {
  return internalsOf(limiter);
}

// src/limiter/now-or-later.ts
function thenOne(value, next) {
  return value instanceof Promise ? value.then(next) : next(value);
}

// src/limiter/charge.ts
function inTier(made2, policy) {
  return thenOne(made2, (decision) => markTier(decision, policy));
}

// src/limiter/options.ts
var LIMITER_OPTIONS = [
  "policy",
  "store",
  "onStoreError",
  "shadow",
  "observe"
];
function checkOnStoreError(onStoreError = "local") {
  if (["local", "allow", "unavailable"].includes(onStoreError)) return onStoreError;
  throw new RangeError(expected("onStoreError", '"local", "allow" or "unavailable"', onStoreError));
}

// src/limiter/shadow.ts
var neverShadow = () => false;
var alwaysShadow = () => true;
function createShadow(option) {
  if (typeof option !== "function") return option ? alwaysShadow : neverShadow;
  return (key) => {
    try {
      const answer2 = option(key);
      if (typeof answer2 === "boolean") return answer2;
      Promise.resolve(answer2).catch(() => void 0);
      throw new TypeError(`${expected("shadow()", "true or false", answer2)}. It answers at once`);
    } catch (error) {
      warnOnce(
        "SLUICE_FUNCTION_FAILED",
        "`shadow` failed, so the limit is enforced. This error and all later ones are dropped",
        textOf(error)
      );
      return false;
    }
  };
}
function inShadow(decision) {
  return decision.allowed ? decision : { ...decision, allowed: true, reason: null, retryAfterMs: 0, shadow: decision };
}

// src/limiter/verbs/returned.ts
var ofAllCopies;
var byStore = () => ofAllCopies ??= processWide("returned", () => /* @__PURE__ */ new WeakMap());
var listenersOf = (store) => byStore().get(store);
function tellReturned(store, bucket) {
  const listeners = Array.from(listenersOf(store)?.get(bucket) ?? []);
  for (const listener of listeners) listener();
}

// src/limiter/verbs/operator-verbs.ts
var doNothing = () => void 0;
function createOperatorVerbs(base) {
  const { store, guarded } = base;
  return {
    debit: (key, tokens, options) => change(key, tokens, options, 1),
    credit: (key, tokens, options) => change(key, tokens, options, -1),
    block(key, forMs, options) {
      const block = requireMethod(store, "block");
      if (wholeNumber("forMs", forMs) > LONGEST_BLOCK_MS) {
        throw new RangeError(expected("forMs", `at most ${LONGEST_BLOCK_MS}`, forMs));
      }
      return onBucket(key, options, forMs === 0, (policy, encoded) => block.call(store, policy, encoded, forMs));
    },
    reset(key, options) {
      const reset = requireMethod(store, "reset");
      return onBucket(key, options, true, (policy, encoded) => reset.call(store, policy, encoded));
    }
  };
  function change(key, tokens, options, sign) {
    const adjust2 = requireMethod(store, "adjust");
    const chosen = chosenPolicy(options, base);
    if (isUnlimited(chosen)) return onBucket(key, options, false, doNothing);
    if (typeof tokens === "number") positiveInteger("tokens", tokens);
    const given = tokensOf(chosen, tokens, "tokens");
    datedWorkOf(chosen)?.checkGiven(chosen, given, tokens);
    const changes = mapCosts(chosen, given, (each) => sign > 0 ? each : 0 - each);
    const tooMuch = () => new RangeError(`${expected("tokens", "a debt of at most 2^53 - 1 units of each limit", tokens)}. Nothing was taken`);
    if (chosen.limits.some(({ unitsPerToken }, i) => costAt(changes, i) * unitsPerToken > Number.MAX_SAFE_INTEGER)) {
      throw tooMuch();
    }
    const act = onBucket(
      key,
      options,
      sign < 0,
      (policy, encoded) => adjust2.call(store, policy, encoded, changes, sign < 0 ? madeNow() : void 0),
      (done) => {
        if (!done) throw tooMuch();
      }
    );
    return sign > 0 ? act : () => thenOne(timeIsKnown() ? void 0 : guarded.peek(chosen, encodeKey(key), 0), act);
  }
  function timeIsKnown() {
    return store.peek === void 0 || !Number.isNaN(guarded.pastNow());
  }
  function madeNow() {
    const now = guarded.pastNow();
    return Number.isNaN(now) ? void 0 : { since: Math.floor(now) };
  }
  function onBucket(key, options, givesBack, send, check = doNothing) {
    const policy = chosenPolicy(options, base);
    const encoded = encodeKey(key);
    if (isUnlimited(policy)) return doNothing;
    const bucket = bucketId(policy, encoded);
    return () => thenOne(
      guarded.call([bucket], () => send(policy, encoded)),
      (answer2) => {
        check(answer2);
        if (givesBack) tellReturned(store, bucket);
      }
    );
  }
}

// src/limiter/verbs/refundable.ts
function refundable(decision, policy, position, tokens, ageMs) {
  const limit = policy.limits[position];
  if (!(ageMs > 0) || limit.refill === void 0) return tokens;
  const units = (resetMsOf(decision, limit) - 1 - ageMs) * limit.unitsPerMs + 1;
  return Math.max(0, Math.min(tokens, Math.ceil(units / limit.unitsPerToken)));
}
function refundableUntil(decision, policy, changes) {
  return mapCosts(policy, changes, (change, i) => {
    const limit = policy.limits[i];
    const usedMs = Math.ceil((-change - 1) * limit.unitsPerToken / limit.unitsPerMs);
    return decision.at + Math.max(0, resetMsOf(decision, limit) - 1 - usedMs);
  });
}
function resetMsOf(decision, { name }) {
  return readings(decision).find(({ limit }) => limit === name)?.resetMs ?? 0;
}
function correction(decision, policy, taken, used, ageMs) {
  return mapCosts(policy, used, (cost, i) => {
    const over = cost - costAt(taken, i);
    return over > 0 ? Math.min(over, policy.limits[i]?.capacity ?? 0) : 0 - refundable(decision, policy, i, 0 - over, ageMs);
  });
}

// src/limiter/verbs/settle.ts
var settleNothing = () => false;
function createSettle(base, tell2 = tellReturned) {
  const { store, guarded } = base;
  return (key, decision, actual, options) => {
    const named = chosenPolicy(options, base);
    const encoded = encodeKey(key);
    const charged = tierOf(decision) ?? (decision.policy === base.policy.name ? base.policy : named);
    const isOurs = decision.allowed && decision.policy === charged.name && chargedBy(decision) === store;
    const chosen = isOurs ? charged : named;
    if (isUnlimited(chosen)) return settleNothing;
    const policy = chosen;
    const adjust2 = requireMethod(store, "adjust");
    if (isOurs) checkChargedKey(decision, encoded, key);
    const taken = isOurs ? costsOf(decision, policy) : policy.ownCosts;
    const given = tokensOf(policy, actual, "actual", taken);
    const used = policy.inFlight ? exceptInFlight(policy, given, 0) : given;
    return isOurs ? settle : settleNothing;
    function settle(isInBackground = false) {
      if (chargedBy(decision) !== store) return false;
      markCharged(decision, null);
      if (limiterChecks) limiterChecks.markHandled(decision);
      return thenOne(takenFrom(decision, policy), (from) => decision.degraded ? settleLocally(guarded.localChargeOf(decision), from) : settleInStore(policy, from, isInBackground));
    }
    function settleInStore(charged2, from, isInBackground) {
      const changes = correction(decision, charged2, taken, used, guarded.now() - decision.at);
      if (changes === 0) return true;
      const call = isInBackground ? guarded.inBackground : guarded.call;
      const origin = { at: from.at, heldAt: from.heldAt, since: refundableUntil(decision, charged2, changes) };
      return told(call([bucketId(charged2, encoded)], () => adjust2.call(store, charged2, encoded, changes, origin), notAsked));
    }
    function settleLocally(charge2, from) {
      if (charge2 === null) return false;
      const { store: local, policy: share } = charge2;
      const changes = correction(decision, share, taken, used, readClock(local.clock) - decision.at);
      return told(requireMethod(local, "adjust").call(local, share, encoded, changes, from));
    }
    function told(settled) {
      return thenOne(settled, (done) => {
        tell2(store, bucketId(policy, encoded));
        return done;
      });
    }
    function notAsked() {
      markCharged(decision, store);
      holdingOf(policy)?.later(settle, store);
    }
  };
}
function takenFrom(decision, policy) {
  return holdingOf(policy)?.stop(decision) ?? { at: decision.at, heldAt: decision.at };
}

// src/limiter/verbs/verbs.ts
function verbsOf(internals) {
  const verb = (act) => (...args) => throwOrReject(internals, () => act(...args)());
  const settle = (key, decision, actual, options) => {
    checkConsumed(decision);
    return internals.settle(key, decision, actual, options);
  };
  return {
    peek: verb(internals.peek),
    settle: verb(settle),
    refund: verb((key, decision, options) => settle(key, decision, 0, options)),
    debit: verb(internals.debit),
    credit: verb(internals.credit),
    block: verb(internals.block),
    reset: verb(internals.reset)
  };
}

// src/limiter/create-limiter.ts
function createLimiter(options) {
  if (limiterChecks) limiterChecks.checkLimiterSetup(options, LIMITER_OPTIONS);
  const limiter = createGateLimiter(options);
  const internals = plainInternalsOf(limiter);
  Object.assign(internals, createPeek(internals), createOperatorVerbs(internals));
  return Object.assign(limiter, verbsOf(internals));
}
function createGateLimiter(options) {
  const own = ownMembers(options);
  const policy = definePolicy(own.policy);
  const store = own.store === void 0 ? defaultStore(datedWorkOf(policy)?.storeOptions(policy)) : own.store;
  if (limiterChecks) limiterChecks.checkStore(store);
  const observer = own.observe ?? null;
  checkClaim(store, policy);
  if (limiterChecks) limiterChecks.checkLimiter(policy, store);
  datedWorkOf(policy)?.checkStore(store, policy, policy);
  const setup = {
    onStoreError: checkOnStoreError(own.onStoreError),
    policy,
    observer,
    makeLocal: (clock) => new MemoryStore({ clock })
  };
  const guarded = store.guard?.protect(store, setup) ?? unguarded(store);
  const { shadow = false } = own;
  const isShadow = createShadow(shadow);
  const base = {
    sync: store.sync,
    policy,
    store,
    guarded,
    observer,
    isShadow,
    tiers: { wereCharged: false },
    log: limiterChecks ? limiterChecks.createDecisionLog() : null
  };
  const consume2 = createConsume(base, shadow !== false, () => limiter);
  const limiter = {
    policy,
    store,
    parts: [],
    waits: false,
    shadow: isShadow,
    consume: store.sync ? consume2 : (key, asked2) => throwOrReject(store, () => consume2(key, asked2))
  };
  limiter.parts = Object.freeze([limiter]);
  attachInternals(limiter, { ...base, settle: createSettle(base) });
  return limiter;
}
var MOST_CLAIMS = 1e3;
function checkClaim(store, policy) {
  const claims = processWide("claims", () => /* @__PURE__ */ new WeakMap());
  const byName2 = claims.get(store) ?? /* @__PURE__ */ new Map();
  const other = byName2.get(policy.name);
  if (other !== void 0 && !samePolicy(other, policy)) {
    throw new RangeError(
      `Expected policy "${policy.name}" to have the same numbers in every limiter on one store, got others: give it another name. To leave room for some calls, write one limiter and a \`policy\` for each call, see ${DOCS}/guides/priority.md`
    );
  }
  claims.set(store, byName2.set(policy.name, policy));
  if (byName2.size > MOST_CLAIMS) byName2.delete(byName2.keys().next().value);
}
function defaultStore(options) {
  return new MemoryStore(options);
}
function createConsume(base, mayShadow, limiterOf) {
  const { policy: own, store, guarded, observer, isShadow, tiers: tiers2, log } = base;
  const memory = store instanceof MemoryStore ? store : null;
  return (key, asked2) => {
    const policy = asked2 === void 0 ? own : policyOf(asked2, base);
    const encoded = encodeKey(key);
    if (limiterChecks) limiterChecks.checkKeyText(key, own);
    if (policy !== own) {
      if (isUnlimited(policy)) return withoutLimit({ store, policy: own });
      tiers2.wereCharged = true;
    }
    const cost = asked2 === void 0 ? own.ownCosts : costOf(asked2, policy, own);
    const listens = observer !== null && observer.listens();
    const sentAt = listens && !store.sync ? monotonicClock() : 0;
    const made2 = memory === null ? guarded.consume(policy, encoded, cost) : markNew(memory.consume(policy, encoded, cost), memory, encoded);
    const decided = policy === own ? made2 : inTier(made2, policy);
    if (limiterChecks && !mayShadow) limiterChecks.watchHeld(store, policy, decided);
    return listens || mayShadow || log !== null ? finish(key, decided, listens, sentAt) : decided;
  };
  function finish(key, decided, listens, sentAt) {
    const report = (taken, durationMs) => {
      const decision = !taken.allowed && mayShadow && isShadow(key) ? inShadow(taken) : taken;
      log?.(key, decision);
      if (listens) observer?.decided(limiterOf(), decision, key, durationMs);
      return decision;
    };
    if (decided instanceof Promise) return decided.then((decision) => report(decision, monotonicClock() - sentAt));
    return report(decided, store.sync ? void 0 : 0);
  }
}
function createPeek(base) {
  const { policy: own, store, guarded, isShadow, tiers: tiers2 } = base;
  return {
    peek(key, asked2) {
      requireMethod(store, "peek");
      if (tiers2.wereCharged) checkPolicyIn(asked2);
      const [policy, encoded] = [policyOf(asked2, base), encodeKey(key)];
      if (isUnlimited(policy)) return () => withoutLimit({ store, policy: own });
      const cost = costOf(asked2, policy, own);
      return () => thenOne(guarded.peek(policy, encoded, cost), (decision) => isShadow(key) ? inShadow(decision) : decision);
    }
  };
}
function unguarded(store) {
  return {
    timeoutMs: 100,
    consume: (policy, key, cost) => markNew(checkDecision(store.consume(policy, key, cost), "consume"), store, key),
    peek: (policy, key, cost) => checkDecision(store.peek?.(policy, key, cost), "peek"),
    call: (_buckets, make) => make(),
    inBackground: (_buckets, make) => make(),
    decideWithout(_policy, _key, _cost, error) {
      throw error;
    },
    // There is no local decision to find.
    localChargeOf: none,
    learnTime: none,
    now: () => store.clock === "server" ? Number.NaN : readClock(store.clock),
    pastNow: () => store.clock === "server" ? Number.NaN : readClock(store.clock)
  };
}
var none = () => null;

// src/guard/call.ts
var Call = class {
  since = 0;
  before = null;
  after = null;
  over = false;
  isProbe = false;
  setup;
  constructor(setup) {
    this.setup = setup;
  }
  /** Counts a failure. */
  tellBreaker(error) {
    this.setup.breaker.failed(error, this);
  }
  /** Throws for an answer of a promise that has the wrong form. */
  check(_answer) {
  }
  /** The answer came after the deadline. */
  late(_answer) {
  }
  /** Sends the call, or fails at once while the circuit breaker is open. */
  start() {
    const refusal = this.setup.breaker.refusal(this);
    if (refusal !== null) return this.failed(refusal);
    this.setup.deadlines.begin(this);
    try {
      this.send();
    } catch (error) {
      this.reject(error);
    }
  }
  resolve(answer2) {
    const { breaker, deadlines, warnings } = this.setup;
    if (!deadlines.end(this)) {
      this.late(answer2);
      return warnings.hints?.late(this.since, deadlines.stalledAt, breaker.successes);
    }
    breaker.succeeded(this);
    this.answered(answer2);
  }
  reject(error) {
    if (!this.setup.deadlines.end(this)) return;
    if (!isClockError(error)) return this.#fail(withCause(error, this.setup.causeOf));
    this.setup.breaker.succeeded(this);
    this.failed(error);
  }
  expire() {
    const { timeoutMs, causeOf: causeOf2 } = this.setup;
    const message = `The store did not answer within ${timeoutMs} ms`;
    this.#fail(withCause(new StoreUnavailableError("ERR_STORE_TIMEOUT", message), causeOf2));
  }
  /** Takes the answer of a promise. */
  follow(promise) {
    Promise.resolve(promise).then(
      (answer2) => {
        try {
          this.check(answer2);
        } catch (error) {
          return this.reject(error);
        }
        this.resolve(answer2);
      },
      (error) => this.reject(error)
    );
  }
  #fail(error) {
    this.setup.tellFailure(error);
    this.tellBreaker(error);
    this.failed(error);
  }
};
var ConsumeCall = class extends Call {
  #policy;
  #key;
  #costs;
  #resolve;
  constructor(setup, policy, key, costs, resolve) {
    super(setup);
    this.#policy = policy;
    this.#key = key;
    this.#costs = costs;
    this.#resolve = resolve;
  }
  bucketIds() {
    return [bucketId(this.#policy, this.#key)];
  }
  send() {
    const { start, store } = this.setup;
    start(store, this.#policy, this.#key, this.#costs, this);
  }
  check(answer2) {
    checkDecision(answer2, "consume");
  }
  answered(decision) {
    const { serverClock, store } = this.setup;
    serverClock.learn(decision, this.since);
    this.#resolve(markNew(decision, store, this.#key));
  }
  late(decision) {
    const { store } = this.setup;
    holdingOf(this.#policy)?.giveBackLate({ store, policy: this.#policy, key: this.#key, decision });
  }
  failed(error) {
    try {
      this.#resolve(this.setup.decideWithout(this.#policy, this.#key, this.#costs, error));
    } catch (misuse) {
      this.#resolve(Promise.reject(misuse));
    }
  }
};
var PlainCall = class extends Call {
  #buckets;
  #make;
  answered;
  failed;
  constructor(setup, buckets, make, resolve, reject) {
    super(setup);
    this.#buckets = buckets;
    this.#make = make;
    this.answered = resolve;
    this.failed = reject;
  }
  bucketIds() {
    return this.#buckets;
  }
  send() {
    this.follow(Promise.resolve(this.#make()));
  }
};
var BackgroundCall = class extends PlainCall {
  tellBreaker(error) {
    if (this.isProbe) super.tellBreaker(error);
  }
};

// src/guard/circuit-breaker.ts
var ASK_ALWAYS = { failures: 5, probeEveryMs: 1e3, asksAlways: true };
var ALL = "";
var AGAIN = " ";
var MOST_CIRCUITS = 100;
var STEADY = {
  isSteady: true,
  inARow: 0,
  common: [],
  successes: 0,
  circuits: /* @__PURE__ */ new Map(),
  lastProbed: [],
  reported: null
};
var UNTRIED = { ...STEADY, isSteady: false };
var CircuitBreaker = class {
  #settings;
  #onChange;
  #state = UNTRIED;
  constructor(settings, onChange) {
    this.#settings = settings === false ? ASK_ALWAYS : { ...settings, asksAlways: false };
    this.#onChange = onChange;
  }
  /** The error to fail with at once; null when the store is asked. */
  refusal(call) {
    if (this.#state.isSteady || this.#state.circuits.size === 0) return null;
    const effect = this.#run({ type: "asked", buckets: call.bucketIds() });
    if (effect?.type === "refuse") return effect.error;
    call.isProbe = effect !== null;
    return null;
  }
  /** 0 until the store has answered. Counts on when it answers in time after a failure. */
  get successes() {
    return this.#state.successes;
  }
  /** The store answered in time. */
  succeeded(call) {
    if (!this.#state.isSteady) this.#run({ type: "succeeded", buckets: call.bucketIds() });
  }
  /** The store failed with `error`, or did not answer in time. */
  failed(error, call) {
    const { code } = Object(error);
    if (ABOUT_ONE_RECORD.includes(code)) return this.succeeded(call);
    if (code !== ASKED_IN_VAIN) this.#run({ type: "failed", buckets: call.bucketIds(), isProbe: call.isProbe, error });
  }
  #run(event) {
    const { state, effect } = nextBreaker(this.#settings, this.#state, event, monotonicClock());
    this.#state = state;
    if (effect?.type === "report") this.#onChange(effect.state, effect.error);
    return effect;
  }
};
function nextBreaker(settings, state, event, now) {
  if (event.type === "asked") return afterAsking(settings, state, event.buckets, now);
  if (event.type === "succeeded") return afterSuccess(settings, state, event.buckets, now);
  const open = namesOfOpen(state, event.buckets);
  const failing = { ...state, isSteady: false };
  if (open.length === 0) return afterFailure(settings, failing, event.error, event.buckets, now);
  return event.isProbe ? afterProbe(failing, open, event.error, event.buckets) : { state: failing, effect: null };
}
function afterAsking(settings, state, buckets, now) {
  const { asksAlways, probeEveryMs } = settings;
  const open = namesOfOpen(state, buckets);
  const early = open.map((name) => circuitOf(state, name)).find(({ probeAt }) => now < probeAt);
  if (early !== void 0) return { state, effect: asksAlways ? null : { type: "refuse", error: early.error } };
  if (open.length === 0) return { state, effect: null };
  return { state: { ...state, circuits: changeAll(state, open, { probeAt: now + probeEveryMs }) }, effect: { type: "probe" } };
}
function afterSuccess({ probeEveryMs }, state, buckets, now) {
  const { successes, reported: reported2 } = state;
  const answered = [ALL, AGAIN, ...buckets];
  const circuits = new Map(
    [...state.circuits].filter(([name, { probeAt }]) => !answered.includes(name) && now < probeAt + probeEveryMs)
  );
  return {
    state: { ...STEADY, isSteady: circuits.size === 0, successes: successes + 1, circuits },
    effect: reported2 && { type: "report", state: "available", error: reported2.error }
  };
}
function afterFailure({ failures, probeEveryMs }, state, cause, buckets, now) {
  const common = state.inARow === 0 ? buckets : state.common.filter((name) => buckets.includes(name));
  const inARow = state.inARow + 1;
  if (inARow < failures) return { state: { ...state, common, inARow }, effect: null };
  const isOneOfSeveral = [...state.circuits.values()].some(({ successes }) => successes === state.successes);
  const isAll = common.length === 0 || isOneOfSeveral;
  const scope = isAll ? "" : " for one bucket";
  const message = `The store failed ${failures} times in a row${scope} and is not asked for now: see \`cause\``;
  const error = new StoreUnavailableError("ERR_STORE_OPEN", message, { cause });
  const circuit = { error, probeAt: now + probeEveryMs, successes: state.successes };
  const circuits = new Map(state.circuits);
  for (const name of isAll ? [ALL] : common) circuits.set(name, circuit);
  while (circuits.size > MOST_CIRCUITS) circuits.delete(circuits.keys().next().value);
  const next = { ...state, common, inARow: 0, circuits };
  return isAll ? withReport(next, cause) : { state: next, effect: null };
}
function afterProbe(state, open, error, buckets) {
  const isSilent2 = open.some((name) => circuitOf(state, name).successes === state.successes);
  const circuits = changeAll(state, open, { successes: state.successes });
  const all = circuits.get(ALL);
  const isOfAll = all !== void 0 && open.includes(ALL);
  const probeAt = Math.max(all?.probeAt ?? 0, circuits.get(AGAIN)?.probeAt ?? 0);
  const again = isOfAll && { circuits: circuits.set(AGAIN, { ...all, probeAt }), lastProbed: buckets };
  const next = { ...state, circuits, ...again };
  return isSilent2 ? withReport(next, error) : { state: next, effect: null };
}
function withReport(state, error) {
  if (state.reported !== null) return { state, effect: null };
  return { state: { ...state, reported: { error } }, effect: { type: "report", state: "unavailable", error } };
}
function namesOfOpen({ circuits, lastProbed }, buckets) {
  const all = buckets.some((name) => lastProbed.includes(name)) ? AGAIN : ALL;
  return [all, ...buckets].filter((name) => circuits.has(name));
}
function circuitOf({ circuits }, name) {
  return circuits.get(name);
}
function changeAll(state, names, change) {
  const changed = new Map(state.circuits);
  for (const name of names) changed.set(name, { ...circuitOf(state, name), ...change });
  return changed;
}
var ABOUT_ONE_RECORD = ["ERR_STORE_FOREIGN_VALUE", "ERR_STORE_CONTENTION"];
var ASKED_IN_VAIN = "ERR_STORE_APART";

// src/guard/deadlines.ts
function createDeadlines(afterMs2) {
  return sharesWork() ? new SharedDeadlines(afterMs2) : new OwnDeadlines(afterMs2);
}
var SharedDeadlines = class {
  #afterMs;
  #first = null;
  #last = null;
  #armed = false;
  stalledAt = -Infinity;
  constructor(afterMs2) {
    this.#afterMs = afterMs2;
  }
  begin(entry) {
    entry.since = monotonicClock();
    if (this.#afterMs === Infinity) return;
    entry.before = this.#last;
    if (this.#last === null) this.#first = entry;
    else this.#last.after = entry;
    this.#last = entry;
    if (!this.#armed) this.#arm();
  }
  end(entry) {
    if (entry.over) return false;
    entry.over = true;
    if (entry.before === null) this.#first = entry.after;
    else entry.before.after = entry.after;
    if (entry.after === null) this.#last = entry.before;
    else entry.after.before = entry.before;
    entry.before = entry.after = null;
    return true;
  }
  #arm() {
    if (this.#first === null) return;
    this.#armed = true;
    const due = this.#first.since + this.#afterMs;
    startTimer(() => this.#onTimer(due, -Infinity), due - monotonicClock());
  }
  /** Runs when a timer fires that was set to `dueAt`. Entries due by `extendedUntil` have had their extra time. */
  #onTimer(dueAt, extendedUntil) {
    const now = monotonicClock();
    if (!this.#isDue(now)) return this.#rearm();
    const lateMs = now - dueAt >= LATE_MS ? now - dueAt : 0;
    if (lateMs > 0) this.stalledAt = now;
    afterOnePoll(() => {
      this.#expire(lateMs === 0 ? now : extendedUntil);
      if (lateMs === 0 || !this.#isDue(now)) return this.#rearm();
      const extraMs = Math.min(lateMs, this.#afterMs);
      const until = monotonicClock() + extraMs;
      startTimer(() => this.#onTimer(until, now), extraMs);
    });
  }
  #expire(now) {
    while (this.#isDue(now)) {
      const first = this.#first;
      this.end(first);
      first.expire();
    }
  }
  #isDue(now) {
    return this.#first !== null && this.#first.since + this.#afterMs <= now;
  }
  #rearm() {
    this.#armed = false;
    this.#arm();
  }
};
var OwnDeadlines = class {
  #afterMs;
  #timers = /* @__PURE__ */ new WeakMap();
  stalledAt = -Infinity;
  constructor(afterMs2) {
    this.#afterMs = afterMs2;
  }
  begin(entry) {
    entry.since = monotonicClock();
    if (this.#afterMs < Infinity) this.#wait(entry, this.#afterMs, true);
  }
  end(entry) {
    if (entry.over) return false;
    clearTimeout(this.#timers.get(entry));
    return entry.over = true;
  }
  #wait(entry, ms, mayExtend) {
    const due = monotonicClock() + ms;
    const onTimer = () => {
      const now = monotonicClock();
      if (now < due) return this.#wait(entry, due - now, mayExtend);
      const lateMs = now - due;
      if (lateMs >= LATE_MS) this.stalledAt = now;
      startTimer(() => {
        if (mayExtend && lateMs >= LATE_MS && !entry.over) this.#wait(entry, Math.min(lateMs, this.#afterMs), false);
        else if (this.end(entry)) entry.expire();
      }, 0);
    };
    this.#timers.set(entry, startTimer(onTimer, ms));
  }
};
var LONGEST_TIMER_MS = 2 ** 31 - 1;
var LATE_MS = 5;
function startTimer(then, ms) {
  const timer = setTimeout(then, Math.min(Math.max(1, Math.ceil(ms)), LONGEST_TIMER_MS));
  timer.unref?.();
  return timer;
}
function afterOnePoll(then) {
  if (typeof setImmediate === "function") setImmediate(then);
  else setTimeout(then, 0);
}

// src/guard/fallback.ts
var RETRY_AFTER_MS = 1e3;
var Fallback = class {
  #sharedBy;
  #clock;
  #makeLocal;
  #local = null;
  #shares = /* @__PURE__ */ new WeakMap();
  /** The buckets that local decisions took their tokens from. */
  #charges = /* @__PURE__ */ new WeakMap();
  /** `clock` is the clock of local decisions. `makeLocal` runs at the first of them. */
  constructor(sharedBy, clock, makeLocal) {
    this.#sharedBy = sharedBy;
    this.#clock = clock;
    this.#makeLocal = makeLocal;
  }
  /** The decision of a limiter with `onStoreError` for a call that the store failed with `error`. */
  decide(policy, key, costs, error, onStoreError) {
    if (isClockError(error)) throw error;
    if (neverFits(policy, costs)) return this.#without(policy, costs, "cost_above_capacity", Infinity, error);
    if (costs === 0 || onStoreError === "allow") return this.#without(policy, costs, null, 0, error);
    if (onStoreError === "unavailable") return this.#without(policy, costs, "store_unavailable", RETRY_AFTER_MS, error);
    const local = this.#local ??= this.#makeLocal(this.#clock);
    const share = this.#shareOf(policy, costs);
    const decision = local.consume(share, key, costs);
    const degraded = { ...decision, reason: decision.allowed ? null : "store_unavailable", degraded: true, error };
    if (decision.allowed) this.#charges.set(degraded, { store: local, policy: share });
    return degraded;
  }
  /** The bucket that a local decision took its tokens from; null for a decision that took none here. */
  chargeOf(decision) {
    return this.#charges.get(decision) ?? null;
  }
  #without(policy, costs, reason, retryAfterMs, error) {
    const binding = Math.max(0, policy.limits.findIndex(({ capacity: most }, i) => costAt(costs, i) > most));
    const { name: limit, capacity } = policy.limits[binding];
    const cost = costAt(costs, binding);
    const facts = {
      policy: policy.name,
      limit,
      cost,
      capacity,
      remaining: 0,
      retryAfterMs,
      nextTokenMs: 0,
      resetMs: 0,
      limits: null,
      at: readClock(this.#clock),
      degraded: true,
      error
    };
    return { allowed: reason === null, reason, ...facts };
  }
  // A cost above the share gets a policy of its own. Such calls are rare, but their costs can have any value, so these
  // policies are not cached.
  #shareOf(policy, costs) {
    let share = this.#shares.get(policy);
    if (share === void 0) this.#shares.set(policy, share = shareOf(policy, this.#sharedBy, 1));
    return neverFits(share, costs) ? shareOf(policy, this.#sharedBy, costs) : share;
  }
};
var MOST = 9007199254740991n;
function shareOf(policy, sharedBy, costs) {
  const work = datedWorkOf(policy);
  const limits = policy.limits.map((limit, i) => shareOfLimit(limit, sharedBy, costAt(costs, i), work));
  return definePolicy({ name: policy.name, limits });
}
function shareOfLimit(limit, sharedBy, cost, work) {
  const { capacity, unitsPerMs, unitsPerToken } = work?.evenly(limit) ?? limit;
  const share = Math.max(1, Math.floor(capacity / sharedBy), cost);
  if (limit.returns) return { name: limit.name, capacity: share, returns: limit.returns };
  const divisor = greatestCommonDivisor(unitsPerMs, sharedBy);
  const everyMs = BigInt(unitsPerToken) * BigInt(sharedBy / divisor);
  const over = ceilDiv(everyMs, MOST / BigInt(limit.capacity));
  const tokens = Number(BigInt(unitsPerMs / divisor) / over);
  return {
    name: limit.name,
    capacity: share,
    refill: { tokens: Math.max(1, tokens), everyMs: Number(ceilDiv(everyMs, over)) }
  };
}
function ceilDiv(a, b) {
  return (a + b - 1n) / b;
}

// src/guard/options.ts
var GUARD_OPTIONS = ["timeoutMs", "breaker", "sharedBy"];
var MOST_PROCESSES = 1e6;
function guardSettingsOf(options) {
  if (guardChecks) guardChecks.checkGuardSetup(options, GUARD_OPTIONS);
  const { timeoutMs: givenTimeoutMs, breaker = {}, sharedBy: givenSharedBy } = ownMembers(options);
  const sharedBy = givenSharedBy === void 0 ? 2 : givenSharedBy;
  const timeoutMs = givenTimeoutMs === void 0 ? 100 : givenTimeoutMs;
  if (timeoutMs !== Infinity) positiveInteger("timeoutMs", timeoutMs);
  const { failures = 5, probeEveryMs = 1e3 } = ownMembers(breaker === false ? {} : breaker);
  positiveInteger("breaker.failures", failures);
  positiveInteger("breaker.probeEveryMs", probeEveryMs);
  if (positiveInteger("sharedBy", sharedBy) > MOST_PROCESSES) {
    throw new RangeError(expected("sharedBy", `at most ${MOST_PROCESSES}`, sharedBy));
  }
  return {
    timeoutMs,
    givenTimeoutMs,
    sharedBy,
    isDefaultShare: givenSharedBy === void 0,
    breaker: breaker && { failures, probeEveryMs }
  };
}
function guardOptionsOf({ timeoutMs, breaker, sharedBy }) {
  return { timeoutMs, breaker, sharedBy };
}

// src/guard/server-clock.ts
var ServerClock = class {
  #clock;
  #aheadMs = Number.NaN;
  #behindMs = Number.NaN;
  #readAt = -Infinity;
  #seenAt = -Infinity;
  constructor(clock) {
    this.#clock = clock;
  }
  /**
   * Learns the offset of the server's clock from a decision whose call was sent at `sentAt`. Uses the time of sending,
   * so a decision never looks younger than it is, and a refund never gives back too much.
   */
  learn(decision, sentAt) {
    this.#aheadMs = decision.at - sentAt;
    this.#seenAt = decision.at;
    if (sentAt - this.#readAt < 1e3) return;
    this.#readAt = monotonicClock();
    this.#behindMs = decision.at - this.#readAt;
  }
  /** The present instant, or a little earlier; NaN while the server's time is unknown. */
  pastNow() {
    return this.#clock === "server" ? Math.max(monotonicClock() + this.#behindMs, this.#seenAt) : readClock(this.#clock);
  }
  /** The present instant, or a little later; NaN while the server's time is unknown. */
  now() {
    return this.#clock === "server" ? monotonicClock() + this.#aheadMs : readClock(this.#clock);
  }
};

// src/guard/store-warnings.ts
var CAUSE_AFTER_MS = 250;
var DEFAULT_SHARE = ", the default: set it to the number of your processes";
var StoreWarnings = class {
  hints;
  #causeOf;
  #sharedBy;
  #isDefaultShare;
  /** The values of `onStoreError` of the limiters over the store. */
  #choices = /* @__PURE__ */ new Set();
  #name = "The store";
  /** Whether the first outage was told. */
  #isTold = false;
  /** How often the store had answered when a failure was told. Null before. */
  #toldAfter = null;
  constructor({ timeoutMs, sharedBy, isDefaultShare }, causeOf2) {
    this.#causeOf = causeOf2;
    this.#sharedBy = sharedBy;
    this.#isDefaultShare = isDefaultShare;
    this.hints = guardChecks ? guardChecks.createStoreHints(timeoutMs, () => this.#name) : void 0;
  }
  /** Adds a limiter over the store. The first one's policy names the store. */
  add(policy, onStoreError) {
    if (this.#choices.size === 0) this.#name = `The store of policy "${policy}"`;
    this.#choices.add(onStoreError);
  }
  /** A call failed. Speaks at once if the store has never answered: its circuit opens only after several failures. */
  failed(error, successes) {
    if (this.hints?.failed(error)) this.#toldAfter ??= successes;
    else if (successes === 0) this.#tellEarly("has not answered yet", error, successes);
  }
  /** A caller is refused because a call failed, and there is no observer. Speaks if nothing was told. */
  refused(error, successes) {
    this.#tellEarly("failed", error, successes);
  }
  /** The store became unavailable with `error`, and no observer listens. */
  unavailable(error, successes) {
    if (this.#isTold || this.hints?.failed(error)) return;
    this.#isTold = true;
    if (this.#toldAfter !== successes) this.#tell("is unavailable", error, successes);
  }
  #tellEarly(what, error, successes) {
    if (this.#toldAfter === null) this.#tell(what, error, successes);
  }
  #tell(what, error, successes) {
    this.#toldAfter = successes;
    const isUnknown = this.#causeOf(error) === null && sharesWork();
    if (!isUnknown) return this.#say(what, error);
    startTimer(() => {
      withCause(error, this.#causeOf);
      if (!this.hints?.failed(error)) this.#say(what, error);
    }, CAUSE_AFTER_MS);
  }
  #say(what, error) {
    const share = this.#sharedBy === 1 ? "each limit in full" : `1/${this.#sharedBy} of each limit`;
    const meanwhile = {
      local: `this process grants ${share} by itself (\`sharedBy: ${this.#sharedBy}\`${this.#isDefaultShare ? DEFAULT_SHARE : ""})`,
      allow: "every request is allowed",
      unavailable: "every request is refused"
    };
    const choices = [...this.#choices];
    const isOne = choices.length === 1;
    const texts = choices.map((choice) => (isOne ? "" : `with \`onStoreError: "${choice}"\` `) + meanwhile[choice]);
    warn(
      "SLUICE_STORE_UNAVAILABLE",
      `${this.#name} ${what}: ${lineOf(error)}. Until it answers, ${texts.join(", ")}. Pass \`observe\` to be told of each outage.`
    );
  }
};

// src/guard/guard.ts
function guard(options = {}, client = {}) {
  return new StoreGuard(guardSettingsOf(options), ownMembers(client));
}
var MOST_OBSERVERS = 1e3;
var StoreGuard = class {
  #settings;
  #client;
  #warnings;
  #breaker;
  #deadlines;
  /** Each observer, with the store that its first limiter asks: this one, or a wrapper of it. */
  #observers = /* @__PURE__ */ new Map();
  #fallback = null;
  #serverClock = null;
  constructor(settings, client) {
    this.#settings = settings;
    this.#client = client;
    this.#warnings = new StoreWarnings(settings, client.causeOf ?? neverKnown);
    this.#breaker = new CircuitBreaker(settings.breaker, (state, error) => this.#tell(state, error));
    this.#deadlines = createDeadlines(settings.timeoutMs);
  }
  protect(store, limiter) {
    if (guardChecks && store.sync) guardChecks.checkNoTimeout(this.#settings.givenTimeoutMs);
    const calls = this.#setupOf(store, limiter);
    this.#add(store, limiter);
    const { serverClock, timeoutMs, decideWithout } = calls;
    const fallback = this.#fallback;
    const { consume: consume2, call, inBackground } = store.sync ? answeringNow(store, calls) : answeringLater(store, calls);
    return {
      timeoutMs,
      consume: consume2,
      peek: (policy, key, costs) => call([bucketId(policy, key)], store.sync ? () => peekOnce(store, policy, key, costs) : async () => {
        const sentAt = monotonicClock();
        const decision = await peekOnce(store, policy, key, costs);
        serverClock.learn(decision, sentAt);
        return decision;
      }),
      call,
      inBackground,
      decideWithout,
      localChargeOf: (decision) => fallback.chargeOf(decision),
      learnTime: (decision, sentAt) => serverClock.learn(decision, sentAt),
      now: () => serverClock.now(),
      pastNow: () => serverClock.pastNow()
    };
  }
  #setupOf(store, { onStoreError, makeLocal }) {
    const { timeoutMs, sharedBy } = this.#settings;
    const { start = startWithPromise, causeOf: causeOf2 = neverKnown } = this.#client;
    const fallback = this.#fallback ??= new Fallback(
      sharedBy,
      store.clock === "server" ? monotonicClock : store.clock,
      makeLocal
    );
    this.#serverClock ??= new ServerClock(store.clock);
    return {
      timeoutMs,
      breaker: this.#breaker,
      deadlines: this.#deadlines,
      serverClock: this.#serverClock,
      warnings: this.#warnings,
      start,
      causeOf: causeOf2,
      store,
      tellFailure: (error) => this.#warnings.failed(error, this.#breaker.successes),
      decideWithout: (policy, key, costs, error) => {
        const decision = fallback.decide(policy, key, costs, error, onStoreError);
        if (decision.reason === "store_unavailable" && this.#observers.size === 0) {
          this.#warnings.refused(error, this.#breaker.successes);
        }
        return markNew(decision, store, key);
      }
    };
  }
  #add(store, { onStoreError, policy, observer }) {
    this.#warnings.add(policy.name, onStoreError);
    if (observer === null || this.#observers.has(observer) || this.#observers.size >= MOST_OBSERVERS) return;
    this.#observers.set(observer, store);
  }
  #tell(state, error) {
    let isHeard = false;
    for (const [observer, store] of this.#observers) if (observer.storeChanged(store, state, error)) isHeard = true;
    if (state === "unavailable" && !isHeard) this.#warnings.unavailable(error, this.#breaker.successes);
  }
};
var neverKnown = () => void 0;
var startWithPromise = (store, policy, key, costs, call) => call.follow(store.consume(policy, key, costs));
function answeringLater(store, calls) {
  const { recall } = store;
  const by = (Made) => (buckets, make, notAsked) => new Promise((resolve, reject) => {
    const failed = (error) => {
      if (error instanceof StoreUnavailableError && error.code === "ERR_STORE_OPEN") notAsked?.();
      reject(error);
    };
    new Made(calls, buckets, make, resolve, failed).start();
  });
  return {
    consume: (policy, key, costs) => recall?.call(store, policy, key, costs) ?? new Promise((resolve) => new ConsumeCall(calls, policy, key, costs, resolve).start()),
    call: by(PlainCall),
    inBackground: by(BackgroundCall)
  };
}
function answeringNow(store, { breaker, tellFailure, decideWithout }) {
  const call = (buckets, make) => {
    const made2 = { isProbe: false, bucketIds: () => buckets };
    breaker.refusal(made2);
    try {
      const answer2 = make();
      breaker.succeeded(made2);
      return answer2;
    } catch (error) {
      if (store.clock !== "server") readClock(store.clock);
      tellFailure(error);
      breaker.failed(error, made2);
      throw error;
    }
  };
  return {
    call,
    // It answers at once, so it takes no time from others.
    inBackground: (_, make) => make(),
    consume(policy, key, costs) {
      try {
        const make = () => checkDecision(store.consume(policy, key, costs), "consume");
        return markNew(call([bucketId(policy, key)], make), store, key);
      } catch (error) {
        return decideWithout(policy, key, costs, error);
      }
    }
  };
}
function peekOnce(store, ...asked2) {
  const answer2 = store.peek?.(...asked2);
  return store.sync ? checkDecision(answer2, "peek") : Promise.resolve(answer2).then((decision) => checkDecision(decision, "peek"));
}

// src/stores/shared/sha256.ts
var tables;
function sha256(text) {
  tables ??= makeTables();
  const bytes = new TextEncoder().encode(text);
  const length = (Math.floor((bytes.length + 8) / 64) + 1) * 64;
  const message = new Uint8Array(length);
  message.set(bytes);
  message[bytes.length] = 128;
  const view = new DataView(message.buffer);
  view.setUint32(length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(length - 4, bytes.length * 8);
  const hash = tables.start.slice();
  for (let at = 0; at < length; at += 64) addBlock(hash, view, at, tables);
  return Array.from(hash, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}
function addBlock(hash, view, at, { constants, words }) {
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15];
    const y = words[i - 2];
    const s0 = (x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3;
    const s1 = (y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10;
    words[i] = (s0 + words[i - 7] | 0) + (s1 + words[i - 16] | 0);
  }
  let [a, b, c, d] = [hash[0], hash[1], hash[2], hash[3]];
  let [e, f, g, h] = [hash[4], hash[5], hash[6], hash[7]];
  for (let i = 0; i < 64; i++) {
    const s1 = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);
    const t1 = h + s1 + (g ^ e & (f ^ g)) + constants[i] + words[i] | 0;
    const s0 = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10);
    const t2 = s0 + (a & b ^ c & (a ^ b)) | 0;
    h = g;
    g = f;
    f = e;
    e = d + t1 | 0;
    d = c;
    c = b;
    b = a;
    a = t1 + t2 | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => hash[i] = hash[i] + word);
}
function makeTables() {
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  const fraction = (root) => root % 1 * 2 ** 32 | 0;
  return {
    start: Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
    constants: Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime))),
    words: new Int32Array(64)
  };
}

// src/stores/shared/bucket-name.ts
var LONGEST_NAME = 128;
var DIGEST = "\0";
var PLAIN = /^[ -z|~]*$/;
function bucketName(policy, key) {
  return nameOfShort(policy, shortKey(policy, key));
}
function shortKey(policy, key) {
  if (policy.maxCost === void 0) throw notDefined(policy);
  const isShort = policy.name.length + key.length < LONGEST_NAME && key.charCodeAt(0) !== 0;
  return isShort ? key : DIGEST + sha256(clearName(policy, key));
}
function nameOfShort(policy, short) {
  if (PLAIN.test(short)) return `${policy.name} ${short}`;
  if (short.startsWith(DIGEST)) return `#${short.slice(1)}`;
  const name = clearName(policy, short);
  return name.length > LONGEST_NAME || /[{}\0]/.test(short) ? `#${sha256(name)}` : name;
}
function clearName(policy, key) {
  return `${policy.name} ${portableKey(key)}`;
}
function portableKey(encoded) {
  return /[^ -~]/.test(encoded) ? escape(encoded) : encoded;
}
function escape(encoded) {
  return encoded.replace(/[\0\uFFFD\uD800-\uDFFF]/gu, (unit) => `\uFFFD${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// src/stores/shared/charges.ts
var MOST_CHARGES = 128;
function checkCharges(charges) {
  if (!Array.isArray(charges)) throw new TypeError(expected("charges", "a list", charges));
  if (charges.length > MOST_CHARGES) throw new RangeError(expected("charges", `a list of at most ${MOST_CHARGES}`, charges));
  for (const { policy, key, cost } of charges) {
    if (typeof key !== "string" || key === "") throw new TypeError(expected("key", "a non-empty string", key));
    checkCosts(policy, cost);
  }
  checkNamedOnce(charges);
}
function checkCosts(policy, costs) {
  const { limits, maxCost } = policy;
  if (maxCost === void 0) throw notDefined(policy);
  const isList = Array.isArray(costs) && costs.length === limits.length;
  for (const each of isList ? costs : [costs]) wholeNumber("cost", each);
}

// src/stores/redis/batch.ts
var HANDED_ON = /* @__PURE__ */ Symbol("handed on");
var Batcher = class {
  #send;
  #largest;
  #enough;
  #maxInFlight;
  #endOfTick = () => {
    if (this.#waiting.length === 1 && this.#sizeInFlight >= this.#maxInFlight && startImmediate !== void 0) {
      startImmediate(this.#endOfTurn);
    } else this.#endOfTurn();
  };
  #endOfTurn = () => {
    this.#scheduled = false;
    this.#flush();
  };
  #waiting = [];
  #size = 0;
  #inFlight = 0;
  #sizeInFlight = 0;
  #scheduled = false;
  constructor(send, largest, maxInFlight) {
    this.#send = send;
    this.#largest = largest;
    this.#enough = Math.ceil(largest / 4);
    this.#maxInFlight = maxInFlight;
  }
  /** Adds `item`, and calls its `pending` with the result. */
  add(item) {
    if (this.#size + item.size > this.#largest) this.#flush();
    if (this.#waiting.length === 0) this.#waiting = [item];
    else this.#waiting.push(item);
    this.#size += item.size;
    if (this.#size >= (this.#inFlight === 0 ? this.#enough : this.#largest)) this.#flush();
    else if (!this.#scheduled && this.#inFlight < this.#maxInFlight) {
      this.#scheduled = true;
      void endOfTick.then(this.#endOfTick);
    }
  }
  #flush() {
    if (this.#waiting.length === 0) return;
    const [batch, size] = [this.#waiting, this.#size];
    this.#waiting = [];
    this.#size = 0;
    this.#inFlight += 1;
    this.#sizeInFlight += size;
    this.#start(batch).then(
      (results) => this.#settle(batch, size, ({ pending }, i) => {
        const result = results[i];
        if (result === HANDED_ON) return;
        if (result instanceof Error) pending.reject(result);
        else pending.resolve(result);
      }),
      (error) => this.#settle(batch, size, ({ pending }) => pending.reject(error))
    );
  }
  #start(batch) {
    try {
      return this.#send(batch);
    } catch (error) {
      return Promise.reject(error);
    }
  }
  #settle(batch, size, settle) {
    try {
      batch.forEach(settle);
    } finally {
      this.#inFlight -= 1;
      this.#sizeInFlight -= size;
      if (!this.#scheduled) this.#flush();
    }
  }
};
var startImmediate = globalThis.setImmediate;
var endOfTick = Promise.resolve();

// src/stores/redis/client.ts
function isSend(client) {
  const { evalsha, evalSha } = client;
  return typeof client === "function" && typeof evalsha !== "function" && typeof evalSha !== "function";
}
function isCluster(client) {
  const { isCluster: told, slots } = client;
  return told === true || slots !== void 0;
}
function sendsAgain(client) {
  const { options } = client;
  if (isSend(client)) return true;
  if (isNodeRedis(client)) return !isCluster(client) && !takesCommands(client);
  return isCluster(client) || options?.autoResendUnfulfilledCommands !== false;
}
function keyPrefixOf(client) {
  const prefix = client.options?.keyPrefix;
  const text = typeof prefix === "string" || prefix instanceof Uint8Array ? String(prefix) : "";
  if (!text.includes("\uFFFD")) return text;
  throw new TypeError('Expected the client\'s `keyPrefix` to be text, got bytes that are no UTF-8. Write keyPrefix: "app:"');
}
function isElsewhere(error) {
  return /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /.test(messageOf(error));
}
function isTryAgain(error) {
  return TRY_AGAIN.test(messageOf(error));
}
function withoutCommand(error, hidden = []) {
  const { cause, lastNodeError } = Object(error);
  const from = cause ?? lastNodeError;
  return bare(error, hidden, from === void 0 || from === null ? {} : { cause: bare(from, hidden, {}) });
}
function bare(error, hidden, options) {
  const { name, code, stack } = Object(error);
  const message = hidden.reduce((text, each) => text.replaceAll(each, "\u2026"), messageOf(error));
  const copy = new Error(message, options);
  if (typeof name === "string") Object.defineProperty(copy, "name", { value: name });
  const frames = String(stack).split(message).at(-1);
  if (message !== "" && frames?.startsWith("\n")) copy.stack = `${copy}${frames}`;
  return typeof code === "string" ? Object.assign(copy, { code }) : copy;
}
var QUOTED_COMMAND = /, (?:with args beginning with|command was):.*/s;
function scriptRunner(client, script) {
  const send = senderOf(client);
  const isShared = sharesWork();
  const isUnknown = isSend(client);
  let sha;
  let sendsText = isUnknown;
  return (keys, args) => new Promise((resolve, reject) => {
    const done = (reply) => (sendsText = false, resolve(reply));
    const fail = (error) => (sendsText = isUnknown, reject(error));
    const sendText = () => {
      try {
        Promise.resolve(send("eval", script, keys, args)).then(done, fail);
      } catch (thrown) {
        reject(thrown);
      }
    };
    const sendHash = (hash) => {
      if (sendsText) return sendText();
      Promise.resolve(send("evalsha", hash, keys, args)).then(resolve, (error) => {
        if (isUnknownScript(error)) sendText();
        else fail(error);
      });
    };
    if (typeof sha === "string") return sendHash(sha);
    const computed = sha ?? sha1(script);
    if (isShared) sha = computed;
    computed.then((hash) => sendHash(sha = hash)).catch(reject);
  });
}
function senderOf(client) {
  if (isSend(client)) return sendBy(client);
  if (isNodeRedis(client)) {
    if (takesCommands(client)) {
      return (command, script, keys, args) => client.sendCommand([command.toUpperCase(), script, String(keys.length), ...keys, ...args], client._commandOptions);
    }
    return (command, script, keys, args) => client[command === "eval" ? command : "evalSha"](script, { keys, arguments: args });
  }
  if (isUpstash(client)) return (command, script, keys, args) => client[command](script, keys, args);
  return (command, script, keys, args) => client[command](script, keys.length, ...keys, ...args);
}
function sendBy(client) {
  return async (command, script, keys, args) => {
    try {
      return await client([command.toUpperCase(), script, `${keys.length}`, ...keys, ...args], keys[0]);
    } catch (error) {
      throw withoutCommand(error, keys);
    }
  };
}
function takesCommands(client) {
  const { sendCommand, isOpen } = client;
  return typeof sendCommand === "function" && sendCommand.length === 2 && typeof isOpen === "boolean" && !isCluster(client);
}
function isNodeRedis(client) {
  return typeof client.evalSha === "function";
}
function isUpstash(client) {
  return typeof client.scriptLoad === "function" || client.evalsha.length === 3;
}
function isUnknownScript(error) {
  return error?.code === "NOSCRIPT" || UNKNOWN_SCRIPT.test(messageOf(error));
}
var UPSTASH_PREFIX = "Command (?:\\d+ \\[ \\w+ \\] )?failed: ";
var GLIDE_PREFIX = "An error was signalled by the server: - ";
var UNKNOWN_SCRIPT = new RegExp(`^(?:(?:-|${UPSTASH_PREFIX})?NOSCRIPT |${GLIDE_PREFIX}NoScriptError: )`);
var TRY_AGAIN = new RegExp(
  `^(?:(?:-|${UPSTASH_PREFIX})?TRYAGAIN |${GLIDE_PREFIX}TryAgain: |Too many Cluster redirections. Last error: ReplyError: (?:TRYAGAIN|ASK|MOVED) )`
);
function messageOf(error) {
  const message = error?.message;
  return typeof message === "string" ? message.replace(QUOTED_COMMAND, "") : "";
}
async function sha1(text) {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// src/stores/redis/script-lone.ts
var loneScript = (limit) => (
  /* lua */
  `
local call, struct, ARGV, key = redis.call, struct, ARGV, KEYS[1]
local p, q, capacity, name = ${limit === null ? ASKED : constantsOf(limit)}
local time = call('TIME')
local micros = time[2] + 0
local now = time[1] * 1000 + (micros - micros % 1000) / 1000

local spent, expires = 0, 0
local value = redis.pcall('GET', key)
if value then
  -- An error is a table, which has no length.
  if #value ~= 42 + #name or string.byte(value, -1) ~= 0 then return end
  local version, ends, before, at, ownP, ownQ, own = struct.unpack('<Bddddds', value)
  if version ~= 1 or ends % 1 ~= 0 or before <= 0 or before >= 9007199254740944 or before % 1 ~= 0
    or at > now or at % 1 ~= 0 then return end
  if ownP ~= p or ownQ ~= q or own ~= name then return end
  expires, spent = ends, before - p * (now - at)
  if spent < 0 then spent = 0 end
end

local tokens = ARGV[2] or 1
local free = capacity - tokens
local fits = free >= 0 and spent <= free * q
if fits then
  local after = spent + tokens * q
  if after <= (expires - now) * p then
    -- Only these two numbers change. SETRANGE keeps the expiry and costs half as much as a SET.
    call('SETRANGE', key, '9', struct.pack('<dd', after, now))
  else
    expires = now + math.ceil(after / p) + 60000
    call('SET', key, struct.pack('<Bddddds', 1, expires, after, now, p, q, name), 'PXAT', string.format('%.0f', expires))
  end
end

local since = now - ARGV[1]
local short = since >= 0 and since < 1048576 and spent < 4294967296
if short then spent = since * 4294967296 + spent end
if not fits then spent = -1 - spent end
return short and spent or { now, spent }
`
);
var ASKED = "ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0, ARGV[6]";
function constantsOf({ name, capacity, unitsPerMs, unitsPerToken }) {
  return `${unitsPerMs}, ${unitsPerToken}, ${capacity}, '${name}'`;
}

// src/stores/shared/snapshot.ts
function datedOf(parts) {
  const part = parts.find(({ policy }) => policy.dated);
  return part && datedWorkOf(part.policy);
}
function numbersOfRates(parts) {
  if (parts.every(({ from }) => typeof from !== "object" || from.since === void 0)) return void 0;
  return parts.flatMap((part) => part.policy.limits.flatMap((_, i) => rateNumbers(part, i)));
}
function clockFault(parts, now) {
  const fault = datedOf(parts)?.clockFault(parts, now);
  return fault === void 0 ? void 0 : new StoreError("ERR_STORE_CLOCK", fault);
}
var Snapshot = class {
  now;
  buckets;
  /** The server's verdict on this part alone. */
  fits;
  /** Milliseconds that a block had left at `now`, 0 without one. While it lasts, nothing fits. */
  blockMs;
  constructor(now, buckets, fits, blockMs = 0) {
    this.now = now;
    this.buckets = buckets;
    this.fits = fits;
    this.blockMs = blockMs;
  }
  /** The decision on a part that the server charged if it fits. */
  consume(policy, costs) {
    return this.#checked(consumeBlocked(this.buckets, policy, costs, this.now, this.blockMs));
  }
  /** The decision on a part that the server did not charge. */
  peek(policy, costs) {
    return this.#checked(this.#peekAt(policy, costs, 0));
  }
  /** The refusal that still holds `ageMs` later if nothing changes. Null when the cost fits then. */
  refusalAfter(ageMs, policy, costs) {
    const decision = this.#peekAt(policy, costs, ageMs);
    return decision.allowed ? null : decision;
  }
  #peekAt(policy, costs, ageMs) {
    return peekBlocked(this.buckets, policy, costs, this.now + ageMs, this.blockMs - ageMs);
  }
  #checked(decision) {
    if (decision.allowed !== this.fits) {
      throw new StoreError(
        "ERR_STORE_REPLY",
        "Expected the server and the core to decide alike, got different decisions. Check that no proxy or client option changes replies."
      );
    }
    return decision;
  }
};

// src/stores/redis/protocol.ts
var RedisPart = class {
  prefix;
  policy;
  /** The result of `shortKey` for the caller's key. */
  key;
  tokens;
  from;
  moved;
  to;
  constructor(prefix, policy, key, tokens, dates) {
    this.prefix = prefix;
    this.policy = policy;
    this.key = key;
    this.tokens = tokens;
    this.from = dates?.from;
    this.moved = dates?.moved;
    this.to = dates?.to;
  }
  get name() {
    return this.prefix + nameOfShort(this.policy, this.key);
  }
};
function writeRequests(requests, now, mark2) {
  const keys = [];
  const args = [now, ""];
  const indexes = /* @__PURE__ */ new Map();
  const runs = [];
  for (let i = 0; i < requests.length; ) {
    const first = requests[i];
    const start = i;
    do {
      for (const { name } of requests[i].parts) keys.push(name);
      i++;
    } while (i < requests.length && differInKeyOnly(first, requests[i]));
    runs.push(first.once ? "A" : first.what, String(i - start), String(first.parts.length));
    for (const part of first.parts) {
      const { policy } = part;
      let index = indexes.get(policy);
      if (index === void 0) {
        index = String(args.length + 1);
        indexes.set(policy, index);
        args.push(String(policy.limits.length));
        for (const { name, capacity, unitsPerMs, unitsPerToken } of policy.limits) {
          args.push(name, String(capacity), String(unitsPerMs), String(unitsPerToken));
        }
      }
      runs.push(index, String(datedWorkOf(policy)?.tokensOf(first.what, part, now) ?? withNumbers(part)));
    }
  }
  args[1] = String(args.length + 1);
  args.push(...runs);
  if (mark2 !== void 0) {
    args[1] += ` ${mark2.at} ${mark2.isDeclared ? "" : mark2.key}`;
    if (mark2.isDeclared) keys.push(mark2.key);
  }
  return { keys, args };
}
function withNumbers(part) {
  const numbers = numbersOfRates([part]);
  return numbers === void 0 ? part.tokens : [...part.policy.limits.map((_, i) => costAt(part.tokens, i)), ...numbers];
}
function differInKeyOnly(a, b) {
  if (a.what !== b.what || a.once !== b.once || a.parts.length !== b.parts.length) return false;
  for (let i = 0; i < a.parts.length; i++) {
    const [one, other] = [a.parts[i], b.parts[i]];
    if (one.policy !== other.policy || !sameOrigin(one.from, other.from) || one.to !== other.to) return false;
    if (!sameCosts(one.tokens, other.tokens) || !sameCosts(one.moved ?? 0, other.moved ?? 0)) return false;
  }
  return true;
}
function sameOrigin(a, b) {
  if (typeof a !== "object" || typeof b !== "object") return a === b;
  return a.at === b.at && a.heldAt === b.heldAt && sameCosts(a.since ?? Infinity, b.since ?? Infinity);
}
function readReply(reply, requests) {
  const entries = Array.isArray(reply) ? reply : [];
  const now = wholeOf(entries[0]);
  const results = [];
  let next = 1;
  for (const request of requests) {
    const { limits } = request.parts[0].policy;
    const entry = entries[next];
    const isPlain2 = request.parts.length === 1 && limits.length === 1 && typeof entry === "number";
    results.push(isPlain2 ? [snapshotOf(now, wholeOf(entry), limits[0])] : readParts(request, now, entries, next));
    for (const { policy } of request.parts) next += policy.limits.length;
  }
  checkLength(entries, next);
  return results;
}
function readParts({ what, parts }, now, entries, from) {
  let next = from;
  let foreign = null;
  const snapshots = parts.map((part) => {
    let fits = true;
    let blockMs = 0;
    const buckets = part.policy.limits.map(({ unitsPerMs, unitsPerToken }) => {
      const entry = entries[next++];
      if (entry === null) foreign = part.name;
      const isList = Array.isArray(entry);
      const number = entry === null ? -1 : wholeOf(isList ? entry[0] : entry);
      if (isList && entry.length > 2) blockMs = wholeOf(entry[2]);
      fits = number >= 0;
      const at = isList ? now + wholeOf(entry[1]) : now;
      const record = { spent: fits ? number : -1 - number, at, unitsPerMs, unitsPerToken };
      return isList && entry.length > 3 ? { ...record, dates: entry.slice(3).map(wholeOf) } : record;
    });
    return new Snapshot(now, buckets, fits, blockMs);
  });
  if (foreign === null || what === "d") return snapshots;
  return clockFault(parts, now) ?? foreignValue(foreign);
}
function snapshotOf(at, number, { unitsPerMs, unitsPerToken }) {
  const fits = number >= 0;
  return new Snapshot(at, [{ spent: fits ? number : -1 - number, at, unitsPerMs, unitsPerToken }], fits);
}
function foreignValue(name) {
  return new StoreError(
    "ERR_STORE_FOREIGN_VALUE",
    `Expected ${JSON.stringify(name)} to hold a bucket, got another program's value. Give the store another \`prefix\`.`
  );
}
function checkLength({ length }, wanted) {
  if (length !== wanted) {
    throw new StoreError("ERR_STORE_REPLY", `Expected ${wanted} entries in the reply, got ${length}. ${CHECK_CLIENT}`);
  }
}
function wholeOf(entry) {
  const number = typeof entry === "string" ? Number(entry) : entry;
  if (!Number.isInteger(number)) {
    throw new StoreError("ERR_STORE_REPLY", `Expected a whole number in the reply, got ${typeof entry}. ${CHECK_CLIENT}`);
  }
  return number;
}
var CHECK_CLIENT = "Check that no proxy or client option changes replies.";

// src/stores/redis/lone.ts
var UNITS = 2 ** 32;
var SLACK_MS = 6e4;
var MOST_SCRIPTS = 16;
var LoneCalls = class {
  #runnerOf;
  /** A script for each of the first limits. The last is for all others. */
  #runners = /* @__PURE__ */ new Map();
  /** The same for the nodes of a cluster, as far as they were needed. */
  #runnersAt = /* @__PURE__ */ new WeakMap();
  #known = /* @__PURE__ */ new WeakMap();
  #since = 0;
  /** `runnerOf` makes the function that runs a script, with the store's client or with that of one node. */
  constructor(runnerOf) {
    this.#runnerOf = runnerOf;
  }
  /** Returns null for a request that the other script decides. With `way`, the call goes straight to a node. */
  write({ what, parts }, way) {
    if (what !== "c" || parts.length > 1) return null;
    const { policy, tokens, name: key } = parts[0];
    if (policy.limits.length > 1 || policy.dated !== void 0 || typeof tokens !== "number" || tokens === 0) return null;
    const { run: run2, script, asked: asked2 } = this.#known.get(policy.limits[0]) ?? this.#learn(policy.limits[0]);
    const args = [String(this.#since)];
    if (tokens !== 1 || asked2.length > 0) args.push(String(tokens), ...asked2);
    if (way === void 0) return { keys: [key], args, since: this.#since, run: run2 };
    return { keys: [way.prefix + key], args, since: this.#since, run: this.#runAt(way.node, script) };
  }
  #runAt(node, script) {
    let runners = this.#runnersAt.get(node);
    if (runners === void 0) this.#runnersAt.set(node, runners = /* @__PURE__ */ new Map());
    let run2 = runners.get(script);
    if (run2 === void 0) runners.set(script, run2 = this.#runnerOf(script, node));
    return run2;
  }
  #learn(limit) {
    const { name, capacity, unitsPerMs, unitsPerToken } = limit;
    const own = loneScript(limit);
    const isOwn = this.#runners.has(own) || this.#runners.size < MOST_SCRIPTS;
    const script = isOwn ? own : loneScript(null);
    const run2 = this.#runners.get(script) ?? this.#runnerOf(script);
    this.#runners.set(script, run2);
    const known = { run: run2, script, asked: isOwn ? [] : [unitsPerMs, unitsPerToken, capacity, name].map(String) };
    this.#known.set(limit, known);
    return known;
  }
  /** Returns the snapshot in a reply. Throws a StoreError with `"ERR_STORE_REPLY"` for any other reply. */
  read(reply, { since }, { parts: [part] }) {
    const limit = part.policy.limits[0];
    if (Array.isArray(reply)) {
      checkLength(reply, 2);
      const at = wholeOf(reply[0]);
      this.#since = at - SLACK_MS;
      return snapshotOf(at, wholeOf(reply[1]), limit);
    }
    const number = wholeOf(reply);
    const [ms, spent] = number < 0 ? halvesOf(-1 - number) : halvesOf(number);
    return snapshotOf(since + ms, number < 0 ? -1 - spent : spent, limit);
  }
};
function halvesOf(answer2) {
  return [Math.floor(answer2 / UNITS), answer2 % UNITS];
}

// src/stores/redis/slot.ts
var SLOTS = 16384;
function slotOf(key) {
  return crcOf(tagOf(key) ?? key) % SLOTS;
}
function crcOf(hashed) {
  let crc = 0;
  if (/^[\0-\x7F]*$/.test(hashed)) for (let i = 0; i < hashed.length; i++) crc = addByte(crc, hashed.charCodeAt(i));
  else for (const byte of new TextEncoder().encode(hashed)) crc = addByte(crc, byte);
  return crc;
}
function addByte(crc, byte) {
  const high = crc >>> 8 ^ byte;
  const x = high ^ high >>> 4;
  return (crc << 8 ^ x << 12 ^ x << 5 ^ x) & 65535;
}
function hasHashTag(prefix) {
  return tagOf(prefix) !== null;
}
function tagOf(key) {
  const open = key.indexOf("{");
  const close = open < 0 ? -1 : key.indexOf("}", open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : null;
}
var PLACES = 4;
var NO_ENDING = "@@@@";
function besideKey(key, ending) {
  if (tagOf(key) !== null) return key + ending;
  let difference = slotOf(key) ^ slotOf(key + ending + NO_ENDING);
  let bits = 0;
  for (const step of steps ??= stepsOf(changesOf())) {
    if ((difference & step.top) === 0) continue;
    difference ^= step.added;
    bits ^= step.bits;
  }
  const codes = Array.from({ length: PLACES }, (_, place) => 64 + (bits >>> 5 * place & 31));
  return key + ending + String.fromCharCode(...codes);
}
var steps;
function changesOf() {
  return Array.from({ length: 5 * PLACES }, (_, i) => {
    const place = Math.floor(i / 5);
    const changed = "@".repeat(place) + String.fromCharCode(64 + (1 << i % 5)) + "@".repeat(PLACES - 1 - place);
    return { bits: 1 << i, added: slotOf(changed) ^ slotOf(NO_ENDING) };
  });
}
function stepsOf(changes) {
  const found = [];
  let rest = changes;
  for (let top = SLOTS / 2; top >= 1; top /= 2) {
    const pivot = rest.find(({ added }) => (added & top) !== 0);
    if (pivot === void 0) continue;
    found.push({ top, ...pivot });
    rest = rest.map((each) => (each.added & top) === 0 ? each : { bits: each.bits ^ pivot.bits, added: each.added ^ pivot.added });
  }
  return found;
}

// src/stores/redis/mark.ts
var LATEST_MS = 6e4;
var MARK_MS = LATEST_MS + 1e4;
var CallMarks = class {
  #keyPrefix;
  #inSlots;
  #aheadMs = Number.NaN;
  /** `keyPrefix` is the text that the client puts before every key. `inSlots` is true for a cluster. */
  constructor(keyPrefix, inSlots) {
    this.#keyPrefix = keyPrefix;
    this.#inSlots = inSlots;
  }
  /** Whether the server's time is known. */
  get areReady() {
    return !Number.isNaN(this.#aheadMs);
  }
  /**
   * Learns the server's time from a reply that has just arrived. It is never ahead of the server: otherwise a mark
   * could be over while its call is not yet too old.
   */
  learn(now) {
    this.#aheadMs = now - monotonicClock();
  }
  /** The mark of a call. Undefined if each of its requests may be made again. */
  markOf(requests) {
    const name = requests.find(({ once }) => once)?.parts[0]?.name;
    if (name === void 0) return void 0;
    const at = Math.floor(monotonicClock() + this.#aheadMs);
    const ending = `~${crypto.randomUUID()}`;
    if (!this.#inSlots) return { key: name + ending, isDeclared: true, at };
    return { key: besideKey(this.#keyPrefix + name, ending), isDeclared: false, at };
  }
};
function isTooLate({ at }, now) {
  return now - at > LATEST_MS;
}
function tooLate() {
  return new StoreUnavailableError(
    "ERR_STORE_TIMEOUT",
    `Expected Redis to get the call within ${LATEST_MS} ms, got it later. It changed nothing: it may have been made before.`
  );
}

// src/stores/redis/script-records.ts
var recordsOfKey = () => (
  /* lua */
  `
local pcall, BLOCK = pcall, '!'

-- a * b / c, rounded up and exact. It is a long multiplication in doubles, where no number exceeds 2^53. Saturates at
-- 2^53 - 1.
local function convert(a, b, c)
  local whole, rest = floor(a / c), a % c
  local quotient, remainder = 0, 0
  local power = 4503599627370496
  while power >= 1 do
    quotient = quotient * 2
    if remainder >= c - remainder then
      quotient = quotient + 1
      remainder = remainder - (c - remainder)
    else
      remainder = remainder * 2
    end
    if b >= power then
      b = b - power
      quotient = quotient + whole
      if remainder >= c - rest then
        quotient = quotient + 1
        remainder = remainder - (c - rest)
      else
        remainder = remainder + rest
      end
    end
    if quotient > MOST then return MOST end
    power = power / 2
  end
  if remainder > 0 then quotient = quotient + 1 end
  return min(quotient, MOST)
end

local function isUnits(number)
  return number > 0 and number <= MOST and number % 1 == 0
end

-- Adds tokens to a date in a list of date, tokens, date, tokens and so on, the earliest first. A number below 0 takes
-- tokens, at most those that are there. Returns how many it took.
local function addTo(dates, date, tokens)
  local place = 1
  while dates[place] and dates[place] < date do place = place + 2 end
  if dates[place] ~= date then
    table.insert(dates, place, 0)
    table.insert(dates, place, date)
  end
  local left = dates[place + 1] + tokens
  dates[place + 1] = left
  if left <= 0 then
    table.remove(dates, place)
    table.remove(dates, place)
  end
  return min(left, 0) - tokens
end

-- Adds an amount at the end of a window's list of last date, tokens, first date, last date and so on.
local function addAmount(list, last, units, first)
  local n = #list
  if list[n - 2] == last then
    list[n - 1] = list[n - 1] + units
  else
    list[n + 1], list[n + 2], list[n + 3] = last, units, first
  end
end

local function removeAmount(list, i)
  for _ = 1, 3 do table.remove(list, i) end
end

-- Takes tokens of a window. Of more than 18 amounts, the two neighbors become one that are shortest together.
local function takeFrom(list, date, tokens)
  addAmount(list, date, tokens, date)
  if #list <= 54 then return end
  local least, j = MOST, 1
  for i = 1, #list - 3, 3 do
    local span = list[i + 3] - list[i + 2]
    if span < least then least, j = span, i end
  end
  list[j], list[j + 1] = list[j + 3], list[j + 1] + list[j + 4]
  removeAmount(list, j + 3)
end

-- Gives tokens of a window back: to the amount whose dates enclose the given one, or without one to the last amounts.
local function giveBackTo(list, limit, tokens)
  local i = #list - 2
  if not limit.isCredit then
    i = 1
    while list[i] and list[i] < limit.from do i = i + 3 end
    if limit.from < now or not list[i] or list[i + 2] > limit.from then return end
  end
  while tokens > 0 and i > 0 do
    local left = list[i + 1] - tokens
    list[i + 1] = left
    if left <= 0 then removeAmount(list, i) end
    tokens, i = limit.isCredit and -left or 0, i - 3
  end
end

-- Returns the present value of the key, with the limits as they stand in it. Eight members fill a table of Lua.
local function read(limits, key)
  local part = {
    limits = limits,
    ours = true, expires = 0,              -- whether the value is ours or none; when it expires, or 0
    others = '', othersMs = 0,             -- records of other limits, as they are; ms until they are full
    block = '', blockMs = 0,               -- the record of a block, as it is; what it has left
    blockEndMs = 0,                        -- ms until it is over: later, if its record is too far ahead
  }
  for j = 1, #limits do
    local limit = limits[j]
    -- Units spent now, in its own units; ms that the record is ahead of the clock.
    limit.spent, limit.lag = 0, 0
    -- Whether the record is in other numbers or too far ahead.
    if limit.isStale then limit.isStale = false end
    if limit.dates then limit.dates = {} end
    -- The clock of the caller's process is wrong by more than a period: nothing is written.
    if limit.date == false then part.ours = false end
  end
  local value = get('GET', key)
  if not value or not part.ours then return part end

  -- Called with pcall: a value of another type, or a truncated value, must not fail other decisions.
  local ok, version, expires, place = pcall(unpack, HEAD, value)
  if not ok or version ~= VERSION or expires % 1 ~= 0 then part.ours = false return part end
  part.expires = expires
  while place <= #value do
    local ok, spent, at, p, q, name, after = pcall(unpack, RECORD, value, place)
    -- NaN and infinity are not whole either.
    if not ok or not (isUnits(spent) and isUnits(p) and isUnits(q) and at % 1 == 0) then part.ours = false return part end
    local limit, lag = nil, at - now
    for j = 1, #limits do
      if limits[j].name == name then limit = limits[j] end
    end
    if limit and limit.ms then
      if lag > limit.ms then limit.isStale, part.isStale = true, true end
      if lag >= 0 then
        local latest = now + limit.ms
        limit.spent = limit.spent + spent
        addAmount(limit.dates, min(at, latest), spent, min(at - q + 1, latest))
      end
    elseif limit then
      local isStale = p ~= limit.p or q ~= limit.q or lag > limit.fullMs
      if isStale then limit.isStale, part.isStale = true, true end
      if lag < 0 then spent = spent + p * lag end
      -- A record further ahead than one whole refill is dated to now and keeps its spent units. So is a record of a
      -- quota that a rate takes over.
      if lag < 0 or lag > limit.fullMs or p == MOST and limit.p < p then lag = 0 end
      if spent > 0 then
        if q ~= limit.q then spent = convert(spent, limit.q, q) end
        if isStale and limit.date then lag = limit.date - now end
        limit.spent = limit.spent + spent
        if limit.dates then addTo(limit.dates, now + lag, spent) else limit.lag = lag end
      end
    elseif name == BLOCK then
      if spent + lag > 0 then
        part.block, part.blockEndMs = sub(value, place, after - 1), spent + lag
        part.blockMs = lag > spent and spent or spent + lag
      end
    else
      local left = lag + ceil(spent / p)
      if left > 0 then part.others = part.others .. sub(value, place, after - 1) end
      if left > part.othersMs then part.othersMs = left end
    end
    place = after
  end
  return part
end

-- Writes the part back. With isTaken, its tokens are taken; those below 0 are given back. Full limits are deleted.
local function write(part, key, isTaken)
  local limits, first, last, fullMs = part.limits, part.others, part.block, max(part.othersMs, part.blockEndMs)
  for j = #limits, 1, -1 do
    local limit = limits[j]
    local p, q, change, lag, dates = limit.p, limit.q, isTaken and limit.tokens or 0, limit.lag, limit.dates
    if limit.ms then
      if change > 0 then takeFrom(dates, now + limit.ms, change) else giveBackTo(dates, limit, -change) end
      for i = #dates - 2, 1, -3 do
        local at = dates[i]
        first = pack(RECORD, dates[i + 1], at, p, at - dates[i + 2] + 1, limit.name) .. first
        fullMs = max(fullMs, at - now + 1)
      end
      dates = {}
    elseif dates then
      addTo(dates, change > 0 and limit.date or limit.from, change)
      -- Takes first: where both are one date, the sum would pass 2^53.
      if limit.to >= now then addTo(dates, limit.to, addTo(dates, limit.from, -limit.moved)) end
    else
      if change > 0 then
        if limit.date then lag = max(lag, limit.date - now) end
      -- Tokens of a quota go back to a record of exactly their date. A stale record has none.
      elseif limit.date and limit.from ~= 0 and (limit.isStale or limit.from ~= now + lag) then
        change = 0
      end
      change = change * q
      -- What has refilled since that instant is not given back again.
      if change < 0 and limit.since and limit.since < now then change = min(0, change + p * (now - limit.since)) end
      dates = { now + lag, limit.spent + change }
    end
    for i = #dates - 1, 1, -2 do
      local at, spent = dates[i], dates[i + 1]
      if spent > 0 then
        local record = pack(RECORD, spent, at, p, q, limit.name)
        -- Limits in flight stand behind all others.
        if limit.moved then last = record .. last else first = record .. first end
        fullMs = max(fullMs, at - now + ceil(spent / p))
      end
    end
  end
  if fullMs == 0 then
    call('DEL', key)
  elseif serverClock and now + fullMs <= part.expires and part.expires <= now + fullMs + 60000 then
    call('SET', key, pack(HEAD, VERSION, part.expires) .. first .. last, 'KEEPTTL')
  else
    local ms = fullMs + 60000
    local value = pack(HEAD, VERSION, now + ms) .. first .. last
    if serverClock then
      call('SET', key, value, 'PXAT', format('%.0f', now + ms))
    else
      -- With a clock other than the server's, the key is kept an hour longer than that clock requires.
      call('SET', key, value, 'PX', format('%.0f', ms + 3600000))
    end
  end
end
`
);

// src/stores/redis/script-long.ts
var longWay = () => (
  /* lua */
  `
${recordsOfKey()}

local function blockFor(part, ms)
  -- A record of 0 ms would count as another program's value.
  part.block, part.blockEndMs = ms > 0 and pack(RECORD, ms, now, 1, 1, BLOCK) or '', ms
end

-- A number in a form that every client can read.
local function plain(number)
  if number > PLAIN or number < -PLAIN then return format('%.0f', number) end
  return number
end

-- Adds the units that the part has spent to the reply. Returns whether it fits, or whether an adjustment can be done.
local function judge(part, length, what)
  local limits, blockMs = part.limits, part.blockMs
  local fits = part.ours and (what == 'a' or blockMs == 0)
  for j = 1, #limits do
    local limit = limits[j]
    local tokens, spent, q = limit.tokens, limit.spent, limit.q
    if what == 'a' then
      -- What was done before is told as done.
      if spent + tokens * q > MOST and not isRepeated then fits = false end
    elseif tokens > 0 and spent > (limit.capacity - tokens) * q then
      fits = false
    end
  end
  for j = 1, #limits do
    local limit = limits[j]
    local spent, lag, dates = limit.spent, limit.lag, limit.dates
    spent = plain(fits and spent or -1 - spent)
    if blockMs > 0 or dates and #dates > 0 then
      spent = { spent, plain(lag), plain(blockMs) }
      for i = 1, dates and #dates or 0 do spent[3 + i] = plain(dates[i]) end
    elseif lag > 0 then
      spent = { spent, plain(lag) }
    end
    reply[length + j] = part.ours and spent
  end
  return fits
end

-- The parts of a run, with the limits that are the same for all of its requests.
local parts, partsOf = {}, nil
local function readRun(run)
  parts, partsOf = {}, run
  for i = 1, tonumber(ARGV[run + 2]) do
    local limits, place, numbers = {}, tonumber(ARGV[run + 1 + 2 * i]), {}
    for each in string.gmatch(ARGV[run + 2 + 2 * i], '[^,]+') do table.insert(numbers, tonumber(each)) end
    local count = tonumber(ARGV[place])
    for j = 1, count do
      local at, first = place + 4 * j - 3, count + 6 * j - 5
      local name, capacity, p, q = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
      -- A single number is for all limits.
      local limit = { name = name, capacity = capacity, p = p, q = q, tokens = numbers[j] or numbers[1] }
      local from, fullMs, step = numbers[first], numbers[first + 1] or 0, numbers[first + 2]
      if step == MOST then
        limit.from, limit.ms, limit.name, limit.dates = from, fullMs, '^' .. name, {}
        limit.isCredit = numbers[first + 3] == 0
      elseif fullMs == 0 then
        limit.fullMs = ceil(capacity * q / p)
        if step == 1 then limit.since = from end
      elseif fullMs > 0 then
        -- A quota: tokens that are taken now have the date of this period.
        limit.from, limit.fullMs, limit.date = from, fullMs, false
        for k = first + 5, first + 3, -1 do
          if step <= now and now <= numbers[k] then limit.date = numbers[k] end
        end
      else
        limit.from, limit.fullMs, limit.name = from, -fullMs, '~' .. name
        limit.date = ceil((now + numbers[first + 5]) / step) * step - 1
        limit.to, limit.moved, limit.dates = numbers[first + 3], numbers[first + 4], {}
      end
      limits[j] = limit
    end
    parts[i] = { limits = limits }
  end
end

long = function(run, done, length)
  if partsOf ~= run then readRun(run) end
  local what, allFit = ARGV[run], true
  local isOnce = what == 'A'
  if isOnce then
    what = 'a'
    -- A mark whose slot is moving to another node is not set: the change is made.
    if isRepeated == nil then
      isRepeated = serverClock and now - sentAt > ${LATEST_MS}
        or not get('SET', mark, '', 'NX', 'PX', serverClock and ${MARK_MS} or 3600000)
    end
  end
  for i = 1, #parts do
    local part = read(parts[i].limits, KEYS[done + i])
    parts[i] = part
    allFit = judge(part, length, what) and allFit
    length = length + #part.limits
  end
  for i = 1, #parts do
    local part, key = parts[i], KEYS[done + i]
    if what == 'd' then
      call('DEL', key)
    elseif not part.ours or what == 'p' then
      -- A block that is not longer than the present one writes nothing.
    elseif what == 'x' then
      -- The limits stay as they are.
      local blocked = read({}, key)
      local ms = part.limits[1].tokens
      blockFor(blocked, ms > 0 and max(part.blockMs, ms) or 0)
      write(blocked, key)
    elseif allFit then
      if not (isOnce and isRepeated) then write(part, key, true) end
    elseif what == 'c' and (part.isStale or part.blockEndMs > 2 * part.blockMs) then
      -- A refusal changes no tokens. It only converts records in old numbers, and records too far ahead of the clock,
      -- once.
      local stale = {}
      for j = 1, #part.limits do
        if part.limits[j].isStale then table.insert(stale, part.limits[j]) end
      end
      local settled = read(stale, key)
      if part.blockEndMs > 2 * part.blockMs then blockFor(settled, part.blockMs) end
      write(settled, key)
    end
  end
  return length
end
`
);

// src/stores/redis/script-window.ts
var windowWay = () => (
  /* lua */
  `
inWindow = function(key, name, ms, tokens, capacity)
  local value, date = get('GET', key), now + ms
  name = '^' .. name
  local size, count, sum, expires = 33 + #name, 0, 0, 0
  -- The place and the date of the first amount that is not over. What the last one has, when it ends and when it
  -- begins.
  local from, begins, units, ends, first = 1, 0, 0, nil, 0
  -- The two neighbors that are shortest together: the place of the second, and what they have together.
  local least, place, both, last, start = MOST, 0, 0, 0, 0
  if value then
    -- An error is a table, which has no length.
    local ending = pack('s', name)
    if (#value - 9) % size ~= 0 or sub(value, 42, 9 + size) ~= ending or sub(value, -#ending) ~= ending then return end
    local version
    version, expires = unpack(HEAD, value)
    if version ~= VERSION or expires % 1 ~= 0 then return end
    for i = 10, #value, size do
      local spent, at, _, q = unpack('<dddd', value, i)
      -- Another number than this script writes, or a date too far ahead: the long way reads it.
      if not (spent > 0 and at <= date and q > 0) then return end
      if at >= now then
        if count == 0 then
          from, begins = i, at
        elseif at - first < least then
          least, place, both, last, start = at - first, i, units + spent, at, first
        end
        units, ends, first, count, sum = spent, at, at - q + 1, count + 1, sum + spent
      end
    end
    if count == 0 then from = #value + 1 end
    if count > 18 or sum % 1 ~= 0 or first % 1 ~= 0 or sum >= PLAIN then return end
  end
  if sum + tokens > capacity then return end
  local kept, added = value and sub(value, from) or '', nil
  if ends == date or count == 18 and date - first < least then
    kept, added = sub(value, from, -size - 1), pack(RECORD, units + tokens, date, MOST, date - first + 1, name)
  else
    added = pack(RECORD, tokens, date, MOST, 1, name)
    if count == 18 then
      if place - size == from then begins = last end
      kept = sub(value, from, place - size - 1) .. pack(RECORD, both, last, MOST, last - start + 1, name) .. sub(value, place + size)
    end
  end
  if date < expires then
    call('SET', key, sub(value, 1, 9) .. kept .. added, 'KEEPTTL')
  else
    expires = date + 60001
    call('SET', key, pack(HEAD, VERSION, expires) .. kept .. added, 'PXAT', format('%.0f', expires))
  end
  return sum > 0 and { sum, begins - now } or 0
end
`
);

// src/stores/redis/script.ts
var fullScript = () => (
  /* lua */
  `
local KEYS, ARGV = KEYS, ARGV
local call, get, tonumber = redis.call, redis.pcall, tonumber
local pack, unpack, sub, format = struct.pack, struct.unpack, string.sub, string.format
local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min

local now = tonumber(ARGV[1])
local serverClock = not now
if serverClock then
  local time = call('TIME')
  now = time[1] * 1000 + floor(time[2] / 1000)
end

local VERSION, HEAD, RECORD, MOST, PLAIN = 1, '<Bd', '<dddds', 9007199254740991, 9007199254740944
-- The reply returns a given time unchanged.
local reply, length, done = { serverClock and now or ARGV[1] }, 1, 0
local long, inWindow = nil, nil

local run, last = tonumber(ARGV[2]), #ARGV
-- The instant and the mark of a call that must be made once. Whether it was made before, or is too old to know.
local sentAt, mark, isRepeated
if not run then
  local first, at, name = string.match(ARGV[2], '^(%d+) (%S+) (.*)$')
  run, sentAt, mark = tonumber(first), tonumber(at), name ~= '' and name or KEYS[#KEYS]
end
while run < last do
  local what, requests, size = ARGV[run], tonumber(ARGV[run + 1]), tonumber(ARGV[run + 2])
  local place, tokens = tonumber(ARGV[run + 3]), tonumber(ARGV[run + 4])
  local short = what == 'c' and size == 1 and ARGV[place] == '1' and tokens and tokens > 0
  local ending, whole, most, p, units, ms
  if what == 'c' and size == 1 and ARGV[place] == '1' and not tokens and serverClock then
    tokens, ms = string.match(ARGV[run + 4], '^(%d+),0,(%d+),9007199254740991,')
    tokens, ms = tonumber(tokens), tonumber(ms)
    if ms and not inWindow then
      ${windowWay()}
    end
  end
  if short then
    local capacity, q = tonumber(ARGV[place + 2]), tonumber(ARGV[place + 4])
    p, units = tonumber(ARGV[place + 3]), tokens * q
    -- The end of a value with this limit's record only, and the most units that may be spent for the tokens to fit.
    ending = pack('<dds', p, q, ARGV[place + 1])
    whole = 25 + #ending
    most = tokens <= capacity and capacity * q - units or -1
  end

  for _ = 1, requests do
    local answer = nil
    if short then
      local key = KEYS[done + 1]
      local value = get('GET', key)
      local spent, expires = nil, 0
      if not value then
        spent = 0
      -- An error is a table, which has no length.
      elseif #value == whole and sub(value, 26) == ending then
        local version, ends, before, at = unpack('<Bddd', value)
        if version == VERSION and ends % 1 == 0 and before > 0 and before < PLAIN and before % 1 == 0
          and at <= now and at % 1 == 0 then
          expires, spent = ends, before - p * (now - at)
          if spent < 0 then spent = 0 end
        end
      end
      if not spent then
        -- The value has another form: the long way reads it.
      elseif spent > most then
        answer = -1 - spent
      elseif serverClock then
        answer = spent
        local after = spent + units
        if after <= (expires - now) * p then
          -- Only these two numbers change. SETRANGE keeps the expiry and costs half as much as a SET.
          call('SETRANGE', key, '9', pack('<dd', after, now))
        else
          expires = now + ceil(after / p) + 60000
          call('SET', key, pack('<Bddd', VERSION, expires, after, now) .. ending, 'PXAT', format('%.0f', expires))
        end
      end
    elseif ms and tokens > 0 then
      answer = inWindow(KEYS[done + 1], ARGV[place + 1], ms, tokens, tonumber(ARGV[place + 2]))
    end
    if answer then
      length = length + 1
      reply[length] = answer
    else
      if not long then
        ${longWay()}
      end
      length = long(run, done, length)
    end
    done = done + size
  end
  run = run + 3 + 2 * size
end
return reply
`
);

// src/stores/redis/calls.ts
var ScriptCalls = class {
  #denials;
  #now;
  #handOn;
  #lone;
  /** Null for a client that never sends a call again. */
  marks;
  #run;
  /**
   * `now` returns the time of a store with a clock, and an empty string for the server's. `handOn` sends a request
   * again.
   */
  constructor(client, cluster, denials, now, handOn) {
    this.#denials = denials;
    this.#now = now;
    this.#handOn = handOn;
    this.#lone = new LoneCalls((script, node) => scriptRunner(node ?? client, script));
    this.marks = sendsAgain(client) ? new CallMarks(keyPrefixOf(client), cluster) : null;
    this.#run = scriptRunner(client, fullScript());
  }
  // Not async, like the functions that it calls: see `Batcher`. `run` is another way to call the script for batches.
  send(requests, run2, way) {
    const now = this.#now();
    const [first] = requests;
    const isLone = run2 === void 0 && requests.length === 1 && !first.wasLone && now === "";
    const call = isLone ? this.#lone.write(first, way) : null;
    if (call === null) return this.#sendTogether(requests, now, run2 ?? this.#run);
    const start = this.#denials.startCall();
    return call.run(call.keys, call.args).then((reply) => {
      if (reply !== null) {
        const snapshot = this.#lone.read(reply, call, first);
        this.marks?.learn(snapshot.now);
        return [this.#resultOf(first, [snapshot], start)];
      }
      this.#handOn({ ...first, wasLone: true });
      return [HANDED_ON];
    }, (error) => way !== void 0 && isElsewhere(error) ? this.send(requests) : failWithoutCommand(error));
  }
  #sendTogether(requests, now, run2) {
    const mark2 = this.marks?.markOf(requests);
    const { keys, args } = writeRequests(requests, now, mark2);
    const start = this.#denials.startCall();
    return run2(keys, args).then(
      (reply) => readReply(reply, requests).map((each, i) => {
        if (each instanceof Error) return each;
        if (i === 0) this.marks?.learn(each[0].now);
        return this.#resultOf(requests[i], each, start, now === "" ? mark2 : void 0);
      }),
      (error) => requests.length > 1 && isTryAgain(error) ? this.#sendApart(requests) : failWithoutCommand(error)
    );
  }
  // While a slot moves, its keys are on two nodes. Only calls with one key are certain to reach the right node.
  async #sendApart(requests) {
    const results = await Promise.allSettled(requests.map((request) => this.send([request])));
    return results.map((result) => result.status === "fulfilled" ? result.value[0] : result.reason);
  }
  #resultOf({ what, parts, once }, snapshots, start, mark2) {
    if (what === "a") {
      const [{ policy, from, moved }, { fits, now }] = [parts[0], snapshots[0]];
      if (once && mark2 !== void 0 && isTooLate(mark2, now)) return tooLate();
      return moved === void 0 ? fits : isHeldAt(policy, from, now);
    }
    if (what !== "c" && what !== "p") return void 0;
    try {
      if (parts.length === 1) return this.#decide(what, parts[0], snapshots[0], true, start);
      const all = snapshots.every(({ fits }) => fits);
      return parts.map((part, i) => this.#decide(what, part, snapshots[i], all, start));
    } catch (error) {
      return error;
    }
  }
  #decide(what, { policy, key, tokens }, snapshot, all, start) {
    if (what === "p") return snapshot.peek(policy, tokens);
    const decision = all ? snapshot.consume(policy, tokens) : snapshot.peek(policy, tokens);
    if (!decision.allowed) this.#denials.remember(policy, key, snapshot, start);
    else if (all) this.#denials.outdate(policy, key);
    return decision;
  }
};
function failWithoutCommand(error) {
  throw withoutCommand(error);
}

// src/stores/redis/connection-error.ts
var reported = /* @__PURE__ */ new WeakMap();
var IS_ANSWER = /^[A-Z][A-Z\d]+ /;
function connectionErrorOf(client) {
  const members = client;
  const last = reported.get(client) ?? hearErrorsOf(members);
  reported.set(client, last);
  return (error) => {
    const { status, isReady, stream } = members;
    if (status === "ready" || isReady === true) last.error = void 0;
    else last.error = stream?.errored ?? last.error;
    if (IS_ANSWER.test(String(error.message))) return void 0;
    const isAway = status !== void 0 && status !== "ready" || isReady === false;
    return last.error ?? (isAway ? null : void 0);
  };
}
function hearErrorsOf(client) {
  const last = { error: void 0 };
  const errorMonitor = builtin("node:events")?.errorMonitor;
  if (errorMonitor === void 0 || typeof client.on !== "function") return last;
  client.on(errorMonitor, (error) => last.error = error);
  client.on("ready", () => last.error = void 0);
  return last;
}

// src/stores/redis/cluster/hash-tags.ts
var MOST_TAGS = 256;
function spreadPrefix(prefix, count, keyPrefix) {
  if (positiveInteger("spread", count) > MOST_TAGS) throw new RangeError(expected("spread", `at most ${MOST_TAGS}`, count));
  const prefixes = hashTags(count).map((tag) => `{${tag}}${prefix}`);
  if (hasHashTag(keyPrefix + prefix) || !hasHashTag(keyPrefix + prefixes[0])) {
    throw new TypeError(
      "Expected `spread` without braces in `prefix` and in the client's `keyPrefix`, got braces. Remove one of the two."
    );
  }
  return (key) => prefixes[rangeOf(key, count)];
}
function hashTags(count) {
  const tags = Array.from({ length: count }, () => "");
  let missing = count;
  for (let number = 0; missing > 0; number++) {
    const range = rangeOf(String(number), count);
    if (tags[range] !== "") continue;
    tags[range] = String(number);
    missing -= 1;
  }
  return tags;
}
function rangeOf(text, count) {
  return Math.floor(slotOf(text) * count / SLOTS);
}

// src/stores/redis/cluster/cross-slot.ts
var crossSlotScript = () => (
  /* lua */
  `#!lua flags=allow-cross-slot-keys
local KEYS, count = {}, tonumber(ARGV[#ARGV])
local first = #ARGV - count - 1
for i = 1, count do KEYS[i], ARGV[first + i] = ARGV[first + i], nil end
ARGV[first + count + 1] = nil
${fullScript()}
`
);
function isRefusedWhole({ message }) {
  return /^(?:OOM|READONLY|MISCONF|NOREPLICAS|MASTERDOWN|CLUSTERDOWN) /.test(message) && !isFromWithin(message);
}
function isUnsupported({ message }) {
  return /^(?:ERR|NOPERM) /.test(message) && !isFromWithin(message);
}
function isFromWithin(message) {
  return / script: |@user_script/.test(message);
}

// src/stores/redis/cluster/node-clients.ts
function nodeFinder(client) {
  const cluster = client;
  let byAddress = /* @__PURE__ */ new Map();
  return (slot) => {
    const found = cluster.slots?.[slot];
    if (found === void 0) return void 0;
    if (!isAddresses(found)) return found.master?.client?.isReady === true ? found.master.client : void 0;
    const address = found[0];
    const known = byAddress.get(address);
    if (known?.status === "ready") return known;
    byAddress = new Map(cluster.nodes?.("master").map((node2) => [`${node2.options?.host}:${node2.options?.port}`, node2]));
    const node = byAddress.get(address);
    return node?.status === "ready" ? node : void 0;
  };
}
function wayTo(node, keyPrefix) {
  const own = keyPrefixOf(node);
  if (own === "") return { node, prefix: keyPrefix };
  return own === keyPrefix ? { node, prefix: "" } : void 0;
}
function isAddresses(entry) {
  return Array.isArray(entry);
}

// src/stores/redis/cluster/request-router.ts
var MAX_IN_FLIGHT = 4;
var SAMPLE = 1024;
var RequestRouter = class {
  #send;
  #largest;
  #cluster;
  // One for each slot in use, so at most 16,384.
  #bySlot = /* @__PURE__ */ new Map();
  #byNode = /* @__PURE__ */ new WeakMap();
  /** Null when a call must not carry keys of several slots. */
  #findNode;
  #asked = 0;
  #missed = 0;
  constructor(send, largest, cluster) {
    this.#send = send;
    this.#largest = largest;
    this.#cluster = cluster;
    this.#findNode = cluster?.byNode ? nodeFinder(cluster.client) : null;
  }
  add(request) {
    const { what, parts } = request;
    if (parts.length > 1) return this.#addTogether(request);
    const slot = this.#slotOf(parts[0]);
    const node = this.#largest > 1 && (what === "c" || what === "p") ? this.#findNode?.(slot) : void 0;
    (node === void 0 ? this.#batcherOfSlot(slot) : this.#batcherOfNode(node)).add(request);
  }
  /** Whether one call can carry all the parts, by the client's slot map. */
  canCarry(parts) {
    return this.#batcherOfAll(parts) !== void 0;
  }
  #addTogether(request) {
    const batcher = this.#batcherOfAll(request.parts);
    if (batcher !== void 0) batcher.add(request);
    else if (this.#findNode === null || request.parts.every((part) => this.#findNode?.(this.#slotOf(part)))) {
      request.pending.reject(apart());
    } else void this.#addAfterPeeks(request);
  }
  #batcherOfAll(parts) {
    const [slot, ...slots] = new Set(parts.map((part) => this.#slotOf(part)));
    if (slots.length === 0) return this.#batcherOfSlot(slot);
    const node = this.#findNode?.(slot);
    return node !== void 0 && slots.every((each) => this.#findNode?.(each) === node) ? this.#batcherOfNode(node) : void 0;
  }
  #slotOf(part) {
    return this.#cluster === null ? 0 : slotOf(this.#cluster.keyPrefix + part.name);
  }
  #batcherOfSlot(slot) {
    let batcher = this.#bySlot.get(slot);
    if (batcher === void 0) {
      batcher = new Batcher((requests) => this.#send(requests), this.#largest, MAX_IN_FLIGHT);
      this.#bySlot.set(slot, batcher);
    }
    return batcher;
  }
  #batcherOfNode(node) {
    let batcher = this.#byNode.get(node);
    if (batcher === void 0) {
      const { keyPrefix: prefix } = this.#cluster;
      const run2 = scriptRunner(node, crossSlotScript());
      const runThere = (keys, args) => run2([], [...args, ...keys.map((key) => prefix + key), String(keys.length)]);
      const way = wayTo(node, prefix);
      batcher = new Batcher((requests) => this.#sendToNode(runThere, way, requests), this.#largest, MAX_IN_FLIGHT);
      this.#byNode.set(node, batcher);
    }
    return batcher;
  }
  // Not async for a lone call: see `Batcher`.
  #sendToNode(run2, way, requests) {
    if (requests.length === 1 && requests[0]?.parts.length === 1) return this.#send(requests, void 0, way);
    return this.#sendManyToNode(run2, requests);
  }
  async #sendManyToNode(run2, requests) {
    let results;
    try {
      results = await this.#send(requests, run2);
    } catch (thrown) {
      const error = thrown;
      if (isUnsupported(error)) this.#goBySlot(error.message);
      else if (!isRefusedWhole(error)) throw error;
      return requests.map((request) => this.#askAgain(request, error));
    }
    const missed = results.filter(isMissing).length;
    this.#learn(requests.length, missed);
    return missed === 0 ? results : results.map((result, i) => isMissing(result) ? this.#askAgain(requests[i], null) : result);
  }
  // Sent in a separate call, because a call with two keys of a moving slot may fail. Also used after a refusal of the
  // whole call, because the script for one slot can report refusals without memory or write permission. `error` is that
  // refusal.
  #askAgain(request, error) {
    const { parts, pending } = request;
    if (parts.length === 1) {
      const fail = (reason) => pending.reject(reason);
      this.#send([{ ...request, wasLone: true }]).then(
        ([result]) => result instanceof Error ? fail(result) : result === HANDED_ON || pending.resolve(result),
        fail
      );
    } else if (error === null && !request.wasApart) void this.#addAfterPeeks(request);
    else pending.reject(error === null || this.#findNode === null ? apart() : error);
    return HANDED_ON;
  }
  // A client updates its slot map when a call with one key is redirected. A peek also distinguishes another program's
  // value from a key on another node.
  async #addAfterPeeks(request) {
    const peek2 = (part) => new Promise(
      (resolve, reject) => this.#batcherOfSlot(this.#slotOf(part)).add({ what: "p", parts: [part], size: 1, pending: { resolve, reject } })
    );
    try {
      await Promise.all(request.parts.map(peek2));
      const batcher = this.#batcherOfAll(request.parts);
      if (batcher === void 0) throw apart();
      batcher.add({ ...request, wasApart: true });
    } catch (error) {
      request.pending.reject(error);
    }
  }
  // A proxy may run the script and send it to any node. Most keys are missing there.
  #learn(asked2, missed) {
    this.#asked += asked2;
    this.#missed += missed;
    if (this.#asked < SAMPLE) return;
    if (this.#missed > this.#asked / 2) this.#goBySlot("most keys were not on the node that the client names for their slots");
    this.#asked = this.#missed = 0;
  }
  #goBySlot(reason) {
    if (this.#findNode === null) return;
    this.#findNode = null;
    if (storeChecks) storeChecks.hintOneSlot(reason);
  }
};
function isMissing(result) {
  return result instanceof StoreError && result.code === "ERR_STORE_FOREIGN_VALUE";
}
function apart() {
  return new StoreError(
    "ERR_STORE_APART",
    'Expected the buckets of `charges` on one node of the cluster, got several nodes. Give the store a `prefix` with a hash tag, such as "{sluice}", or charge one after another.'
  );
}

// src/stores/shared/deny-cache.ts
var MOST_DENIALS = 1e4;
var MOST_DROPS = 1e3;
var DenyCache = class {
  #now;
  #forMs;
  #isShared = sharesWork();
  // By the policy's name, then the short key, so that a lookup concatenates no strings.
  #denials = /* @__PURE__ */ new Map();
  #oldestFirst = /* @__PURE__ */ new Set();
  // The sequence number of the last drop of each key, for the last 1,000 dropped keys.
  #drops = /* @__PURE__ */ new Map();
  // The highest number removed from `#drops`. Denials of calls sent before it are not remembered, for any key.
  #forgotten = 0;
  #dropped = 0;
  constructor(forMs, clock = monotonicClock) {
    this.#forMs = forMs;
    this.#now = () => readClock(clock);
  }
  /** Whether no denial is remembered, which is the usual state. */
  get isEmpty() {
    return this.#oldestFirst.size === 0;
  }
  /** Whether a denial of the key is remembered, even one that is too old to use. */
  has(policy, key) {
    return !this.isEmpty && this.#find(policy, key) !== void 0;
  }
  /** The denial that the server would answer with, or null when the server must be asked. */
  recall(policy, key, costs) {
    const denial = this.#find(policy, key);
    return denial === void 0 ? null : this.#decide(denial, policy, costs);
  }
  /**
   * Like `recall`, but when a call about the key is in flight, returns a promise: await it, then call `answer` again.
   * Null when the server must be asked. A call older than `forMs` is not awaited, because its reply may be lost.
   */
  answer(policy, key, costs) {
    const denial = this.#find(policy, key);
    if (denial === void 0) return null;
    const { newer } = denial;
    return this.#decide(denial, policy, costs) ?? (newer !== null && this.#now() - newer.askedAt < this.#forMs ? newer.answer : null);
  }
  /**
   * Announces a reply in flight about a refused key. Other calls about the key then await it instead of asking too,
   * except where requests share no promises (law L15).
   */
  expect(policy, key, answer2) {
    const denial = this.#find(policy, key);
    if (denial === void 0) return;
    const replaced = answer2.catch(() => void 0).then(() => this.#delete(denial));
    if (this.#isShared) denial.newer = { answer: replaced, askedAt: this.#now() };
  }
  /** The moment to pass to `remember` later. Call it when a call is sent. */
  startCall() {
    return { at: this.#now(), drops: this.#dropped };
  }
  /** Keeps the denial that a call returned. `start` is the moment the call was sent. */
  remember(policy, key, snapshot, start) {
    if (this.#forMs === 0 || policy.inFlight !== void 0) return;
    const short = shortKey(policy, key);
    if (this.#dropped > start.drops && (this.#drops.get(nameOfShort(policy, short)) ?? this.#forgotten) > start.drops) return;
    this.#delete(this.#denials.get(policy.name)?.get(short));
    const denial = { policy, short, snapshot, sentAt: start.at, newer: null };
    const keys = this.#denials.get(policy.name) ?? /* @__PURE__ */ new Map();
    this.#denials.set(policy.name, keys.set(short, denial));
    this.#oldestFirst.add(denial);
    if (this.#oldestFirst.size > MOST_DENIALS) this.#delete(this.#oldestFirst.values().next().value);
  }
  /** Forgets a denial after which tokens were taken: its waits are now too short. */
  outdate(policy, key) {
    if (!this.isEmpty) this.#delete(this.#find(policy, key));
  }
  /**
   * Forgets the denial of a key, and ignores the denials that calls in flight will return for it. The cache keeps the
   * keys of the last 1,000 drops. The denial of a call that was sent before an older drop is ignored, for any key.
   */
  drop(policy, key) {
    if (this.#forMs === 0) return;
    this.outdate(policy, key);
    const name = bucketName(policy, key);
    this.#drops.delete(name);
    this.#drops.set(name, ++this.#dropped);
    if (this.#drops.size <= MOST_DROPS) return;
    const [oldest, number] = this.#drops.entries().next().value;
    this.#drops.delete(oldest);
    this.#forgotten = number;
  }
  #find(policy, key) {
    return this.#denials.get(policy.name)?.get(shortKey(policy, key));
  }
  #decide({ policy: own, snapshot, sentAt }, policy, costs) {
    const age = this.#now() - sentAt;
    if (age < 0 || age >= this.#forMs || !samePolicy(own, policy)) return null;
    return snapshot.refusalAfter(age, policy, costs);
  }
  // A denial that is gone may have been replaced; the replacement stays.
  #delete(denial) {
    if (denial === void 0 || !this.#oldestFirst.delete(denial)) return;
    const { policy, short } = denial;
    const keys = this.#denials.get(policy.name);
    keys.delete(short);
    if (keys.size === 0) this.#denials.delete(policy.name);
  }
};

// src/stores/redis/redis.ts
var LARGEST_BATCH = 128;
var RedisStore = class {
  sync = false;
  clock;
  kinds = LIMIT_KINDS;
  guard;
  #prefixOf;
  #denials;
  #calls;
  #router;
  /**
   * Whether one call can take the charges, by the client's slot map. Present only on a cluster without a hash tag in
   * `prefix`. When it is absent, `consumeTogether` can take all charges.
   */
  takesTogether;
  /**
   * Makes at most 128 charges, all of them or none. Always calls the server.
   *
   * A cluster can change several keys in one step only if they are on one node. Before Redis 7 they must share a hash
   * tag. For other keys it rejects with a StoreError with `"ERR_STORE_APART"`, and takes nothing. With a hash tag in
   * `prefix`, such as `"{sluice}"`, it works for all keys.
   */
  consumeTogether = (charges) => this.#consumeTogether(charges);
  /**
   * Sends no command yet. Throws a TypeError or RangeError that names the wrong argument. Throws a TypeError for a
   * client that cannot work: a promise, a pipeline, a client with callbacks.
   */
  constructor(client, options = {}) {
    if (storeChecks) storeChecks.checkRedisSetup(this, client, options);
    const own = ownMembers(options);
    const { prefix = "sluice", denyCacheMs = 1e3, batch = true, cluster = isCluster(client), spread: spread2, clock } = own;
    this.guard = guard(guardOptionsOf(own), { start: (...asked2) => this.#start(...asked2), causeOf: connectionErrorOf(client) });
    if (clock !== void 0) checkClock(clock);
    this.clock = clock ?? "server";
    this.#denials = new DenyCache(wholeNumber("denyCacheMs", denyCacheMs), clock);
    const now = clock === void 0 ? () => "" : () => String(readClock(clock));
    this.#calls = new ScriptCalls(client, cluster, this.#denials, now, (request) => this.#router.add(request));
    const keyPrefix = keyPrefixOf(client);
    const isOneSlot = hasHashTag(`${keyPrefix}${prefix}:`);
    this.#prefixOf = spread2 === void 0 ? () => `${prefix}:` : spreadPrefix(`${prefix}:`, spread2, keyPrefix);
    const largest = batch && sharesWork() ? LARGEST_BATCH : 1;
    const setup = cluster && !isOneSlot ? { client, keyPrefix, byNode: spread2 === void 0 } : null;
    this.#router = new RequestRouter((...asked2) => this.#calls.send(...asked2), largest, setup);
    if (setup !== null) {
      this.takesTogether = (charges) => this.#router.canCarry(charges.map((charge2) => this.#part(charge2.policy, charge2.key, 0)));
    }
  }
  consume(policy, key, costs) {
    return new Promise((resolve, reject) => this.#consume(policy, key, costs, { resolve, reject }));
  }
  recall(policy, key, costs) {
    return this.#denials.isEmpty ? null : this.#denials.recall(policy, shortKey(policy, key), costs);
  }
  async peek(policy, key, costs) {
    return this.#ask("p", [this.#part(policy, key, costs)]);
  }
  /**
   * Acts once, also if the client sends the call again. A call that waits in the client's queue for over a minute
   * changes nothing.
   */
  async adjust(policy, key, changes, from) {
    const { marks } = this.#calls;
    if (this.clock === "server" && marks?.areReady === false) await this.peek(policy, key, 0);
    return this.#change("a", this.#part(policy, key, changes, { from }), marks !== null);
  }
  renew(policy, key, tokens, { from, to }) {
    return this.#change("a", this.#part(policy, key, 0, { from, moved: tokens, to }));
  }
  block(policy, key, forMs) {
    return this.#change("x", this.#part(policy, key, forMs));
  }
  reset(policy, key) {
    return this.#change("d", this.#part(policy, key, 0));
  }
  // Makes no promise, because a promise would be most of the cost of a decision here. If a subclass, spy or proxy
  // replaces `consume`, that one is called instead.
  #start(store, policy, key, costs, call) {
    if (store.consume === ownConsume) this.#consume(policy, key, costs, call);
    else call.follow(store.consume(policy, key, costs));
  }
  #consume(policy, key, costs, pending) {
    const part = this.#part(policy, key, costs);
    if (this.#denials.has(policy, part.key)) {
      this.#recallOrConsume(part).then(
        (decision) => pending.resolve(decision),
        (error) => pending.reject(error)
      );
    } else this.#add("c", [part], pending);
  }
  async #recallOrConsume(part) {
    const { policy, key, tokens } = part;
    for (; ; ) {
      const known = this.#denials.answer(policy, key, tokens);
      if (known === null) break;
      if ("allowed" in known) return known;
      await known;
    }
    const asked2 = this.#ask("c", [part]);
    this.#denials.expect(policy, key, asked2);
    return await asked2;
  }
  async #consumeTogether(charges) {
    checkCharges(charges);
    if (charges.length === 0) return [];
    const parts = charges.map(({ policy, key, cost }) => this.#part(policy, key, cost));
    const answer2 = await this.#ask("c", parts);
    return "allowed" in answer2 ? [answer2] : answer2;
  }
  // The remembered refusal is dropped twice: a call may be refused and remembered before the server makes the change.
  // It is also dropped after a failed call, because the server may have made the change.
  async #change(what, part, once) {
    const { policy } = part;
    this.#denials.drop(policy, part.key);
    try {
      return await this.#ask(what, [part], once);
    } finally {
      this.#denials.drop(policy, part.key);
    }
  }
  // Resolves to the result that `#resultOf` makes of the request. The caller gives its type.
  #ask(what, parts, once = false) {
    return new Promise((resolve, reject) => this.#add(what, parts, { resolve, reject }, once));
  }
  #add(what, parts, pending, once = false) {
    this.#router.add({ what, parts, once, size: parts.length, pending });
  }
  #part(policy, key, tokens, dates) {
    return new RedisPart(this.#prefixOf(key), policy, shortKey(policy, key), tokens, dates);
  }
};
var ownConsume = RedisStore.prototype.consume;

// .wb-r.mjs
var redis = new Redis();
var SECONDS = 3;
async function run(name, limit, keyOf, opts = {}) {
  const prefix = `wb${process.pid}${Math.random().toString(36).slice(2)}`;
  const store = new RedisStore(redis, { prefix, denyCacheMs: 0, timeoutMs: 5e3, ...opts });
  const limiter = createLimiter({ policy: { name: "api", ...limit }, store, onStoreError: "unavailable" });
  const caller = async (c, until) => {
    let n = 0;
    while (performance.now() < until) {
      await limiter.consume(keyOf(c, n));
      n++;
    }
    return n;
  };
  await Promise.all(Array.from({ length: 64 }, (_, c) => caller(c, performance.now() + 700)));
  await redis.config("RESETSTAT");
  const t = performance.now();
  const u0 = (await redis.info("cpu")).match(/used_cpu_user:([\d.]+)/)[1], s0 = (await redis.info("cpu")).match(/used_cpu_sys:([\d.]+)/)[1];
  const counts = await Promise.all(Array.from({ length: 64 }, (_, c) => caller(c, t + SECONDS * 1e3)));
  const total = counts.reduce((a, b) => a + b, 0), secs = (performance.now() - t) / 1e3;
  const info = await redis.info("cpu");
  const cpu = Number(info.match(/used_cpu_user:([\d.]+)/)[1]) + Number(info.match(/used_cpu_sys:([\d.]+)/)[1]) - Number(u0) - Number(s0);
  console.log(name.padEnd(52), Math.round(total / secs).toString().padStart(7), "/s   Redis", (1e6 * cpu / total).toFixed(1), "us a decision");
  const some = (await redis.keys(`${prefix}*`))[0];
  if (some) console.log("   bytes of a value", await redis.strlen(some), "memory usage", await redis.memory("USAGE", some));
  for (const k of await redis.keys(`${prefix}*`)) await redis.del(k);
  return total / secs;
}
var spread = (c, n) => `u${(c * 977 + n * 13) % 2e3}`;
for (let round = 0; round < 3; round++) {
  await run("rate    2,000 keys, allowed", { capacity: 1e6, refill: perMinute(1e6) }, spread);
  await run("window  2,000 keys, allowed, 1.6 s (17 dates)", { capacity: 1e6, returns: afterMs(1600) }, spread);
  await run("rate    64 keys, mostly refused", { capacity: 100, refill: perMinute(100) }, (c) => `u${c}`);
  await run("window  64 keys, mostly refused, 1.6 s", { capacity: 100, returns: afterMs(1600) }, (c) => `u${c}`);
}
redis.disconnect();
