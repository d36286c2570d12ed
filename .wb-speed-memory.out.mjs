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
function checkClock(clock2) {
  if (typeof clock2 === "function") return;
  const cure = typeof Object(clock2).now === "function" ? ". Write clock.now" : "";
  throw new TypeError(expected("clock", "a function that returns milliseconds", clock2) + cure);
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
  const { performance } = globals;
  if (performance === void 0) throw new TypeError(NO_PERFORMANCE);
  return performance.now();
}
var globals = globalThis;
var NO_PERFORMANCE = "Expected `performance` to be there, got undefined. Pass `clock: Date.now`, or define it.";
function readClock(clock2) {
  const now2 = Math.floor(clock2());
  if (!Number.isSafeInteger(now2)) throw new RangeError(expected("clock()", "a finite number of milliseconds below 2^53", now2));
  return now2;
}

// src/core/bucket.ts
var ALL_UNITS = Number.MAX_SAFE_INTEGER;
var RATE = {
  dateOf: (now2) => now2,
  backTo: () => void 0,
  retryAfterMs: Infinity,
  isInFlight: false,
  apart: void 0
};
function fullBucket(limit) {
  if (limit.unitsPerMs === void 0) throw notDefined(limit);
  return { spent: 0, at: 0, unitsPerMs: limit.unitsPerMs, unitsPerToken: limit.unitsPerToken, dates: void 0 };
}
function spentAt(bucket, limit, now2) {
  if (bucket.spent === 0) return 0;
  if (limit.kind.apart !== void 0) return limit.kind.apart.spentAt(bucket, now2);
  const refilled = bucket.unitsPerMs * Math.max(0, now2 - bucket.at);
  const spent = Math.max(0, bucket.spent - refilled);
  return bucket.unitsPerToken === limit.unitsPerToken ? spent : convert(spent, bucket.unitsPerToken, limit.unitsPerToken);
}
function backFrom(bucket, limit, now2) {
  if (bucket.spent === 0) return now2;
  return hasOwnDate(bucket, limit, now2) ? Math.max(bucket.at, now2) : limit.kind.dateOf(now2);
}
function hasOwnDate(bucket, limit, now2) {
  const isSameKind = bucket.unitsPerMs < ALL_UNITS === limit.unitsPerMs < ALL_UNITS;
  return isSameKind && !isImpossible(bucket, limit, now2);
}
function unitsOver(limit, tokens, spent) {
  return Math.max(0, spent - (limit.size - tokens * limit.unitsPerToken));
}
function msUntil(units, limit, from, now2) {
  return typeof from === "number" ? from - now2 + Math.ceil(units / limit.unitsPerMs) : limit.kind.apart.msUntil(from, limit, now2, units);
}
function stillSpent(units, { refill, unitsPerMs }, lateMs) {
  return units < 0 && lateMs > 0 && refill !== void 0 ? Math.min(0, units + unitsPerMs * lateMs) : units;
}
function charge(bucket, limit, now2, units, from) {
  const { kind } = limit;
  const date = units > 0 ? kind.dateOf(now2) : kind.backTo(from);
  if (kind.apart !== void 0) return kind.apart.charge(bucket, limit, now2, units, date);
  const spent = spentAt(bucket, limit, now2);
  const isElsewhere = units < 0 && date !== void 0 && (bucket.at !== date || !hasOwnDate(bucket, limit, now2));
  const at = backFrom(bucket, limit, now2);
  setBucket(bucket, limit, Math.max(0, isElsewhere ? spent : spent + units), units > 0 ? Math.max(at, date) : at);
}
function setBucket(bucket, limit, spent, at) {
  bucket.spent = spent;
  bucket.at = at;
  bucket.unitsPerMs = limit.unitsPerMs;
  bucket.unitsPerToken = limit.unitsPerToken;
}
function isStale(bucket, limit, now2) {
  if (bucket.unitsPerMs !== limit.unitsPerMs || bucket.unitsPerToken !== limit.unitsPerToken) return true;
  return bucket.spent > 0 && isImpossible(bucket, limit, now2);
}
function isImpossible(bucket, limit, now2) {
  return bucket.at - now2 > limit.fullMs;
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
  const asked = !("capacity" in own) && !written2 ? void 0 : positiveInteger("capacity", own.capacity);
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
    typeof own.refill === "function" ? `called, as in perMinute(${asked ?? 5})` : REFILL_TEXT,
    explainRefill,
    "refill"
  );
  const tokens = positiveInteger(
    "refill.tokens",
    refill.tokens,
    ". For one token every two seconds write { tokens: 1, everyMs: 2000 }."
  );
  const everyMs = positiveInteger("refill.everyMs", refill.everyMs);
  const capacity = asked ?? tokens;
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
function consume(buckets, policy, costs, now2) {
  const decision = decide(buckets, policy, costs, now2, true);
  if (!decision.allowed) convertStale(buckets, policy, now2);
  return decision;
}
function peek(buckets, policy, costs, now2) {
  return decide(buckets, policy, costs, now2, false);
}
function adjust(buckets, policy, changes, now2, from) {
  const tooMuch = policy.limits.some(
    (limit, i) => spentAt(buckets[i], limit, now2) + costAt(changes, i) * limit.unitsPerToken > Number.MAX_SAFE_INTEGER
  );
  if (tooMuch) return false;
  for (let i = 0; i < buckets.length; i++) {
    const limit = policy.limits[i];
    const units = stillSpent(costAt(changes, i) * limit.unitsPerToken, limit, now2 - (sinceAt(from, i) ?? now2));
    charge(buckets[i], limit, now2, units, from);
  }
  return true;
}
function sinceAt(from, position) {
  const since = typeof from === "object" ? from.since : void 0;
  return typeof since === "object" ? since[position] : since;
}
function renewHeld(buckets, policy, tokens, now2, move) {
  policy.limits.forEach((limit, i) => {
    const bucket = buckets[i];
    const { apart } = limit.kind;
    if (apart?.move === void 0) charge(bucket, limit, now2, 0);
    else apart.move(bucket, limit, now2, costAt(tokens, i), move);
  });
  return isHeldAt(policy, move.from, now2);
}
var isHeldAt = ({ inFlight }, from, now2) => (inFlight?.kind.dateOf(from) ?? now2) >= now2;
function convertStale(buckets, policy, now2) {
  for (let i = 0; i < buckets.length; i++) {
    const [bucket, limit] = [buckets[i], policy.limits[i]];
    if (isStale(bucket, limit, now2)) charge(bucket, limit, now2, 0);
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
function decide(buckets, policy, costs, now2, take2) {
  if (policy.limits.length > 1) return decideSeveral(buckets, policy, costs, now2, take2);
  const reading = answer(buckets[0], policy.limits[0], costAt(costs, 0), now2, take2);
  return decisionBy(reading, policy, null, now2);
}
function decideSeveral(buckets, policy, costs, now2, take2) {
  let taken = take2;
  for (let i = 0; taken && i < buckets.length; i++) {
    const limit = policy.limits[i];
    taken = missingOf(limit, costAt(costs, i), spentAt(buckets[i], limit, now2)) === 0;
  }
  const limits = buckets.slice();
  let binding;
  for (let i = 0; i < buckets.length; i++) {
    const next = answer(buckets[i], policy.limits[i], costAt(costs, i), now2, taken);
    limits[i] = next;
    if (binding === void 0 || bindsMore(next, binding)) binding = next;
  }
  return decisionBy(binding, policy, limits, now2);
}
function decisionBy(binding, policy, limits, now2) {
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
    at: now2,
    degraded: false
  };
  if (binding.inFlight) decision.inFlight = true;
  return decision;
}
function missingOf(limit, cost, spent) {
  if (cost === 0) return 0;
  return cost > limit.capacity ? Infinity : unitsOver(limit, cost, spent);
}
function answer(bucket, limit, cost, now2, take2) {
  const { kind, size, unitsPerToken } = limit;
  const before = spentAt(bucket, limit, now2);
  const over = missingOf(limit, cost, before);
  const takes = take2 && over === 0;
  const taken = takes ? cost * unitsPerToken : 0;
  const spent = before + taken;
  let from = bucket;
  if (kind.apart === void 0) {
    from = before === 0 ? now2 : backFrom(bucket, limit, now2);
    if (taken > 0) from = Math.max(from, kind.dateOf(now2));
    if (takes) setBucket(bucket, limit, spent, from);
  } else if (takes) kind.apart.charge(bucket, limit, now2, taken, kind.dateOf(now2));
  const remaining = Math.max(0, Math.floor((size - spent) / unitsPerToken));
  const reading = {
    limit: limit.name,
    cost,
    capacity: limit.capacity,
    remaining,
    retryAfterMs: over === 0 || over === Infinity ? over : Math.min(kind.retryAfterMs, msUntil(over, limit, from, now2)),
    nextTokenMs: spent === 0 ? 0 : msUntil(unitsOver(limit, remaining + 1, spent), limit, from, now2),
    resetMs: spent === 0 ? 0 : msUntil(spent, limit, from, now2)
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
function costsOf(decision, policy) {
  const all = readings(decision);
  return mapCosts(policy, 0, (none2, i) => all.find(({ limit }) => limit === policy.limits[i]?.name)?.cost ?? none2);
}

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
  insert({ high, low }, stored, bucket, now2) {
    const dropped = this.used < (this.#mask + 1) * LARGEST_FILL ? 0 : this.#rebuild(now2, this.#mask + 1);
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
  evictOne(now2) {
    let victim = -1;
    let soonest = Infinity;
    let slot = this.#hand;
    for (let examined = 0, left = this.#mask; examined < EXAMINED && left >= 0 && soonest > now2; left--) {
      slot = slot + 1 & this.#mask;
      if (!this.#isTaken(slot)) continue;
      examined += 1;
      const fullAt = this.#fullAt(slot, now2, now2);
      if (fullAt < soonest || victim < 0) {
        soonest = fullAt;
        victim = slot;
      }
    }
    this.#hand = slot;
    const isBusy = this.#fullAt(victim, now2) > now2;
    this.#remove(victim);
    return isBusy ? "busy" : "idle";
  }
  /** Removes all idle buckets if a sample finds no busy one. Returns how many it removed. */
  sweep(now2) {
    for (let i = 0; i < SAMPLED; i++) {
      this.#hand = this.#hand + 1 & this.#mask;
      if (this.#isTaken(this.#hand) && this.#fullAt(this.#hand, now2) > now2) return 0;
    }
    return this.#rebuild(now2, SMALLEST);
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
  #fullAt(slot, now2, ifImpossible = null) {
    const { limit } = this.#limits.get(this.#words[WORDS * slot + LIMIT]);
    const at = this.#bytes.getFloat64(4 * WORDS * slot + AT, true);
    const leftMs = Math.ceil(this.#bytes.getFloat64(4 * WORDS * slot + SPENT, true) / limit.unitsPerMs);
    const isImpossible2 = at - now2 > (limit.fullMs || leftMs);
    if (isImpossible2 && ifImpossible !== null) return ifImpossible;
    return (isImpossible2 ? now2 : at) + leftMs;
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
  #rebuild(now2, leastSlots) {
    const busy = [];
    for (let slot = 0; slot <= this.#mask; slot++) {
      if (!this.#isTaken(slot)) continue;
      if (this.#fullAt(slot, now2) > now2) busy.push(WORDS * slot);
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
  put(key, stored, bucket, now2) {
    if (--this.#untilSweep < 0) this.#sweep(now2);
    const shard = this.#shardOf(key);
    if (shard.update(key, stored, bucket)) return;
    if (this.size >= this.#maxKeys) this.#evict(shard, now2);
    const dropped = shard.insert(key, stored, bucket, now2);
    this.size += 1 - dropped;
  }
  /** Forgets a bucket of a key, or with null those of all limits. */
  delete(key, stored) {
    this.size -= this.#shardOf(key).delete(key, stored);
  }
  #evict(preferred, now2) {
    const shard = preferred.used > 0 ? preferred : this.#shards.find((other) => other !== void 0 && other.used > 0);
    if (shard.evictOne(now2) === "busy") this.evictedBusy += 1;
    this.size -= 1;
  }
  // One shard after another. So the memory of idle buckets returns without a timer and without a pause.
  #sweep(now2) {
    this.#untilSweep = PUTS_PER_SWEEP;
    this.#swept = (this.#swept + 1) % this.#shards.length;
    this.size -= this.#shards[this.#swept]?.sweep(now2) ?? 0;
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
  put(key, stored, { at, dates = [] }, now2) {
    const entry = this.#entry;
    this.#index.get(key, stored, entry);
    if (entry.spent > 0 && entry.at < now2) {
      this.#index.delete(key, stored);
      entry.spent = 0;
    }
    entry.spent = this.#rows.write(entry.spent, dates);
    entry.at = at;
    this.#index.put(key, stored, entry, now2);
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
    list.length = 3 * count;
    if (count === 0) return 0;
    const row = Math.floor(place / MOST_IN_PLACE);
    const { width, chunks } = this.#pools[POOL_OF[count]];
    const { numbers, spans } = chunks[Math.floor(row / ROWS_PER_CHUNK)];
    const start = row % ROWS_PER_CHUNK * width;
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const last = numbers[2 * (start + i)];
      const units = numbers[2 * (start + i) + 1];
      list[3 * i] = last;
      list[3 * i + 1] = units;
      list[3 * i + 2] = last - spans[start + i];
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
    const start = row % ROWS_PER_CHUNK * pool.width;
    for (let i = 0; i < count; i++) {
      const last = list[3 * i];
      numbers[2 * (start + i)] = last;
      numbers[2 * (start + i) + 1] = list[3 * i + 1];
      spans[start + i] = last - list[3 * i + 2];
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
  tokensOf: (what, part, now2) => "cpa".includes(what) ? [...part.policy.limits.map((_, i) => costAt(part.tokens, i)), ...numbersOf([part], now2 === "" ? Date.now() : Number(now2))] : part.tokens,
  clockFault(parts, now2) {
    const here = Date.now();
    if (parts.every(({ policy }) => policy.limits.every((limit) => isWithinPeriods(limit, now2, here)))) return void 0;
    return `Expected the clocks of this process and the store to be within a period, got ${dateText(here)} here and ${dateText(now2)} there. Set them; no tokens were taken`;
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
function numbersOf(parts, now2) {
  return parts.flatMap((part) => part.policy.limits.flatMap((limit, i) => {
    const { kind, fullMs, renews, returns } = limit;
    if (renews !== void 0) return [kind.backTo(part.from) ?? 0, fullMs, ...datesNear(limit, now2)];
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
function datesNear({ kind, fullMs }, now2) {
  const known = near.get(kind);
  if (known !== void 0 && now2 > known[1] && now2 <= known[2]) return known;
  const last = kind.dateOf(now2);
  const dates = [kind.dateOf(now2 - 2 * fullMs)];
  while (dates.at(-1) < last) dates.push(kind.dateOf(dates.at(-1) + 1));
  const [before, previous] = dates.slice(-3);
  const found = [before + 1, previous, last, kind.dateOf(last + 1)];
  near.set(kind, found);
  return found;
}
function isWithinPeriods(limit, now2, here) {
  if (limit.renews === void 0) return true;
  const [first, , , last] = datesNear(limit, here);
  return now2 >= first && now2 <= last;
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
  spentAt: (bucket, now2) => unitsFrom(amountsOf(bucket), now2),
  charge(bucket, limit, now2, units, date) {
    const list = amountsOf(bucket);
    bringTo(list, limit.kind.dateOf(now2), now2);
    if (units > 0) take(list, limit.kind.dateOf(now2), units);
    else if (date === void 0) giveBackNewest(list, -units);
    else if (date !== null && date >= now2) giveBackAt(list, date, -units);
    setAmounts(bucket, limit, list);
  },
  msUntil(bucket, limit, now2, units) {
    const list = amountsOf(bucket);
    let date = now2 - 1;
    for (let i = 0, left = units; left > 0 && i < list.length; i += 3) {
      if (list[i] < now2) continue;
      date = list[i];
      left -= list[i + 1];
    }
    return Math.min(date, limit.kind.dateOf(now2)) + 1 - now2;
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
  setBucket(bucket, limit, unitsFrom(list, -Infinity), list.at(-3) ?? 0);
  bucket.dates = list;
}
function bringTo(list, latest, now2) {
  let over = 0;
  while (over < list.length && list[over] < now2) over += 3;
  if (over > 0) remove(list, 0, over);
  for (let i = list.length - 3; i >= 0 && list[i] > latest; i -= 3) {
    list[i] = latest;
    list[i + 2] = Math.min(list[i + 2], latest);
    if (i + 3 < list.length) join(list, i);
  }
}
function take(list, date, units) {
  const end = list.length;
  if (list[end - 3] === date) list[end - 2] = list[end - 2] + units;
  else list.push(date, units, date);
  if (list.length <= 3 * MOST_AMOUNTS) return;
  let least = Infinity;
  let shortest = 0;
  for (let i = 0; i + 3 < list.length; i += 3) {
    const span = list[i + 3] - list[i + 2];
    if (span < least) [least, shortest] = [span, i];
  }
  join(list, shortest);
}
function join(list, i) {
  list[i] = list[i + 3];
  list[i + 1] = list[i + 1] + list[i + 4];
  remove(list, i + 3, 3);
}
function giveBackAt(list, date, units) {
  let i = 0;
  while (i < list.length && list[i] < date) i += 3;
  if (i < list.length && list[i + 2] <= date) lessen(list, i, units);
}
function giveBackNewest(list, units) {
  for (let left = units; left > 0 && list.length > 0; ) left -= lessen(list, list.length - 3, left);
}
function lessen(list, i, units) {
  const there = list[i + 1];
  if (there <= units) remove(list, i, 3);
  else list[i + 1] = there - units;
  return Math.min(there, units);
}
function remove(list, from, count) {
  for (let i = from; i + count < list.length; i++) list[i] = list[i + count];
  list.length -= count;
}
function unitsFrom(list, now2) {
  let sum = 0;
  for (let i = 0; i < list.length; i += 3) if (list[i] >= now2) sum += list[i + 1];
  return sum;
}

// src/limits/window.ts
var LONGEST_WINDOW_MS = 316224e5;
function afterMs(ms) {
  const given = typeof ms === "object" && ms !== null ? ms.afterMs : ms;
  if (positiveInteger("afterMs", given) > LONGEST_WINDOW_MS) {
    throw new RangeError(expected("afterMs", `at most ${LONGEST_WINDOW_MS} ms`, given));
  }
  const length = given;
  const dateOf = (now2) => now2 + length - 1;
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
function naming(owner, make2) {
  try {
    return make2();
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
function processWide(name, make2) {
  const values = globalThis;
  return values[symbols[name] ??= /* @__PURE__ */ Symbol.for(`sluice.1.${name}`)] ??= make2();
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
function hasQuota({ limits }) {
  return limits.some(({ renews }) => renews !== void 0);
}
function isProduction() {
  return withProcess(({ env }) => env?.["NODE_ENV"]) === "production";
}

// src/diagnostics/stores/client-timeout.ts
var LEAST_MS = 2e3;
var timeouts = /* @__PURE__ */ new WeakMap();
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
  const now2 = monotonicClock();
  if (now2 - countingSince > MINUTE_MS || made.size >= MOST_POLICIES) {
    made.clear();
    countingSince = now2;
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
function blockLeft({ spent, at }, now2) {
  const ahead = at - now2;
  return ahead > spent ? spent : Math.max(0, spent + ahead);
}
function redateBlock(block, now2) {
  const isImpossible2 = block.spent > 0 && block.at - now2 > block.spent;
  if (isImpossible2) block.at = now2;
  return isImpossible2;
}
function extendBlock(block, forMs, now2) {
  setBucket(block, BLOCK_LIMIT, Math.max(blockLeft(block, now2), forMs), now2);
}
function consumeBlocked(buckets, policy, costs, now2, blockMs) {
  if (blockMs <= 0) return consume(buckets, policy, costs, now2);
  convertStale(buckets, policy, now2);
  return peekBlocked(buckets, policy, costs, now2, blockMs);
}
function peekBlocked(buckets, policy, costs, now2, blockMs) {
  const decision = peek(buckets, policy, costs, now2);
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
    const { maxKeys = 1e6, clock: clock2 = monotonicClock } = checkOptions(options, ["maxKeys", "clock"]);
    checkClock(clock2);
    if (positiveInteger("maxKeys", maxKeys) > MOST_KEYS) {
      throw new RangeError(expected("maxKeys", `at most ${MOST_KEYS}`, maxKeys));
    }
    this.clock = clock2;
    this.#maxKeys = maxKeys;
    this.#table = new MemoryTable(maxKeys);
  }
  consume(policy, key, costs) {
    return this.#take(policy, key, costs, readClock(this.clock));
  }
  /** Takes all charges or none, in one step. Throws a TypeError when two charges name the same bucket. */
  consumeTogether(charges) {
    checkNamedOnce(charges);
    const now2 = readClock(this.clock);
    const would = charges.map(({ policy, key, cost }) => this.#peek(policy, key, cost, now2));
    const all = would.every(({ allowed }) => allowed);
    return charges.map(({ policy, key, cost }, i) => {
      const decision = this.#take(policy, key, all ? cost : Infinity, now2);
      return all ? decision : would[i];
    });
  }
  peek(policy, key, costs) {
    return this.#peek(policy, key, costs, readClock(this.clock));
  }
  adjust(policy, key, changes, from) {
    const now2 = readClock(this.clock);
    const entry = this.#load(policy, key);
    const done = adjust(entry.buckets, policy, changes, now2, from);
    if (done) this.#save(entry, now2);
    return done;
  }
  renew(policy, key, tokens, move) {
    const now2 = readClock(this.clock);
    const entry = this.#load(policy, key);
    const isHeld = renewHeld(entry.buckets, policy, tokens, now2, move);
    this.#save(entry, now2);
    return isHeld;
  }
  /** A block takes the place of one bucket. */
  block(policy, key, forMs) {
    const now2 = readClock(this.clock);
    this.#load(policy, key);
    if (forMs === 0) return this.#table.delete(this.#bucketKey, this.#blocks);
    this.#table.get(this.#bucketKey, this.#blocks, this.#block);
    extendBlock(this.#block, forMs, now2);
    this.#table.put(this.#bucketKey, this.#blocks, this.#block, now2);
  }
  reset(policy, key) {
    this.#load(policy, key);
    this.#table.delete(this.#bucketKey, null);
    for (const table of this.#apart.values()) table.delete(this.#bucketKey, null);
  }
  /** Returns how many buckets are kept now, and how many busy ones were removed since the store was created. */
  stats() {
    const tables = [this.#table, ...this.#apart.values()];
    const sumOf = (count) => tables.reduce((sum, table) => sum + table[count], 0);
    return { buckets: sumOf("size"), evictedBusy: sumOf("evictedBusy") };
  }
  #peek(policy, key, costs, now2) {
    return peekBlocked(this.#load(policy, key).buckets, policy, costs, now2, this.#blockMs(now2));
  }
  #take(policy, key, costs, now2) {
    const entry = this.#load(policy, key);
    const blockMs = this.#blockMs(now2);
    const decision = consumeBlocked(entry.buckets, policy, costs, now2, blockMs);
    if (blockMs > 0 && redateBlock(this.#block, now2)) this.#table.put(this.#bucketKey, this.#blocks, this.#block, now2);
    this.#save(entry, now2);
    return decision;
  }
  /** Loads the block of the loaded key, and returns the milliseconds that it has left. */
  #blockMs(now2) {
    if (this.#blocks.buckets === 0) return 0;
    this.#table.get(this.#bucketKey, this.#blocks, this.#block);
    return blockLeft(this.#block, now2);
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
  #save(entry, now2) {
    for (let i = 0; i < entry.limits.length; i++) {
      const bucket = entry.buckets[i];
      const table = entry.tables[i];
      if (bucket.spent > 0) table.put(this.#bucketKey, entry.limits[i], bucket, now2);
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
    const tables = policy.limits.map((limit) => limit.kind.apart === void 0 ? this.#table : this.#tableOf(limit));
    const entry = { policy, salt, limits, tables, buckets };
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

// src/limiter/unlimited.ts
var unlimitedBrand = () => /* @__PURE__ */ Symbol.for("sluice.unlimited");
var unlimited = Object.freeze({ [unlimitedBrand()]: true });
function isUnlimited(value) {
  return typeof value === "object" && value !== null && unlimitedBrand() in value;
}
function withoutLimit({
  policy: { name: policy },
  store: { clock: clock2 }
}) {
  const at = readClock(clock2 === "server" ? monotonicClock : clock2);
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
function costOf(asked, policy, own) {
  return parseCost(policy, typeof asked === "object" ? ownOption(asked, "cost") : asked, own);
}
function policyOf(asked, own) {
  return typeof asked === "object" ? choiceIn(asked, ["cost", "policy"], own, "cost", "a number, or an object with `cost` or `policy`") : own.policy;
}
function checkPolicyIn(asked) {
  if (Object.hasOwn(Object(asked), "policy") && asked.policy !== void 0) return;
  throw new TypeError(
    "Expected `policy` in `peek`, because calls of this limiter name theirs, got none. Write peek(key, { policy })"
  );
}
function chosenPolicy(options, own) {
  return options === void 0 ? own.policy : choiceIn(options, ["policy"], own, "options", "an object with `policy`");
}
function choiceIn(asked, names, own, title, what) {
  if (typeof asked !== "object" || asked === null) throw new TypeError(expected(title, what, asked));
  checkNames(asked, names);
  const policy = ownOption(asked, "policy");
  if (policy === void 0) return own.policy;
  if (isPolicy(policy)) datedWorkOf(policy)?.checkStore(own.store, policy, own.policy);
  else if (!isUnlimited(policy)) throw notDefined(policy, "policy", "made by definePolicy, or `unlimited`");
  return policy;
}
function ownOption(asked, name) {
  return Object.hasOwn(asked, name) ? asked[name] : void 0;
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
function throwOrReject({ sync }, make2) {
  if (sync) return make2();
  try {
    const answer2 = Promise.resolve(make2());
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
    const now2 = guarded.pastNow();
    return Number.isNaN(now2) ? void 0 : { since: Math.floor(now2) };
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
    makeLocal: (clock2) => new MemoryStore({ clock: clock2 })
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
    consume: store.sync ? consume2 : (key, asked) => throwOrReject(store, () => consume2(key, asked))
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
  return (key, asked) => {
    const policy = asked === void 0 ? own : policyOf(asked, base);
    const encoded = encodeKey(key);
    if (limiterChecks) limiterChecks.checkKeyText(key, own);
    if (policy !== own) {
      if (isUnlimited(policy)) return withoutLimit({ store, policy: own });
      tiers2.wereCharged = true;
    }
    const cost = asked === void 0 ? own.ownCosts : costOf(asked, policy, own);
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
    peek(key, asked) {
      requireMethod(store, "peek");
      if (tiers2.wereCharged) checkPolicyIn(asked);
      const [policy, encoded] = [policyOf(asked, base), encodeKey(key)];
      if (isUnlimited(policy)) return () => withoutLimit({ store, policy: own });
      const cost = costOf(asked, policy, own);
      return () => thenOne(guarded.peek(policy, encoded, cost), (decision) => isShadow(key) ? inShadow(decision) : decision);
    }
  };
}
function unguarded(store) {
  return {
    timeoutMs: 100,
    consume: (policy, key, cost) => markNew(checkDecision(store.consume(policy, key, cost), "consume"), store, key),
    peek: (policy, key, cost) => checkDecision(store.peek?.(policy, key, cost), "peek"),
    call: (_buckets, make2) => make2(),
    inBackground: (_buckets, make2) => make2(),
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

// .wb-speed-memory.mjs
var N = 2e5;
function bench(name, make2) {
  const times = [];
  for (let r = 0; r < 7; r++) {
    const step = make2();
    for (let i = 0; i < 2e4; i++) step(i);
    const t = process.hrtime.bigint();
    for (let i = 0; i < N; i++) step(i);
    times.push(Number(process.hrtime.bigint() - t) / N);
  }
  times.sort((a, b) => a - b);
  console.log(name.padEnd(60), times[3].toFixed(0), "ns");
  return times[3];
}
var keys = Array.from({ length: 1e3 }, (_, i) => `user:${i}`);
var now = 1e12;
var clock = () => now;
var make = (limit, moves, many) => () => {
  now = 1e12;
  const limiter = createLimiter({ policy: { name: "api", ...limit }, store: new MemoryStore({ clock }) });
  return (i) => {
    now += moves;
    limiter.consume(many ? keys[i % 1e3] : "user:1");
  };
};
var rate = { capacity: 100, refill: perMinute(100) };
var win = { capacity: 100, returns: afterMs(6e4) };
for (const [what, moves, many] of [
  ["one key, 1 take each 600 ms, allowed (17 dates)", 640, false],
  ["one key, 1 take each 100 ms, mostly refused", 100, false],
  ["1,000 keys in turn, each 1 take in 640 ms (17 dates)", 0.64, true],
  ["1,000 keys in turn, clock stands still, refused", 0, true],
  ["1,000 keys in turn, each 1 take in 60 s (1-2 dates)", 60, true]
]) {
  const a = bench(`rate    ${what}`, make(rate, moves, many));
  const b = bench(`window  ${what}`, make(win, moves, many));
  console.log("  ratio".padEnd(60), (b / a).toFixed(2));
}
