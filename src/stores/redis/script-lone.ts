import type { Limit } from "../../core/limit.js";

/**
 * The Lua script for a lone decision by the server's clock: one key, one limit, a cost above 0. It costs the server
 * less than the script of `script.ts`: it has few arguments, no runs, and a reply without a table.
 *
 * The numbers of `limit` are constants of its text. With null they are arguments, and one text serves all limits.
 *
 * KEYS: the key.
 *
 * ARGV:
 *   1. an instant of the server's clock in ms, from which short answers count; 0 for none
 *   2. the cost in tokens; may be absent for 1
 *   3. with null: the units per ms (p) of the limit
 *   4. with null: its units per token (q)
 *   5. with null: its capacity in tokens
 *   6. with null: its name
 *
 * Reply, one of three:
 *   a short answer: the ms since that instant times 2^32, plus the units spent; -1 minus that if the cost is refused;
 *     only up to 2^20 ms (17 minutes) after that instant, and with fewer than 2^32 units spent
 *   a list like that of `script.ts`, in other cases
 *   nil, if the key holds anything but one record of this limit, in these numbers and not ahead of the clock
 *
 * After nil nothing was written, and the script of `script.ts` decides.
 */
export const loneScript = (limit: Limit | null): string => /* lua */ `
local call, struct, ARGV, key = redis.call, struct, ARGV, KEYS[1]
local p, q, capacity, name = ${limit === null ? ASKED : constantsOf(limit)}
local time = call('TIME')
local micros = time[2] + 0
local now = time[1] * 1000 + (micros - micros % 1000) / 1000

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

local tokens = ARGV[2] or 1
local free = capacity - tokens
local fits = free >= 0 and spent <= free * q
if fits then
  local after = spent + tokens * q
  if after <= (expires - now) * p then
    -- Only these two numbers change. SETRANGE keeps the expiry and costs half as much as a SET.
    call('SETRANGE', key, '9', struct.pack('<dd', after, now))
  else
    expires = now + math.ceil(after / p) + 60000
    call('SET', key, struct.pack('<Bddddds', 1, expires, after, now, p, q, name), 'PXAT', string.format('%.0f', expires))
  end
end

local since = now - ARGV[1]
local short = since >= 0 and since < 1048576 and spent < 4294967296
if short then spent = since * 4294967296 + spent end
if not fits then spent = -1 - spent end
return short and spent or { now, spent }
`;

const ASKED = "ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0, ARGV[6]";

// Names have letters, digits and `_ - .` only, so there is nothing to escape. The numbers are whole.
function constantsOf({ name, capacity, unitsPerMs, unitsPerToken }: Limit): string {
  return `${unitsPerMs}, ${unitsPerToken}, ${capacity}, '${name}'`;
}
