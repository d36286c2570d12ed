/**
 * The script that decides inside of Redis: the arithmetic of `core/bucket.ts`, run by the server that keeps the buckets.
 *
 * One call carries any number of requests, which are decided in order. A request has one part, or several that are charged
 * together or not at all. Lua's numbers are the doubles of JavaScript, so both come to the same to the last unit.
 *
 * KEYS: the key of each part, in the order of the parts; all in one slot of a cluster.
 *
 * ARGV:
 *   1. the time in ms, or an empty string for the server's own
 *   2. how many policies follow; for each policy
 *        how many limits it has; for each limit
 *          its name, its capacity in tokens, units per ms (p), units per token (q), ms from empty to full
 *   then for each run of requests that ask alike
 *     what to do: "c" consume, "p" peek, "r" refund, "d" delete; how many requests; how many parts each has; for each part
 *       the place of its policy (from 1), tokens
 *
 * Answers a flat list of integers: the time in ms, then for each part
 *   1 charged or would be, 0 refused, -1 the key holds something foreign; for each limit of its policy
 *     units spent before this request, ms that the record lies ahead of the clock
 *
 * Stored value, in bytes: 1, the version of this format; when the key expires, in ms; then for each limit that is not full
 * spent, at, p and q, and its name, which a zero ends. Numbers are doubles, the least byte first: exact, and read and written
 * in a tenth of the time that decimals take. Limits of unknown names belong to another version of the policy and are kept
 * until they are full.
 *
 * A key expires when all of it has been full for as long as filling it takes, a minute at most, and never sooner. So most
 * writes can leave the expiry as it is (KEEPTTL), which halves what they cost.
 */
