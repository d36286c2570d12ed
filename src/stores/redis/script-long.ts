import { LATEST_MS, MARK_MS } from "./mark.js";

/**
 * The part of the script for all other requests: any number of parts and limits, and any stored value. `script.ts`
 * inserts it where a call first needs it, because creating these functions costs more than a simple decision.
 *
 * `hooks` is put before it, in the scope of these functions: `limits/quota-lua.ts` replaces some of them.
 *
 * Defines `long(run, done, length)`. It answers the request with `KEYS[done + 1]` as its first key and with the run at
 * index `run` of ARGV. It appends to the `length` entries of the reply, and returns their new number.
 */
export const longWay = (hooks: string): string => /* lua */ `
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

-- Fills the part with the present value of the key.
local function read(part, key)
  local limits = part.limits
  part.ours, part.expires = true, 0        -- whether the value is ours or none; when it expires, or 0
  -- for each limit: units spent now, in its own units; ms that the record is ahead of the clock
  part.spent, part.lag = {}, {}
  part.stale = false                       -- the limits whose records are in other numbers or too far ahead, or false
  part.others, part.othersMs = '', 0       -- records of other limits, as they are; ms until they are full
  part.block, part.blockMs = '', 0         -- the record of a block, as it is; what it has left
  part.blockEndMs = 0                      -- ms until it is over: later, if its record is too far ahead
  for j = 1, #limits do part.spent[j], part.lag[j] = 0, 0 end
  local value = get('GET', key)
  if not value then return end

  -- Called with pcall: a value of another type, or a truncated value, must not fail other decisions.
  local ok, version, expires, place = pcall(unpack, HEAD, value)
  if not ok or version ~= VERSION or expires % 1 ~= 0 then part.ours = false return end
  part.expires = expires
  while place <= #value do
    local ok, spent, at, p, q, name, after = pcall(unpack, RECORD, value, place)
    -- NaN and infinity are not whole either.
    if not ok or not (isUnits(spent) and isUnits(p) and isUnits(q) and at % 1 == 0) then part.ours = false return end
    local known = nil
    for j = 1, #limits do
      if limits[j].name == name then known = j end
    end
    if known then
      local limit = limits[known]
      local lag = at - now
      if p ~= limit.p or q ~= limit.q or lag > limit.fullMs then
        part.stale = part.stale or {}
        table.insert(part.stale, limit)
      end
      if lag < 0 then spent = spent + p * lag end
      -- A record further ahead than one whole refill is dated to now and keeps its spent units. So is a record of a
      -- quota that a rate takes over.
      if lag < 0 or lag > limit.fullMs or p == MOST and limit.p < p then lag = 0 end
      if spent > 0 then
        if q ~= limit.q then spent = convert(spent, limit.q, q) end
        part.spent[known], part.lag[known] = spent, lag
      end
    elseif name == BLOCK then
      local lag = at - now
      if spent + lag > 0 then
        part.block, part.blockEndMs = sub(value, place, after - 1), spent + lag
        part.blockMs = lag > spent and spent or spent + lag
      end
    else
      local left = at - now + ceil(spent / p)
      if left > 0 then part.others = part.others .. sub(value, place, after - 1) end
      if left > part.othersMs then part.othersMs = left end
    end
    place = after
  end
end

-- Writes the part back with tokens more spent of each limit. Negative numbers mean fewer, and absent means no change.
-- Full limits are deleted.
local function write(part, key, tokens)
  local limits, records, fullMs = part.limits, part.others .. part.block, max(part.othersMs, part.blockEndMs)
  for j = #limits, 1, -1 do
    local limit, lag = limits[j], part.lag[j]
    local change = (tokens[j] or 0) * limit.q
    -- What has refilled since that instant is not given back again.
    if change < 0 and limit.since and limit.since < now then change = min(0, change + limit.p * (now - limit.since)) end
    local spent = part.spent[j] + change
    if spent > 0 then
      records = pack(RECORD, spent, now + lag, limit.p, limit.q, limit.name) .. records
      local left = lag + ceil(spent / limit.p)
      if left > fullMs then fullMs = left end
    end
  end
  if fullMs == 0 then
    call('DEL', key)
  elseif serverClock and now + fullMs <= part.expires and part.expires <= now + fullMs + 60000 then
    call('SET', key, pack(HEAD, VERSION, part.expires) .. records, 'KEEPTTL')
  else
    local ms = fullMs + 60000
    local value = pack(HEAD, VERSION, now + ms) .. records
    if serverClock then
      call('SET', key, value, 'PXAT', format('%.0f', now + ms))
    else
      -- With a clock other than the server's, the key is kept an hour longer than that clock requires.
      call('SET', key, value, 'PX', format('%.0f', ms + 3600000))
    end
  end
end

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
    local limit, tokens, spent = limits[j], part.tokens[j], part.spent[j]
    if what == 'a' then
      -- What was done before is told as done.
      if spent + tokens * limit.q > MOST and not isRepeated then fits = false end
    elseif tokens > limit.capacity or (tokens > 0 and spent > limit.capacity * limit.q - tokens * limit.q) then
      fits = false
    end
  end
  for j = 1, #limits do
    local spent, lag = part.spent[j], part.lag[j]
    spent = plain(fits and spent or -1 - spent)
    if blockMs > 0 then
      spent = { spent, plain(lag), plain(blockMs) }
    elseif lag > 0 then
      spent = { spent, plain(lag) }
    end
    reply[length + j] = part.ours and spent
  end
  return fits
end

-- The parts of a run. They are the same for all of its requests.
local parts, partsOf = {}, nil
local function readRun(run)
  parts, partsOf = {}, run
  for i = 1, tonumber(ARGV[run + 2]) do
    local limits, place, tokens = {}, tonumber(ARGV[run + 1 + 2 * i]), {}
    for each in string.gmatch(ARGV[run + 2 + 2 * i], '[^,]+') do table.insert(tokens, tonumber(each)) end
    for j = 1, tonumber(ARGV[place]) do
      local at = place + 4 * j - 3
      local name, capacity, p, q = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
      limits[j] = { name = name, capacity = capacity, p = p, q = q, fullMs = ceil(capacity * q / p) }
      local first = tonumber(ARGV[place]) + 6 * j - 5
      if tokens[first + 1] == 0 and tokens[first + 2] == 1 then limits[j].since = tokens[first] end
      -- A single number is for all limits.
      tokens[j] = tokens[j] or tokens[1]
    end
    parts[i] = { limits = limits, tokens = tokens }
  end
end

${hooks}
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
    local part = parts[i]
    read(part, KEYS[done + i])
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
      local blocked = { limits = {} }
      read(blocked, key)
      local ms = part.tokens[1]
      blockFor(blocked, ms > 0 and max(part.blockMs, ms) or 0)
      write(blocked, key, {})
    elseif allFit then
      if not (isOnce and isRepeated) then write(part, key, part.tokens) end
    elseif what == 'c' and (part.stale or part.blockEndMs > 2 * part.blockMs) then
      -- A refusal changes no tokens. It only converts records in old numbers, and records too far ahead of the clock,
      -- once.
      local settled = { limits = part.stale or {} }
      read(settled, key)
      if part.blockEndMs > 2 * part.blockMs then blockFor(settled, part.blockMs) end
      write(settled, key, {})
    end
  end
  return length
end
`;
