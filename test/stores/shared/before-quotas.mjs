// The records of a key, as the version before quotas decided them and wrote them as text: its definePolicy, consumeRecords,
// encodeRecords and decodeRecords, bundled from commit 93257760. It is never edited.
/* oxlint-disable */
// ../../../tmp/q-old/src/core/check.ts
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
function checkNames(options, names, explain) {
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) throw new TypeError(`Unknown option \`${name}\`${explain?.(name, names) ?? suggestion(name, names)}`);
  }
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

// ../../../tmp/q-old/src/core/limit.ts
var LIMIT_OPTIONS = ["name", "capacity", "refill", "cost", "unit"];
function makeLimit(options, name) {
  const own = ownMembers(options);
  const capacity = positiveInteger("capacity", own.capacity);
  const refill = checkOptions(own.refill, ["tokens", "everyMs"], "an object such as perSecond(5)", explainRefill, "refill");
  const tokens = positiveInteger("refill.tokens", refill.tokens, ". For one token every two seconds write { tokens: 1, everyMs: 2000 }.");
  const everyMs = positiveInteger("refill.everyMs", refill.everyMs);
  const divisor = greatestCommonDivisor(tokens, everyMs);
  const unitsPerMs = tokens / divisor;
  const unitsPerToken = everyMs / divisor;
  const size = capacity * unitsPerToken;
  if (size > Number.MAX_SAFE_INTEGER) {
    const most = Math.floor(Number.MAX_SAFE_INTEGER / unitsPerToken);
    throw new RangeError(`${expected("capacity", `at most ${most} at this refill`, capacity)}. Lower it, or shorten \`refill.everyMs\`.`);
  }
  const fullMs = Math.ceil(size / unitsPerMs);
  const cost = own.cost === void 0 ? 1 : wholeNumber("cost", own.cost);
  if (cost > capacity) throw new RangeError(`${expected("cost", `at most the capacity, ${capacity}`, cost)}. Lower it, or raise \`capacity\`.`);
  const unit = own.unit === void 0 ? {} : { unit: checkName("unit", own.unit) };
  const written = { name, capacity, refill: Object.freeze({ tokens, everyMs }), ...unit };
  const computed = { unitsPerMs, unitsPerToken, size, fullMs };
  return own.cost === void 0 ? withComputed(written, { ...computed, cost }) : withComputed({ ...written, cost }, computed);
}
var explainRefill = () => " of `refill`. Write { tokens: 5, everyMs: 60_000 }, or perMinute(5)";
function withComputed(written, computed) {
  for (const name of Reflect.ownKeys(computed)) Object.defineProperty(written, name, { value: computed[name] });
  return Object.freeze(written);
}
function greatestCommonDivisor(a, b) {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}
function costAt(costs, position) {
  return typeof costs === "number" ? costs : costs[position];
}
function simplest(list) {
  return list.every((each) => each === list[0]) ? list[0] : list;
}

