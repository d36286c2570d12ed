/**
 * The part of the long way that reads and writes the value of a key: `read(limits, key)` and
 * `write(part, key, isTaken)`.
 *
 * Limits that are no rates come with their `LimitDates` as JSON. Their p is the largest
 * number, so nothing of a record comes back before its `at`, and all of it after that. A quota has one record, whose
 * `at` is the date of its tokens. A limit in flight has one record for each date, all of them named `~` and the limit's
 * name. A window has one for each amount, named `^` and its name, in the order of their dates. Their tokens go by their
 * dates; those of a rate or a quota are one sum. Their q is 1, but for windows.
 */
export const recordsOfKey = (): string => /* lua */ `
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
  local date = limit.backTo
  if date then
    i = 1
    while list[i] and list[i] < date do i = i + 3 end
    if date < now or not list[i] or list[i + 2] > date then return end
  end
  while tokens > 0 and i > 0 do
    local left = list[i + 1] - tokens
    list[i + 1] = left
    if left <= 0 then removeAmount(list, i) end
    tokens, i = date and 0 or -left, i - 3
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
    if limit and limit.kind == 'window' then
      if lag > limit.fullMs then limit.isStale, part.isStale = true, true end
      if lag >= 0 then
        local latest = now + limit.fullMs
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
  local limits, first, last, keptMs = part.limits, part.others, part.block, max(part.othersMs, part.blockEndMs)
  for j = #limits, 1, -1 do
    local limit = limits[j]
    local p, q, change, lag, dates = limit.p, limit.q, isTaken and limit.tokens or 0, limit.lag, limit.dates
    if limit.kind == 'window' then
      if change > 0 then takeFrom(dates, now + limit.fullMs, change) else giveBackTo(dates, limit, -change) end
      for i = #dates - 2, 1, -3 do
        local at = dates[i]
        first = pack(RECORD, dates[i + 1], at, p, at - dates[i + 2] + 1, limit.name) .. first
        keptMs = max(keptMs, at - now + 1)
      end
      dates = {}
    elseif dates then
      local date = change > 0 and limit.date or limit.backTo
      if date then addTo(dates, date, change) end
      -- Takes first: where both are one date, the sum would pass 2^53.
      if limit.moved and limit.movedTo >= now then
        addTo(dates, limit.movedTo, addTo(dates, limit.backTo, -limit.moved))
      end
    else
      if change > 0 then
        if limit.date then lag = max(lag, limit.date - now) end
      -- Tokens of a quota go back to a record of exactly their date. A stale record has none.
      elseif limit.backTo and (limit.isStale or limit.backTo ~= now + lag) then
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
        if limit.kind == 'in-flight' then last = record .. last else first = record .. first end
        keptMs = max(keptMs, at - now + ceil(spent / p))
      end
    end
  end
  if keptMs == 0 then
    call('DEL', key)
  elseif serverClock and now + keptMs <= part.expires and part.expires <= now + keptMs + 60000 then
    call('SET', key, pack(HEAD, VERSION, part.expires) .. first .. last, 'KEEPTTL')
  else
    local ms = keptMs + 60000
    local value = pack(HEAD, VERSION, now + ms) .. first .. last
    if serverClock then
      call('SET', key, value, 'PXAT', format('%.0f', now + ms))
    else
      -- With a clock other than the server's, the key is kept an hour longer than that clock requires.
      call('SET', key, value, 'PX', format('%.0f', ms + 3600000))
    end
  end
end
`;
