import { LATEST_MS, MARK_MS } from "./mark.js";
import { longWay, windowWay } from "./script-long.js";

/**
 * The Lua script that decides in Redis, by the arithmetic of `core/bucket.ts` and the kinds of `limits`.
 *
 * One call carries any number of requests, and decides them in order. A request has one part, or several parts that are
 * charged all or none. Lua's numbers are doubles like those of JavaScript, so both give the same results to the last
 * unit.
 *
 * KEYS: the key of each part, in the order of the parts, then the mark of a call if it has one. On a cluster, all are
 * in one slot, and the mark is not among them: a call with two keys fails while their slot moves to another node.
 *
 * ARGV:
 *   1. the time in ms, or an empty string for the server's clock
 *   2. the index of the first run in ARGV; then for a call with a mark a space, an instant before it was sent, a space,
 *     and the mark's key if it is not among KEYS
 *   then, for each policy in use, its number of limits, and for each limit
 *     its name, its capacity in tokens, units per ms (p), units per token (q)
 *   then, for each run of requests that differ only in their keys
 *     "c" consume, "p" peek, "a" adjust, "A" adjust once, "x" block or "d" delete
 *     the number of requests in the run
 *     the number of parts of each request
 *     for each part the index of its policy in ARGV, then a number
 *       c, p: the cost in tokens
 *       a: the tokens to take, or below 0 to refund
 *       x: the ms to block for; 0 ends a block
 *       d: 0
 *       if the limits have different numbers, all of them in the policy's order, with commas between: "1,2000"
 *       for a policy with a limit that is no rate, and for a give-back with an instant, then the `LimitDates` of
 *         `port/kind-rules.ts` for each limit, as JSON: `1[{"kind":"window","fullMs":59999}]`
 *
 * Reply: the time in ms, then one entry for each part and each limit of its policy
 *   if the part fits, the units spent before this request
 *   if the part is refused, -1 minus those units
 *   "a" fits, and is done, unless a limit would have more than 2^53 - 1 units spent
 *   if the record is ahead of the clock, a list of that number and the ms it is ahead
 *   during a block, a list of that number, the ms the record is ahead or 0, and the ms until the block ends
 *   nil if the key holds another program's value
 *
 * Numbers above 2^53 - 48 and below -(2^53 - 48) are sent as text. Several clients parse a number by adding the code of
 * each digit and then subtracting 48 (the code of "0"), which rounds larger numbers.
 *
 * Stored value
 *   one byte: 1, the version of this format
 *   the expiry of the key, in ms
 *   for each limit that is not full: spent, at, p, q and its name, which ends with a zero byte
 *
 * Numbers are little-endian doubles: exact, and 10 times faster to read and write than decimals. Limits with unknown
 * names belong to another version of the policy and are kept until they are full. A block is a record like those of
 * limits, with the name "!": the ms until it ends, at, 1 and 1. It is kept until then. No limit has that name, so a
 * value with a block always takes the long way.
 *
 * A new expiry is the instant at which all limits are full and a block is over, plus a reserve of 60 s. A key never
 * expires before that instant. So most writes can leave the expiry unchanged, which halves their cost. An expiry
 * further ahead than that, such as after a step back of the server's clock, is set again by the long way.
 *
 * A window has a record for each of its amounts: its name is "^" and that of the limit, `at` is the last date, and `q`
 * is 1 more than the ms from the first date to the last.
 *
 * Most requests consume from one limit. Its record is absent, or has the same numbers and is not ahead of the clock.
 * The script decides these without creating a table or a function, which would be most of the cost of a single call. A
 * request that consumes from one window has a way of its own. All others take the long way, with the same results. Both
 * are in `script-long.ts`.
 */
