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
 *   then for each request
 *        what to do: "c" consume, "p" peek, "r" refund, "d" delete; how many parts follow; for each part
 *          the place of its policy (from 1), tokens
 *
 * Answers a flat list of integers: the time in ms, then for each part
 *   1 charged or would be, 0 refused, -1 the key holds something foreign; for each limit of its policy
 *     units spent before this request, ms that the record lies ahead of the clock
 *
 * Stored value: "1", the version of this format, then for each limit that is not full " name spent at p q". Unknown names
 * belong to another version of the policy and are kept until they are full.
 */
export const SCRIPT = `
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

local arg = 1
local function nextArg()
  arg = arg + 1
  return ARGV[arg]
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

-- The records under a key, by limit name; read once for the whole call. False for a value that is not ours.
local rows = {}
local function load(key)
  local row = rows[key]
  if row ~= nil then return row end
  local value = redis.pcall('GET', key)
  if not value then
    row = {}
  elseif type(value) ~= 'string' or value:sub(1, 2) ~= '1 ' then
    row = false
  else
    row = {}
    for name, spent, at, p, q in value:gmatch(' (%S+) (%S+) (%S+) (%S+) (%S+)') do
      row[name] = { spent = tonumber(spent), at = tonumber(at), p = tonumber(p), q = tonumber(q) }
    end
  end
  rows[key] = row
  return row
end

-- What a record still has spent now, in units of the limit, and how far it lies ahead of the clock.
local function settle(record, limit)
  if not record or record.spent == 0 or record.at - now > limit.fullMs then return 0, 0 end
  local lag = math.max(0, record.at - now)
  local spent = math.max(0, record.spent - record.p * math.max(0, now - record.at))
  if record.q ~= limit.q then spent = convert(spent, limit.q, record.q) end
  return spent, lag
end

local policies = {}
for i = 1, tonumber(nextArg()) do
  local limits = {}
  for j = 1, tonumber(nextArg()) do
    limits[j] = {
      name = nextArg(), capacity = tonumber(nextArg()),
      p = tonumber(nextArg()), q = tonumber(nextArg()), fullMs = tonumber(nextArg())
    }
  end
  policies[i] = limits
end

local reply = { now }
local changed = {}
local place = 0
while arg < #ARGV do
  local what = nextArg()
  local count = tonumber(nextArg())
  local parts = {}
  local fits = true
  for i = 1, count do
    place = place + 1
    local part = { key = KEYS[place], limits = policies[tonumber(nextArg())], tokens = tonumber(nextArg()), fits = 1, spent = {}, lag = {} }
    parts[i] = part
    local row = load(part.key)
    for j, limit in ipairs(part.limits) do
      local spent, lag = settle(row and row[limit.name], limit)
      part.spent[j], part.lag[j] = spent, lag
      if part.tokens > limit.capacity or (part.tokens > 0 and spent - (limit.capacity * limit.q - part.tokens * limit.q) > 0) then
        part.fits = 0
      end
    end
    if row == false then part.fits = -1 end
    if part.fits < 1 then fits = false end
  end

  for _, part in ipairs(parts) do
    local row = rows[part.key]
    reply[#reply + 1] = part.fits
    for j, limit in ipairs(part.limits) do
      reply[#reply + 1] = part.spent[j]
      reply[#reply + 1] = part.lag[j]
      if row and what ~= 'p' then
        local record = row[limit.name]
        local spent = part.spent[j]
        local write = record and (record.p ~= limit.p or record.q ~= limit.q)
        if what == 'c' and fits then
          spent, write = spent + part.tokens * limit.q, true
        elseif what == 'r' then
          spent, write = math.max(0, spent - part.tokens * limit.q), true
        elseif what == 'd' then
          spent, write = 0, true
        end
        if write then
          row[limit.name] = spent > 0 and { spent = spent, at = now + part.lag[j], p = limit.p, q = limit.q } or nil
          changed[part.key] = true
        end
      end
    end
    if what == 'd' and not row then
      rows[part.key] = {}
      changed[part.key] = true
    end
  end
end

-- One write for each key that changed, living exactly until all of it is full: rounded up, and never zero.
for key in pairs(changed) do
  local value, fullMs = '1', 0
  for name, record in pairs(rows[key]) do
    local left = record.at + math.ceil(record.spent / record.p) - now
    if left > 0 then
      value = value .. string.format(' %s %.0f %.0f %.0f %.0f', name, record.spent, record.at, record.p, record.q)
      fullMs = math.max(fullMs, left)
    end
  end
  if fullMs > 0 then
    -- Under a clock that is not the server's the key must outlive whatever that clock may do.
    if ARGV[1] ~= '' then fullMs = fullMs + 3600000 end
    redis.call('SET', key, value, 'PX', string.format('%.0f', fullMs))
  else
    redis.call('DEL', key)
  end
end
return reply
`;