// ../../../tmp/q-old/src/core/policy.ts
var POLICY_OPTIONS = ["name", "capacity", "refill", "unit", "limits"];
function makePolicy(name, limits) {
  const maxCost = Math.min(...limits.map((limit) => limit.capacity));
  const ownCosts = simplest(Object.freeze(limits.map(({ cost }) => cost)));
  return withComputed({ name, limits: Object.freeze(limits) }, { maxCost, ownCosts, [/* @__PURE__ */ Symbol.for("sluice.policy")]: true });
}
function isPolicy(value) {
  return /* @__PURE__ */ Symbol.for("sluice.policy") in Object(value);
}
function definePolicy(options) {
  if (isPolicy(options)) return options;
  const own = checkOptions(options, POLICY_OPTIONS, "an object with `capacity` and `refill`, or with `limits`", void 0, "policy");
  const name = checkName("policy.name", own.name === void 0 ? "default" : own.name);
  if (/^[^A-Za-z]/.test(name)) throw new RangeError(expected("policy.name", "a name that starts with a letter", name));
  if (own.limits === void 0) return makePolicy(name, [makeLimitOf(own.name, own, name)]);
  if (own.capacity !== void 0 || own.refill !== void 0 || own.unit !== void 0) {
    throw new TypeError("Expected `policy` to have either `limits` or `capacity` and `refill`, got both. Move them into `limits`.");
  }
  const written = Array.isArray(own.limits) ? own.limits : [];
  const [first, ...others] = written.map((each, i) => {
    const limit = checkOptions(each, LIMIT_OPTIONS, "an object with `capacity` and `refill`", void 0, "limit");
    const limitName = checkName("limit.name", limit.name === void 0 ? String(i + 1) : limit.name);
    return makeLimitOf(`${name}", limit "${limitName}`, limit, limitName);
  });
  if (first === void 0) throw new TypeError(expected("policy.limits", "a list of at least one limit", own.limits));
  const names = [first, ...others].map((limit) => limit.name);
  if (new Set(names).size !== names.length) {
    throw new RangeError(`Expected the limits of policy "${name}" to have different names, got ${names.join(", ")}. Give each a \`name\`.`);
  }
  return makePolicy(name, [first, ...others]);
}
function makeLimitOf(owner, limit, name) {
  try {
    return makeLimit(limit, name);
  } catch (error) {
    if (owner === void 0) throw error;
    throw Object.assign(error, { message: `Policy "${owner}": ${error.message}` });
  }
}