export const fullScript = (): string => /* lua */ `
local KEYS, ARGV = KEYS, ARGV
local call, get, tonumber = redis.call, redis.pcall, tonumber
local pack, unpack, sub, format = struct.pack, struct.unpack, string.sub, string.format
local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min

local now = tonumber(ARGV[1])
local serverClock = not now
if serverClock then
  local time = call('TIME')
  now = time[1] * 1000 + floor(time[2] / 1000)
end

local VERSION, HEAD, RECORD, MOST, PLAIN = 1, '<Bd', '<dddds', 9007199254740991, 9007199254740944
-- The reply returns a given time unchanged.
local reply, length, done = { serverClock and now or ARGV[1] }, 1, 0
local long, inWindow = nil, nil

local run, last = tonumber(ARGV[2]), #ARGV
-- Whether a call that must be made once was made before, or is too old to know.
local isRepeated
if not run then
  local first, at, name = string.match(ARGV[2], '^(%d+) (%S+) (.*)$')
  run, isRepeated = tonumber(first), serverClock and now - tonumber(at) > ${LATEST_MS}
  if not isRepeated then
    local set = get('SET', name ~= '' and name or KEYS[#KEYS], '', 'NX', 'PX', serverClock and ${MARK_MS} or 3600000)
    -- A mark whose slot is moving to another node is not set, and the change is made. After any other error nothing is.
    if set and set.err and not string.find(set.err, 'non local key', 1, true) then return set end
    isRepeated = not set
  end
end
while run < last do
  local what, requests, size = ARGV[run], tonumber(ARGV[run + 1]), tonumber(ARGV[run + 2])
  local place, tokens = tonumber(ARGV[run + 3]), tonumber(ARGV[run + 4])
  local short = what == 'c' and size == 1 and ARGV[place] == '1' and tokens and tokens > 0
  local ending, whole, most, p, units, ms
  if what == 'c' and size == 1 and ARGV[place] == '1' and not tokens and serverClock then
    tokens, ms = string.match(ARGV[run + 4], '^(%d+)%[{"kind":"window","fullMs":(%d+)}')
    tokens, ms = tonumber(tokens), tonumber(ms)
    if ms and not inWindow then
      ${windowWay()}
    end
  end
  if short then
    local capacity, q = tonumber(ARGV[place + 2]), tonumber(ARGV[place + 4])
    p, units = tonumber(ARGV[place + 3]), tokens * q
    -- The end of a value with this limit's record only, and the most units that may be spent for the tokens to fit.
    ending = pack('<dds', p, q, ARGV[place + 1])
    whole = 25 + #ending
    most = tokens <= capacity and capacity * q - units or -1
  end

  for _ = 1, requests do
    local answer = nil
    if short then
      local key = KEYS[done + 1]
      local value = get('GET', key)
      local spent, expires = nil, 0
      if not value then
        spent = 0
      -- An error is a table, which has no length.
      elseif #value == whole and sub(value, 26) == ending then
        local version, ends, before, at = unpack('<Bddd', value)
        if version == VERSION and ends % 1 == 0 and before > 0 and before < PLAIN and before % 1 == 0
          and at <= now and at % 1 == 0 then
          expires, spent = ends, before - p * (now - at)
          if spent < 0 then spent = 0 end
        end
      end
      if not spent then
        -- The value has another form: the long way reads it.
      elseif spent > most then
        answer = -1 - spent
      elseif serverClock then
        answer = spent
        local after = spent + units
        if after <= (expires - now) * p then
          -- Only these two numbers change. SETRANGE keeps the expiry and costs half as much as a SET.
          call('SETRANGE', key, '9', pack('<dd', after, now))
        else
          expires = now + ceil(after / p) + 60000
          call('SET', key, pack('<Bddd', VERSION, expires, after, now) .. ending, 'PXAT', format('%.0f', expires))
        end
      end
    elseif ms and tokens > 0 then
      answer = inWindow(KEYS[done + 1], ARGV[place + 1], ms, tokens, tonumber(ARGV[place + 2]))
    end
    if answer then
      length = length + 1
      reply[length] = answer
    else
      if not long then
        ${longWay()}
      end
      length = long(run, done, length)
    end
    done = done + size
  end
  run = run + 3 + 2 * size
end
return reply
`;
