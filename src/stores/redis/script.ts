import { LONG_WAY } from "./script-long.js";

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
 *   2. where the first run stands in ARGV
 *   then each policy that is spoken of
 *     how many limits it has; for each limit
 *       its name, its capacity in tokens, units per ms (p), units per token (q)
 *   then each run of requests that ask alike
 *     what to do: "c" consume, "p" peek, "r" refund, "b" debit, "d" delete; how many requests; how many parts each has; for each part
 *       where its policy stands in ARGV, tokens
 *
 * Answers the time in ms, then for each part and each limit of its policy
 *   units spent before this request, when the part is charged or would be; -1 minus them when it is refused;
 *   a pair of that and the ms that the record lies ahead of the clock, where it does; or nil, when the key holds something foreign
 *
 * A number beyond 2^53 - 48 on either side of zero is answered as text. Several clients add the code of a digit, 48 for "0", before
 * they take 48 away, and so round it.
 *
 * Stored value, in bytes: 1, the version of this format; when the key expires, in ms; then for each limit that is not full
 * spent, at, p and q, and its name, which a zero ends. Numbers are doubles, the least byte first: exact, and read and written
 * in a tenth of the time that decimals take. Limits of unknown names belong to another version of the policy and are kept
 * until they are full.
 *
 * A key expires when all of it has been full for as long as filling it takes, ten seconds at least and a minute at most, and
 * never sooner. So most writes can leave the expiry as it is, which halves what they cost.
 *
 * Most requests consume from one limit whose record is absent, or there in the same numbers and not ahead of the clock. Those are
 * decided here, without a table or a function being made, for these are what a lone call would mostly pay for. Whatever is
 * out of the ordinary goes the long way (`redis-script-long.ts`), and comes to the same.
 */
export const SCRIPT = `
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
-- A time that was told goes back as it came.
local reply, length, done = { serverClock and now or ARGV[1] }, 1, 0
local long = nil

local run, last = tonumber(ARGV[2]), #ARGV
while run < last do
  local what, requests, size = ARGV[run], tonumber(ARGV[run + 1]), tonumber(ARGV[run + 2])
  local place, tokens = tonumber(ARGV[run + 3]), tonumber(ARGV[run + 4])
  local short = what == 'c' and size == 1 and tokens > 0 and ARGV[place] == '1'
  local ending, whole, most, p, units
  if short then
    local capacity, q = tonumber(ARGV[place + 2]), tonumber(ARGV[place + 4])
    p, units = tonumber(ARGV[place + 3]), tokens * q
    -- What a value ends with that has this limit's record and no other; how much may be spent for the tokens to fit.
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
        if version == VERSION and ends % 1 == 0 and before > 0 and before < PLAIN and before % 1 == 0 and at <= now and at % 1 == 0 then
          expires, spent = ends, before - p * (now - at)
          if spent < 0 then spent = 0 end
        end
      end
      if not spent then
        -- Something else is there.
      elseif spent > most then
        answer = -1 - spent
      elseif serverClock then
        answer = spent
        local after = spent + units
        local fullMs = ceil(after / p)
        if now + fullMs <= expires then
          -- Only these two numbers change. Written in their place they keep the expiry, at half of what a SET costs.
          call('SETRANGE', key, '9', pack('<dd', after, now))
        else
          expires = now + fullMs + max(10000, min(fullMs, 60000))
          call('SET', key, pack('<Bddd', VERSION, expires, after, now) .. ending, 'PXAT', format('%.0f', expires))
        end
      end
    end
    if answer then
      length = length + 1
      reply[length] = answer
    else
      if not long then
        ${LONG_WAY.trim().replaceAll("\n", "\n        ")}
      end
      length = long(run, done, length)
    end
    done = done + size
  end
  run = run + 3 + 2 * size
end
return reply
`;