export const SCRIPT = `
local now = tonumber(ARGV[1])
local serverClock = not now
if serverClock then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local arg = 1
local function nextArg()
  arg = arg + 1
  return ARGV[arg]
end
local function nextNumber()
  return tonumber(nextArg())
end

-- a * b / c, rounded up, exactly: long multiplication by doubling, where no number passes 2^53. Saturates at 2^53 - 1.
local MOST = 9007199254740991
local function convert(a, b, c)
  local whole, rest = math.floor(a / c), a % c
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
  return math.min(quotient, MOST)
end

local VERSION, HEAD, RECORD = 1, '<Bd', '<dddds'
local get, call, pcall, pack, unpack, ceil = redis.pcall, redis.call, pcall, struct.pack, struct.unpack, math.ceil

local function newPolicy(limits)
  local places = {}
  for j, limit in ipairs(limits) do places[limit.name] = j end
  return { limits = limits, places = places }
end

-- One bucket of a request; the tables are filled anew for each request of a run.
local function newPart(policy, tokens)
  return {
    limits = policy.limits, places = policy.places, tokens = tokens,
    ours = true, expires = 0,     -- whether the key's value is ours or none; when it expires, or 0
    spent = {}, lag = {},         -- for each limit: units spent now, in its own units; ms that the record is ahead of the clock
    stale = false,                -- the limits whose records are counted in other numbers, or false
    others = '', othersMs = 0     -- records of other limits, as they are; ms until they are full
  }
end

-- Fills the part with what the key holds now.
local function read(part, key)
  local limits, spents, lags = part.limits, part.spent, part.lag
  for j = 1, #limits do spents[j], lags[j] = 0, 0 end
  part.ours, part.expires, part.stale, part.others, part.othersMs = true, 0, false, '', 0
  local value = get('GET', key)
  if not value then return end

  -- Guarded, for the value may be of another type, or cut off: that must fail its own decision and no other.
  local ok, version, expires, place = pcall(unpack, HEAD, value)
  if not ok or version ~= VERSION then part.ours = false return end
  part.expires = expires
  while place <= #value do
    local ok, spent, at, p, q, name, after = pcall(unpack, RECORD, value, place)
    if not ok or not (spent > 0 and spent <= MOST and p > 0 and p <= MOST and q > 0 and q <= MOST and at - at == 0) then
      part.ours = false
      return
    end
    local j = part.places[name]
    if j then
      local limit = limits[j]
      if p ~= limit.p or q ~= limit.q then
        part.stale = part.stale or {}
        table.insert(part.stale, limit)
      end
      local lag = at - now
      if lag <= limit.fullMs then
        if lag < 0 then spent, lag = spent + p * lag, 0 end
        if spent > 0 then
          if q ~= limit.q then spent = convert(spent, limit.q, q) end
          spents[j], lags[j] = spent, lag
        end
      end
    else
      local left = at - now + ceil(spent / p)
      if left > 0 then part.others = part.others .. value:sub(place, after - 1) end
      if left > part.othersMs then part.othersMs = left end
    end
    place = after
  end
end

-- Writes the part back with so many tokens more spent (or fewer, when negative), or deletes what is full.
local function write(part, key, tokens)
  local limits, records, fullMs = part.limits, part.others, part.othersMs
  for j = 1, #limits do
    local limit = limits[j]
    local spent, lag = part.spent[j] + tokens * limit.q, part.lag[j]
    if spent > 0 then
      records = pack(RECORD, spent, now + lag, limit.p, limit.q, limit.name) .. records
      local left = lag + ceil(spent / limit.p)
      if left > fullMs then fullMs = left end
    end
  end
  if fullMs == 0 then
    call('DEL', key)
  elseif serverClock and now + fullMs <= part.expires then
    call('SET', key, pack(HEAD, VERSION, part.expires) .. records, 'KEEPTTL')
  else
    local ms = fullMs + math.min(fullMs, 60000)
    local value = pack(HEAD, VERSION, now + ms) .. records
    if serverClock then
      call('SET', key, value, 'PXAT', string.format('%.0f', now + ms))
    else
      -- Under a clock that is not the server's the key lives an hour beyond what that clock says.
      call('SET', key, value, 'PX', string.format('%.0f', ms + 3600000))
    end
  end
end

local policies = {}
for i = 1, nextNumber() do
  local limits = {}
  for j = 1, nextNumber() do
    limits[j] = { name = nextArg(), capacity = nextNumber(), p = nextNumber(), q = nextNumber(), fullMs = nextNumber() }
  end
  policies[i] = newPolicy(limits)
end

local reply = { now }
local length = 1
local done = 0
while arg < #ARGV do
  local what, requests, parts = nextArg(), nextNumber(), {}
  for i = 1, nextNumber() do
    local policy = policies[nextNumber()]
    parts[i] = newPart(policy, nextNumber())
  end

  for _ = 1, requests do
    local allFit = true
    for i, part in ipairs(parts) do
      local tokens = part.tokens
      read(part, KEYS[done + i])
      length = length + 1
      local verdictAt, fits = length, 1
      for j, limit in ipairs(part.limits) do
        local spent = part.spent[j]
        if tokens > limit.capacity or (tokens > 0 and spent > limit.capacity * limit.q - tokens * limit.q) then fits = 0 end
        reply[length + 1], reply[length + 2] = spent, part.lag[j]
        length = length + 2
      end
      if not part.ours then fits = -1 end
      reply[verdictAt] = fits
      if fits < 1 then allFit = false end
    end

    for i, part in ipairs(parts) do
      local key = KEYS[done + i]
      if what == 'd' then
        for j = 1, #part.limits do part.spent[j] = 0 end
        write(part, key, 0)
      elseif not part.ours or what == 'p' then
        -- Nothing is written.
      elseif what == 'r' then
        write(part, key, -part.tokens)
      elseif allFit then
        write(part, key, part.tokens)
      elseif part.stale then
        -- Refused; but what was counted in old numbers is settled once, and that alone.
        local settled = newPart(newPolicy(part.stale), 0)
        read(settled, key)
        write(settled, key, 0)
      end
    end
    done = done + #parts
  end
end
return reply
`;
