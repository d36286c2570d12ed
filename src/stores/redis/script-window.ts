/**
 * The part of the script for the most common request of a window: it consumes from one limit, and the value of the key
 * has that limit's records only. `script.ts` inserts it where a call first needs it.
 *
 * Defines `inWindow(key, name, ms, tokens, capacity)`, with the ms from now to the date of new tokens. It takes the
 * tokens if they fit, and returns the entry of the reply: the units spent before, and the ms until the first of them come
 * back. Returns nil for the long way, which has the same results and decides all refusals.
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
