import { perDay, perHour, perSecond } from "sluice";
import { describe } from "vitest";
import { story } from "../helpers/story.js";

// What a policy does, told call by call. How to read a line: test/helpers/story.ts.

describe("a bucket of 10 at 2 a second", () => {
  const policy = { capacity: 10, refill: perSecond(2) };

  story("a burst is answered at once, then the rate takes over", policy, `
    0 s      take 3    yes                7 left · next in 500 ms · full in 1.5 s
    0 s      take 7    yes                0 left · next in 500 ms · full in 5 s
    0 s      take 1    no, wait 500 ms    0 left · next in 500 ms · full in 5 s
    499 ms   take 1    no, wait 1 ms      0 left · next in 1 ms · full in 4501 ms
    500 ms   take 1    yes                0 left · next in 500 ms · full in 5 s
    1 s      take 1    yes                0 left · next in 500 ms · full in 5 s
    6 s      ask 1     yes                10 left · full
  `);

  story("a dear request waits longer than a cheap one, and may starve behind it", policy, `
    0 s      take 10   yes                0 left · next in 500 ms · full in 5 s
    1 s      take 4    no, wait 1 s       2 left · next in 500 ms · full in 4 s
    1 s      take 1    yes                1 left · next in 500 ms · full in 4.5 s
    2 s      take 4    no, wait 500 ms    3 left · next in 500 ms · full in 3.5 s
    2.5 s    take 4    yes                0 left · next in 500 ms · full in 5 s
  `);

  story("a cost above the capacity can never succeed, and takes nothing", policy, `
    0 s      take 11   never              10 left · full
    0 s      take 10   yes                0 left · next in 500 ms · full in 5 s
    0 s      take 11   never              0 left · next in 500 ms · full in 5 s
  `);

  story("a cost of nothing is always allowed", policy, `
    0 s      take 10   yes                0 left · next in 500 ms · full in 5 s
    0 s      take 0    yes                0 left · next in 500 ms · full in 5 s
  `);

  story("asking takes nothing, however often", policy, `
    0 s      ask 10    yes                10 left · full
    0 s      take 9    yes                1 left · next in 500 ms · full in 4.5 s
    0 s      ask 2     no, wait 500 ms    1 left · next in 500 ms · full in 4.5 s
    0 s      ask 1     yes                1 left · next in 500 ms · full in 4.5 s
    0 s      take 1    yes                0 left · next in 500 ms · full in 5 s
  `);

  story("what is given back is there again, up to full", policy, `
    0 s      take 6    yes                4 left · next in 500 ms · full in 3 s
    250 ms   give 2                       6 left · next in 250 ms · full in 1750 ms
    250 ms   give 99                      10 left · full
    250 ms   take 10   yes                0 left · next in 500 ms · full in 5 s
    250 ms   forget                       10 left · full
  `);
});

describe("a clock that misbehaves", () => {
  const policy = { capacity: 5, refill: perSecond(1) };

  story("a step back of a second: nothing comes back until the clock has caught up", policy, `
    10 s     take 5    yes                0 left · next in 1 s · full in 5 s
    9 s      take 1    no, wait 2 s       0 left · next in 2 s · full in 6 s
    10 s     take 1    no, wait 1 s       0 left · next in 1 s · full in 5 s
    11 s     take 1    yes                0 left · next in 1 s · full in 5 s
  `);

  story("what is taken behind the record comes back no sooner for it", policy, `
    10 s     take 3    yes                2 left · next in 1 s · full in 3 s
    9 s      take 1    yes                1 left · next in 2 s · full in 5 s
    10 s     ask 2     no, wait 1 s       1 left · next in 1 s · full in 4 s
    11 s     take 2    yes                0 left · next in 1 s · full in 5 s
  `);

  story("a step back beyond a whole refill: the record is brought to now, and what was spent stays", policy, `
    10 s     take 5    yes                0 left · next in 1 s · full in 5 s
    5 s      take 1    no, wait 6 s       0 left · next in 6 s · full in 10 s
    4.9 s    take 1    no, wait 1 s       0 left · next in 1 s · full in 5 s
    1 s      take 5    no, wait 8.9 s     0 left · next in 4.9 s · full in 8.9 s
  `);

  story("a jump of ten years: full, and no fuller", policy, `
    0 s      take 5    yes                0 left · next in 1 s · full in 5 s
    3650 d   take 5    yes                0 left · next in 1 s · full in 5 s
    3650 d   take 1    no, wait 1 s       0 left · next in 1 s · full in 5 s
  `);

  story("between two milliseconds it is still the first of them", policy, `
    0.9 ms      take 5    yes             0 left · next in 1 s · full in 5 s
    1000.9 ms   take 1    yes             0 left · next in 1 s · full in 5 s
    2000.9 ms   take 2    no, wait 1 s    1 left · next in 1 s · full in 4 s
  `);
});

describe("rates that do not divide", () => {
  story("7 in 13 ms: not all at once, and none of them early", { capacity: 7, refill: { tokens: 7, everyMs: 13 } }, `
    0 ms     take 7    yes                0 left · next in 2 ms · full in 13 ms
    1 ms     take 1    no, wait 1 ms      0 left · next in 1 ms · full in 12 ms
    2 ms     take 1    yes                0 left · next in 2 ms · full in 13 ms
    13 ms    take 7    no, wait 2 ms      6 left · next in 2 ms · full in 2 ms
    15 ms    take 7    yes                0 left · next in 2 ms · full in 13 ms
  `);

  const noon = 1_700_000_000_000;
  story("three login codes an hour: one every twenty minutes", { name: "login-code", capacity: 3, refill: perHour(3) }, `
    at noon           take 3    yes                0 left · next in 20 min · full in 1 h
    a minute later    take 1    no, wait 19 min    0 left · next in 19 min · full in 59 min
    twenty past       take 1    yes                0 left · next in 20 min · full in 1 h
    at four           take 3    yes                0 left · next in 20 min · full in 1 h
  `, { "at noon": noon, "a minute later": noon + 60_000, "twenty past": noon + 1_200_000, "at four": noon + 4 * 3_600_000 });

  story("one export a month", { capacity: 1, refill: { tokens: 1, everyMs: 30 * 86_400_000 } }, `
    0 s         take 1    yes             0 left · next in 30 d · full in 30 d
    29.5 d      take 1    no, wait 12 h   0 left · next in 12 h · full in 12 h
    30 d        take 1    yes             0 left · next in 30 d · full in 30 d
  `);
});

describe("a burst limit and a daily limit together", () => {
  const policy = {
    name: "api",
    limits: [
      { name: "burst", capacity: 2, refill: perSecond(1) },
      { name: "day", capacity: 4, refill: perDay(4) },
    ],
  } as const;

  story("each refuses in its turn, and a refusal by one takes nothing from the other", policy, `
    0 s    take 2    yes               burst 0 left · next in 1 s · full in 2 s   day 2 left · next in 6 h · full in 12 h
    0 s    take 1    no, wait 1 s      burst 0 left · next in 1 s · full in 2 s   day 2 left · next in 6 h · full in 12 h
    2 s    take 2    yes               burst 0 left · next in 1 s · full in 2 s   day 0 left · next in 21598 s · full in 86398 s
    4 s    take 1    no, wait 21596 s  burst 2 left · full                        day 0 left · next in 21596 s · full in 86396 s
    6 h    take 1    yes               burst 1 left · next in 1 s · full in 1 s   day 0 left · next in 6 h · full in 1 d
    6 h    take 3    never             burst 1 left · next in 1 s · full in 1 s   day 0 left · next in 6 h · full in 1 d
  `);
});
