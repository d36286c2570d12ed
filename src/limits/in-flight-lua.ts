/**
 * Changes the long way of the script for Redis, so that it knows limits in flight (`stores/redis/script-long.ts`). The
 * store adds it to the script when it meets the first policy with such a limit.
 *
 * Six numbers for each limit follow the tokens of all limits: the date of the tokens that are given back, or 0; minus
 * the longest time until a date, which tells the limit from a quota; the step of dates; the date that tokens move to,
 * or 0; how many move; and `staleAfterMs`. The records have one entry for each date, named `~` and the limit's name:
 * its tokens as spent, the date as `at`, 2^53 - 1 as p and 1 as q. The script as it was before keeps such entries until
 * they are over.
 *
 * The reply is a list: the number as for other limits, 0, the ms until a block ends or 0, then each date with its
 * tokens.
 */
export const IN_FLIGHT_LUA = /* lua */ `
local readRunOfOthers, readOthers, judgeOthers, writeOthers = readRun, read, judge, write

readRun = function(run)
  readRunOfOthers(run)
  for i = 1, #parts do
    local limits, tokens = parts[i].limits, parts[i].tokens
    for j = 1, #limits do
      local limit, first = limits[j], #limits + 6 * j - 5
      local longest = tokens[first] and tokens[first + 1]
      if longest and longest < 0 then
        local step = tokens[first + 2]
        limit.isHeld, limit.from, limit.fullMs = true, tokens[first], -longest
        limit.date = ceil((now + tokens[first + 5]) / step) * step - 1
        limit.to, limit.moved = tokens[first + 3], tokens[first + 4]
        -- A record under its name is of a rate or a quota, in another version of the policy. It stays as it is.
        limit.entries, limit.name = '~' .. limit.name, ''
      end
    end
  end
end

-- Adds tokens to a date of a list of dates, or takes as many as are there. Dates without tokens are removed.
local function addTo(dates, date, tokens)
  local place = 1
  while dates[place] and dates[place][1] < date do place = place + 1 end
  if not dates[place] or dates[place][1] > date then table.insert(dates, place, { date, 0 }) end
  local entry = dates[place]
  entry[2] = entry[2] + tokens
  if entry[2] <= 0 then table.remove(dates, place) end
end

read = function(part, key)
  readOthers(part, key)
  local heldBy, limits = {}, part.limits
  part.held = {}
  for j = 1, #limits do
    if limits[j].isHeld then
      part.held[j] = {}
      heldBy[limits[j].entries] = j
    end
  end
  local records, place = part.others, 1
  part.others, part.othersMs = '', 0
  while place <= #records do
    local spent, at, p, q, name, after = unpack(RECORD, records, place)
    local known = heldBy[name]
    if known then
      local limit = limits[known]
      if at - now > limit.fullMs then
        part.stale = part.stale or {}
        table.insert(part.stale, limit)
        at = limit.date
      end
      addTo(part.held[known], at, spent)
      part.spent[known] = part.spent[known] + spent
    else
      part.others = part.others .. sub(records, place, after - 1)
      part.othersMs = max(part.othersMs, at - now + ceil(spent / p))
    end
    place = after
  end
end

judge = function(part, length, what)
  local fits = judgeOthers(part, length, what)
  for j, dates in pairs(part.held) do
    local entry = reply[length + j]
    if entry and #dates > 0 then
      local list = type(entry) == 'table' and entry or { entry, 0, 0 }
      for i = 1, #dates do
        table.insert(list, plain(dates[i][1]))
        table.insert(list, plain(dates[i][2]))
      end
      reply[length + j] = list
    end
  end
  return fits
end

write = function(part, key, tokens)
  local changes = {}
  for j = 1, #part.limits do
    local limit, change, dates = part.limits[j], tokens[j] or 0, part.held[j]
    if dates then
      if change > 0 then
        addTo(dates, limit.date, change)
      elseif change < 0 and limit.from ~= 0 then
        addTo(dates, limit.from, change)
      end
      if limit.moved > 0 and limit.to >= now then
        for i = 1, #dates do
          if dates[i] and dates[i][1] == limit.from then
            local moved = min(limit.moved, dates[i][2])
            -- In this order: where both are one date, the sum would pass 2^53.
            addTo(dates, limit.from, -moved)
            addTo(dates, limit.to, moved)
            break
          end
        end
      end
      for i = 1, #dates do
        part.others = part.others .. pack(RECORD, dates[i][2], dates[i][1], MOST, 1, limit.entries)
        part.othersMs = max(part.othersMs, dates[i][1] - now + 1)
      end
      part.spent[j], change = 0, 0
    end
    changes[j] = change
  end
  writeOthers(part, key, changes)
end
`;