// ../../../tmp/q-old/src/core/bucket.ts
function fullBucket(limit) {
  if (limit.unitsPerMs === void 0) throw notDefined(limit);
  return { spent: 0, at: 0, unitsPerMs: limit.unitsPerMs, unitsPerToken: limit.unitsPerToken };
}
function spentAt(bucket, limit, now) {
  if (bucket.spent === 0) return 0;
  const refilled = bucket.unitsPerMs * Math.max(0, now - bucket.at);
  const spent = Math.max(0, bucket.spent - refilled);
  return bucket.unitsPerToken === limit.unitsPerToken ? spent : convert(spent, bucket.unitsPerToken, limit.unitsPerToken);
}
function lagAt(bucket, limit, now) {
  return bucket.at <= now || bucket.spent === 0 || isImpossible(bucket, limit, now) ? 0 : bucket.at - now;
}
function waitFor(cost, spent, limit) {
  const over = spent - (limit.size - cost * limit.unitsPerToken);
  return over <= 0 ? 0 : Math.ceil(over / limit.unitsPerMs);
}
function charge(bucket, limit, now, units) {
  const spent = spentAt(bucket, limit, now);
  bucket.at = now + lagAt(bucket, limit, now);
  bucket.spent = Math.max(0, spent + units);
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

// ../../../tmp/q-old/src/core/decision.ts
function consume(buckets, policy, costs, now) {
  const decision = decide(buckets, policy, costs, now, true);
  if (!decision.allowed) settleStale(buckets, policy, now);
  else for (let i = 0; i < buckets.length; i++) chargeAt(buckets, policy, i, costAt(costs, i), now);
  return decision;
}
function peek(buckets, policy, costs, now) {
  return decide(buckets, policy, costs, now, false);
}
function settleStale(buckets, policy, now) {
  for (let i = 0; i < buckets.length; i++) {
    if (isStale(buckets[i], policy.limits[i], now)) chargeAt(buckets, policy, i, 0, now);
  }
}
function whileBlocked(decision, blockMs) {
  const isImpossible2 = decision.reason === "cost_above_capacity";
  const blocked = (reading) => {
    const { remaining, retryAfterMs, nextTokenMs, resetMs } = reading;
    const waits = [retryAfterMs, remaining > 0 ? 0 : nextTokenMs, resetMs].map((ms) => Math.max(ms, blockMs));
    return { ...reading, remaining: 0, retryAfterMs: waits[0], nextTokenMs: waits[1], resetMs: waits[2] };
  };
  const refused = { ...blocked(decision), allowed: false, blocked: true, reason: isImpossible2 ? "cost_above_capacity" : "limited" };
  if (decision.limits === null) return refused;
  const limits = decision.limits.map(blocked);
  return { ...refused, ...limits.reduce((a, b) => bindsMore(b, a) ? b : a), limits };
}
function chargeAt(buckets, policy, i, tokens, now) {
  const limit = policy.limits[i];
  charge(buckets[i], limit, now, tokens * limit.unitsPerToken);
}
function decide(buckets, policy, costs, now, take) {
  if (policy.limits.length > 1) return decideSeveral(buckets, policy, costs, now, take);
  return answer(buckets[0], policy, 0, costAt(costs, 0), now, take);
}
function decideSeveral(buckets, policy, costs, now, take) {
  const taken = take && policy.limits.every((limit, i) => waitOf(limit, costAt(costs, i), spentAt(buckets[i], limit, now)) === 0);
  const all = policy.limits.map((_, i) => answer(buckets[i], policy, i, costAt(costs, i), now, taken));
  const limits = all.map(readingOf);
  const binding = all.reduce((a, b) => bindsMore(b, a) ? b : a);
  binding.limits = limits;
  return binding;
}
function waitOf(limit, cost, spent) {
  if (cost === 0) return 0;
  return cost > limit.capacity ? Infinity : waitFor(cost, spent, limit);
}
function answer(bucket, policy, position, cost, now, take) {
  const limit = policy.limits[position];
  const before = spentAt(bucket, limit, now);
  const lag = lagAt(bucket, limit, now);
  const wait = waitOf(limit, cost, before);
  const spent = take && wait === 0 ? before + cost * limit.unitsPerToken : before;
  const remaining = Math.max(0, Math.floor((limit.size - spent) / limit.unitsPerToken));
  return {
    allowed: wait === 0,
    reason: wait === 0 ? null : wait === Infinity ? "cost_above_capacity" : "limited",
    policy: policy.name,
    limit: limit.name,
    cost,
    capacity: limit.capacity,
    remaining,
    retryAfterMs: wait === 0 ? 0 : wait + lag,
    nextTokenMs: spent === 0 ? 0 : waitFor(remaining + 1, spent, limit) + lag,
    resetMs: Math.ceil(spent / limit.unitsPerMs) + lag,
    limits: null,
    at: now,
    degraded: false
  };
}
function readingOf({ limit, cost, capacity, remaining, retryAfterMs, nextTokenMs, resetMs }) {
  return { limit, cost, capacity, remaining, retryAfterMs, nextTokenMs, resetMs };
}
function bindsMore(a, b) {
  if (a.retryAfterMs !== b.retryAfterMs) return a.retryAfterMs > b.retryAfterMs;
  if (hasFewerLeft(a, b) || hasFewerLeft(b, a)) return hasFewerLeft(a, b);
  return a.nextTokenMs > b.nextTokenMs;
}
function hasFewerLeft(a, b) {
  return a.cost === b.cost ? a.remaining < b.remaining : requestsLeft(a) < requestsLeft(b);
}
function requestsLeft({ remaining, cost }) {
  return cost === 0 ? Infinity : remaining / cost;
}

// ../../../tmp/q-old/src/core/records.ts
var BLOCK = "!";
var BLOCK_LIMIT = {
  name: BLOCK,
  capacity: 0,
  refill: { tokens: 1, everyMs: 1 },
  cost: 0,
  unitsPerMs: 1,
  unitsPerToken: 1,
  size: 0,
  fullMs: 0
};
function blockLeft({ spent, at }, now) {
  const ahead = at - now;
  return ahead > spent ? spent : Math.max(0, spent + ahead);
}
function settleBlock(block, now) {
  const isImpossible2 = block.at - now > block.spent;
  if (isImpossible2 && block.spent > 0) block.at = now;
  return isImpossible2 && block.spent > 0;
}
function consumeBlocked(buckets, policy, costs, now, blockMs) {
  if (blockMs <= 0) return consume(buckets, policy, costs, now);
  settleStale(buckets, policy, now);
  return peekBlocked(buckets, policy, costs, now, blockMs);
}
function peekBlocked(buckets, policy, costs, now, blockMs) {
  const decision = peek(buckets, policy, costs, now);
  return blockMs > 0 ? whileBlocked(decision, blockMs) : decision;
}
function consumeRecords(records, policy, costs, now) {
  const buckets = bucketsOf(records, policy);
  const block = blockOf(records);
  const isStaleRecord = policy.limits.some((limit, i) => isStale(buckets[i], limit, now));
  const decision = consumeBlocked(buckets, policy, costs, now, blockLeft(block, now));
  const isBlockSettled = settleBlock(block, now);
  if (isBlockSettled) records.set(BLOCK, block);
  const changed = decision.allowed || isStaleRecord || isBlockSettled;
  if (changed) keep(records, policy, buckets);
  return { decision, changed };
}
function blockOf(records) {
  return { ...records.get(BLOCK) ?? fullBucket(BLOCK_LIMIT) };
}
function bucketsOf(records, policy) {
  return policy.limits.map((limit) => ({ ...fullBucket(limit), ...records.get(limit.name) }));
}
function keep(records, { limits }, buckets) {
  limits.forEach(({ name }, i) => {
    const bucket = buckets[i];
    if (bucket.spent === 0) records.delete(name);
    else records.set(name, bucket);
  });
}

// ../../../tmp/q-old/src/core/errors.ts
var SluiceError = class extends Error {
  /** The class's name, safe from minifiers. Becomes the error's `name`. */
  static kind = "SluiceError";
  /** @internal Made by sluice and by stores. */
  constructor(code, message, options) {
    super(message, options);
    this.name = new.target.kind;
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

// ../../../tmp/q-old/src/stores/shared/store-error.ts
var StoreError = class extends SluiceError {
  static kind = "StoreError";
};

// ../../../tmp/q-old/src/stores/shared/records.ts
var FORMAT = "sluice1";
var RECORDS = /^sluice1(?: (?:!|[A-Za-z0-9][\w.-]*)(?: -?\d+){4})*$/;
function encodeRecords(records, now) {
  let value = FORMAT;
  let ttlMs = 0;
  for (const [name, { spent, at, unitsPerMs, unitsPerToken }] of records) {
    const left = at + Math.ceil(spent / unitsPerMs) - now;
    if (spent === 0 || left <= 0) continue;
    value += ` ${name} ${spent} ${at} ${unitsPerMs} ${unitsPerToken}`;
    ttlMs = Math.max(ttlMs, left);
  }
  return { value, ttlMs };
}
function decodeRecords(value, name) {
  const [, ...fields] = value.split(" ");
  const records = /* @__PURE__ */ new Map();
  let foreign = !RECORDS.test(value);
  for (let i = 0; i < fields.length && !foreign; i += 5) {
    const [spent, at, unitsPerMs, unitsPerToken] = fields.slice(i + 1, i + 5).map(Number);
    const whole = [spent, at, unitsPerMs, unitsPerToken].every(Number.isSafeInteger);
    foreign = !(whole && spent >= 0 && unitsPerMs >= 1 && unitsPerToken >= 1);
    records.set(fields[i], { spent, at, unitsPerMs, unitsPerToken });
  }
  if (foreign) {
    throw new StoreError(
      "ERR_STORE_FOREIGN_VALUE",
      `Expected ${JSON.stringify(name)} to hold a bucket, got another program's value. Give the buckets their own namespace.`
    );
  }
  return records;
}
export {
  consumeRecords,
  decodeRecords,
  definePolicy,
  encodeRecords
};
