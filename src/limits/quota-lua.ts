/**
 * Changes the long way of the script for Redis, so that it knows quotas (`stores/redis/script-long.ts`). The store adds
 * it to the script when it meets the first policy with a quota.
 *
 * Six numbers for each limit follow the tokens of all limits: `numbersOf` in `port/dated.ts`. A record of a quota has
 * the date of its tokens as `at`, 2^53 - 1 as p and 1 as q. So only three things differ from a rate. The date of the
 * present period comes from the arguments, taking tokens moves the record to it, and tokens that are given back go to a
 * record of exactly their own date.
 */
export const QUOTA_LUA = /* lua */ `
local readRun0, read0, write0 = readRun, read, write

readRun = function(run)
  readRun0(run)
  for i = 1, #parts do
    local limits, tokens = parts[i].limits, parts[i].tokens
    for j = 1, #limits do
      local limit, first = limits[j], #limits + 6 * j - 5
      if limit.p == MOST and tokens[first] and tokens[first + 1] > 0 then
        limit.isQuota, limit.from, limit.fullMs = true, tokens[first], tokens[first + 1]
        for k = first + 5, first + 3, -1 do
          if tokens[first + 2] <= now and now <= tokens[k] then limit.date = tokens[k] end
        end
      end
    end
  end
end

read = function(part, key)
  read0(part, key)
  for j = 1, #part.limits do
    local limit = part.limits[j]
    if limit.isQuota then
      -- This process's clock is wrong by more than a period: nothing is written.
      if not limit.date then
        part.ours = false
        return
      end
      -- Only a record in these numbers, and not too far ahead, has a date of its own.
      limit.isDated = part.spent[j] > 0
      for k = 1, part.stale and #part.stale or 0 do
        if part.stale[k] == limit and limit.isDated then limit.isDated, part.lag[j] = false, limit.date - now end
      end
    end
  end
end

write = function(part, key, tokens)
  local changes = {}
  for j = 1, #part.limits do
    local limit, change = part.limits[j], tokens[j] or 0
    if limit.isQuota then
      if change < 0 and limit.from ~= 0 and not (limit.isDated and limit.from == now + part.lag[j]) then change = 0 end
      if change > 0 then part.lag[j] = max(part.lag[j], limit.date - now) end
    end
    changes[j] = change
  end
  write0(part, key, changes)
end
`;
