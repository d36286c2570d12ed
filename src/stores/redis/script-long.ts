import { recordsOfKey } from "./script-records.js";

/**
 * The part of the script for all other requests: any number of parts and limits, and any stored value. `script.ts`
 * inserts it where a call first needs it, because creating these functions costs more than a simple decision.
 *
 * Defines `long(run, done, length)`. It answers the request with `KEYS[done + 1]` as its first key and with the run at
 * index `run` of ARGV. It appends to the `length` entries of the reply, and returns their new number.
 */
export const longWay = (): string => /* lua */ `
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

-- Completes a limit, which has its dates, by the arguments from the index at on.
local function limitOf(limit, at)
  limit.name, limit.capacity = ARGV[at], tonumber(ARGV[at + 1])
  limit.p, limit.q = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  if limit.kind == 'rate' then
    limit.fullMs = ceil(limit.capacity * limit.q / limit.p)
  elseif limit.kind == 'quota' then
    -- Tokens that are taken now have the date of this period.
    limit.date = now <= limit.dueBefore and limit.dueBefore or now <= limit.due and limit.due or limit.dueAfter
    if now < limit.dueFrom or limit.date < now then limit.date = false end
  else
    limit.dates = {}
    limit.name = (limit.kind == 'window' and '^' or '~') .. limit.name
    if limit.step then limit.date = floor((now + limit.fullMs) / limit.step) * limit.step - 1 end
  end
  return limit
end

-- The parts of a run, with the limits that are the same for all of its requests.
local parts, partsOf = {}, nil
local function readRun(run)
  parts, partsOf = {}, run
  for i = 1, tonumber(ARGV[run + 2]) do
    local place, limits, numbers = tonumber(ARGV[run + 1 + 2 * i]), {}, {}
    local tokens, dates = string.match(ARGV[run + 2 + 2 * i], '([^[]+)(.*)')
    for each in string.gmatch(tokens, '[^,]+') do table.insert(numbers, tonumber(each)) end
    dates = dates ~= '' and cjson.decode(dates) or {}
    for j = 1, tonumber(ARGV[place]) do
      limits[j] = limitOf(dates[j] or { kind = 'rate' }, place + 4 * j - 3)
      -- A single number is for all limits.
      limits[j].tokens = numbers[j] or numbers[1]
    end
    parts[i] = { limits = limits }
  end
end

long = function(run, done, length)
  if partsOf ~= run then readRun(run) end
  local what, allFit = ARGV[run], true
  local isOnce = what == 'A'
  if isOnce then what = 'a' end
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
`;

/**
 * The part of the script for the most common request of a window: it consumes from one limit, and the value of the key
 * has that limit's records only. `script.ts` inserts it where a call first needs it.
 *
 * Defines `inWindow(key, name, ms, tokens, capacity)`, with the ms from now to the date of new tokens. It takes the
 * tokens if they fit, and returns the entry of the reply: the units spent before, and the ms until the first of them
 * come back. Returns nil for the long way, which has the same results and decides all refusals.
 *
 * The records of a limit stand together, and have one length. So the name in the first and in the last of them is that
 * of all.
 */
export const windowWay = (): string => /* lua */ `
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
      kept = pack(RECORD, both, last, MOST, last - start + 1, name)
      kept = sub(value, from, place - size - 1) .. kept .. sub(value, place + size)
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
`;
