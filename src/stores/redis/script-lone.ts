/**
 * The Lua script for a lone decision: one key, one limit, a cost above 0. It costs the server two thirds as much as the
 * script of `script.ts`. It has half of the arguments, no runs, and a reply without a table.
 *
 * KEYS: the key.
 *
 * ARGV:
 *   1. the units per ms (p) of the limit
 *   2. its units per token (q)
 *   3. its capacity in tokens
 *   4. an instant of the server's clock in ms, from which short answers count; 0 for none
 *   5. the name of the limit
 *   6. the cost in tokens; absent for 1
 *   7. the time in ms; absent for the server's clock
 *
 * Reply, one of three:
 *   a short answer: the ms since that instant times 2^32, plus the units spent; -1 minus that if the cost is refused;
 *     only up to 2^20 ms (17 minutes) after that instant, and with fewer than 2^32 units spent
 *   a list like that of `script.ts`, in other cases
 *   nil, if the key holds anything but one record of this limit, in these numbers and not ahead of the clock
 *
 * After nil nothing was written, and the script of `script.ts` decides.
 */
export const LONE_SCRIPT = /* lua */ `
local redis, struct, ARGV, key = redis, struct, ARGV, KEYS[1]
local p, q, name, told, now = ARGV[1] + 0, ARGV[2] + 0, ARGV[5], ARGV[7], 0
if told then
  now = told + 0
else
  local time = redis.call('TIME')
  local micros = time[2] + 0
  now = time[1] * 1000 + (micros - micros % 1000) / 1000
end

local spent, expires = 0, 0
local value = redis.pcall('GET', key)
if value then
  -- An error is a table, which has no length.
  if #value ~= 42 + #name or string.byte(value, -1) ~= 0 then return end
  local version, ends, before, at, ownP, ownQ, own = struct.unpack('<Bddddds', value)
  if version ~= 1 or ends % 1 ~= 0 or before <= 0 or before >= 9007199254740944 or before % 1 ~= 0
    or at > now or at % 1 ~= 0 then return end
  if ownP ~= p or ownQ ~= q or own ~= name then return end
  expires, spent = ends, before - p * (now - at)
  if spent < 0 then spent = 0 end
end

local tokens = ARGV[6] or 1
local free = ARGV[3] - tokens
local fits = free >= 0 and spent <= free * q
if fits then
  local after = spent + tokens * q
  local fullMs = math.ceil(after / p)
  if now + fullMs <= expires and not told then
    -- Only these two numbers change. SETRANGE keeps the expiry and costs half as much as a SET.
    redis.call('SETRANGE', key, '9', struct.pack('<dd', after, now))
  else
    local ms = fullMs + math.max(10000, math.min(fullMs, 60000))
    value = struct.pack('<Bddddds', 1, now + ms, after, now, p, q, name)
    if told then
      -- With a clock other than the server's, the key is kept an hour longer than that clock requires.
      redis.call('SET', key, value, 'PX', string.format('%.0f', ms + 3600000))
    else
      redis.call('SET', key, value, 'PXAT', string.format('%.0f', now + ms))
    end
  end
end

local since = now - ARGV[4]
local short = since >= 0 and since < 1048576 and spent < 4294967296
if short then spent = since * 4294967296 + spent end
if not fits then spent = -1 - spent end
return short and spent or { told or now, spent }
`;
