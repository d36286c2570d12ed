// Histories by hand: each has an edge of the arithmetic or of a stored form in it. The store stops after the first
// `first` steps, keeps what it has, and goes on with the others.
import type { History, LimitText, Step } from "./history.js";

/** A history, and where a store stops and goes on. */
export interface NamedHistory extends History {
  readonly why: string;
  readonly first: number;
}

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;
const MOST = Number.MAX_SAFE_INTEGER;

const burst: LimitText = { name: "burst", capacity: 10, refill: [2, SECOND] };
const odd: LimitText = { name: "burst", capacity: 20, refill: [7, 13] };
const hour: LimitText = { name: "hour", capacity: 100, refill: [100, HOUR] };
const day: LimitText = { name: "day", capacity: 5, renews: { every: "day", at: "06:00", zone: "Europe/Berlin" } };
const week: LimitText = { name: "week", capacity: 20, renews: { every: "week", day: "sunday", zone: "America/New_York" } };
const month: LimitText = { name: "month", capacity: 1_000, renews: { every: "month", day: 31, zone: "Pacific/Auckland" } };
const work: LimitText = { name: "work", capacity: 18, returns: [16_000, 250] };
const few: LimitText = { name: "work", capacity: 2, returns: [15_000, SECOND] };

const window: LimitText = { name: "minute", capacity: 100, afterMs: MINUTE };
const shorter: LimitText = { name: "minute", capacity: 60, afterMs: 20_000 };

const NOON = Date.parse("2024-06-14T12:00:00Z");

function named(
  why: string, policies: History["policies"], first: readonly Step[], then: readonly Step[], start = NOON, key = "ann",
): NamedHistory {
  return { why, first: first.length, key, start, policies, steps: [...first, ...then] };
}

/** A step of `consume` at each instant. */
const each = (instants: readonly number[], policy = 0, costs: number | readonly number[] = 1): Step[] =>
  instants.map((at) => ["consume", at, policy, costs]);

// Tokens of 17 dates, one second apart.
const filled = each(Array.from({ length: 17 }, (_, i) => 500 + i * SECOND));

export const namedHistories: readonly NamedHistory[] = [
  named("a rate that is half spent", [[burst]], each([0, 0, 300], 0, 2), [
    ["peek", 301, 0, 1], ...each([301, 301], 0, 5), ["peek", 1_800, 0, 10], ...each([2_799, 2_800, 5_000], 0, 10),
  ]),
  named("a rate with 13 units in a token, read and written within one millisecond", [[odd]], each([0, 1, 1], 0, 6), [
    ...each([2, 2, 3, 4, 9, 9, 37, 38], 0, 4), ["adjust", 38, 0, -3], ["peek", 38, 0, 20],
  ]),
  named("a rate is empty, and a refusal writes nothing", [[burst]], each([0, 0], 0, 10), [
    ...each([499, 499, 500, 999, 1_000]), ["consume", 1_000, 0, 11], ["consume", 1_000, 0, 0],
  ]),
  named("nothing is stored", [[burst]], [["consume", 0, 0, 11], ["peek", 0, 0, 1]], each([0, 1], 0, 10)),
  named("what is spent has come back", [[burst]], each([0], 0, 10), [["consume", 5_000, 0, 0], ...each([5_000], 0, 10)]),
  named("a reset", [[burst, day]], [...each([0], 0, 4), ["reset", 1, 0]], [["peek", 2, 0, 1], ...each([2], 0, 5), ["reset", 3, 0], ...each([3], 0, 5)]),
  named("two rates", [[burst, hour]], each([0, 0, 900], 0, [3, 20]), [
    ["peek", 901, 0, [4, 60]], ["consume", 901, 0, [4, 41]], ["consume", 901, 0, [4, 40]], ["consume", 901, 0, [0, 1]],
    ["consume", 36_901, 0, [10, 1]], ["adjust", 36_902, 0, [-3, -50]], ["peek", 36_902, 0, 1],
  ]),
  named("one of two rates is full", [[burst, hour]], each([0], 0, [4, 3]), [["consume", 3_000, 0, [0, 1]], ["consume", 4_000, 0, [10, 1]]]),
  named("the largest numbers", [[{ name: "burst", capacity: MOST, refill: [1_000_000_007, 1] }]], each([0, 1], 0, MOST - 1_000_000_008), [
    ["adjust", 1, 0, MOST], ["adjust", 2, 0, 5], ["consume", 3, 0, 1_000_000_007], ["peek", 4, 0, MOST], ["adjust", 5, 0, -MOST], ["peek", 5, 0, 1],
  ]),
  named("one token in 285 thousand years", [[{ name: "burst", capacity: 1, refill: [1, MOST] }]], each([0]), each([1, 400 * DAY])),
  named("a debit beyond the capacity, and a credit", [[burst]], [["adjust", 0, 0, 35]], [
    ["peek", 1, 0, 1], ["consume", 2, 0, 0], ["adjust", 3, 0, -20], ...each([3, 3_000, 8_000]), ["adjust", 8_000, 0, -100], ["peek", 8_000, 0, 10],
  ]),
  named("a settlement of a rate that comes late gives back less", [[burst]], each([0, 100], 0, 4), [
    ["adjust", 600, 0, -4, { at: 0, since: 0 }], ["peek", 600, 0, 10], ["adjust", 1_100, 0, -4, { at: 100, since: 900 }], ["peek", 1_100, 0, 10],
    ["adjust", 1_100, 0, 3, { at: 100, since: 900 }], ["peek", 1_100, 0, 10],
  ]),
  named("a settlement of two rates, each with its own instant", [[burst, hour]], each([0], 0, [8, 80]), [
    ["adjust", 700, 0, [-6, -60], { at: 0, since: [500, 100] }], ["peek", 700, 0, 1], ["adjust", 701, 0, [-6, -60], { since: 690 }], ["peek", 701, 0, 1],
  ]),
  named("other numbers of a rate", [[odd], [{ name: "burst", capacity: 50, refill: [3, 101] }]], each([0], 0, 20), [
    ["consume", 5, 1, 45], ["consume", 5, 1, 10], ["consume", 6, 0, 1], ["peek", 6, 1, 1], ["adjust", 7, 1, 2], ["peek", 7, 0, 1],
  ]),
  named("a refusal brings a record to other numbers", [[odd], [{ name: "burst", capacity: 2, refill: [1, 7] }]], each([0], 0, 20), [
    ["consume", 1, 1, 2], ["consume", 2, 1, 1], ["peek", 40, 0, 20],
  ]),
  named("limits come and go, and change places", [[burst, hour], [hour], [hour, burst, day]], each([0, 1], 0, [3, 30]), [
    ["consume", 2, 1, 5], ["consume", 3, 2, [5, 2, 1]], ["consume", 4, 0, [5, 5]], ["consume", 6_000, 1, 1], ["peek", 6_000, 2, 1],
  ]),
  named("a quota of a day in Berlin, over its end", [[day]], each([0, HOUR], 0, 2), [
    ["consume", 2 * HOUR, 0, 2], ["consume", 15 * HOUR, 0, 1], ["consume", 15 * HOUR, 0, 1], ["consume", 16 * HOUR - 1, 0, 1],
    ["consume", 16 * HOUR, 0, 1], ["peek", 16 * HOUR, 0, 5],
  ]),
  named("a quota of a day of 23 hours", [[day]], each([0], 0, 5), [
    ["peek", 1, 0, 1], ["consume", 16 * HOUR - 1, 0, 1], ["consume", 16 * HOUR, 0, 1],
  ], Date.parse("2024-03-30T12:00:00Z")),
  named("a quota of a week in New York, over a Sunday of 25 hours", [[week]], each([0], 0, 19), [
    ["consume", HOUR, 0, 2], ["consume", HOUR, 0, 1], ["peek", 39 * HOUR, 0, 1], ["consume", 40 * HOUR, 0, 20], ["peek", 8 * DAY, 0, 20], ["consume", 9 * DAY, 0, 20],
  ], Date.parse("2024-11-01T12:00:00Z")),
  named("a quota of a month in Auckland that begins on its last day, over the leap day", [[month]], each([0, DAY], 0, 400), [
    ["consume", 13 * DAY - 1, 0, 201], ["consume", 28 * DAY, 0, 700], ["peek", 60 * DAY, 0, 1_000], ["consume", 60 * DAY, 0, 1],
  ], Date.parse("2024-02-01T12:00:00Z")),
  named("a settlement of a quota goes to its own day only", [[day]], each([0], 0, 3), [
    ["adjust", 1, 0, -1, { at: 0 }], ["peek", 1, 0, 1], ["consume", 16 * HOUR, 0, 2], ["adjust", 16 * HOUR, 0, -1, { at: 0 }], ["peek", 16 * HOUR, 0, 1],
    ["adjust", 16 * HOUR, 0, -1, { at: 16 * HOUR }], ["adjust", 16 * HOUR, 0, -1], ["peek", 16 * HOUR, 0, 5],
  ]),
  named("a debit and a credit of a quota", [[day]], [["adjust", 0, 0, 7]], [["consume", 1, 0, 1], ["adjust", 2, 0, -3], ["consume", 3, 0, 1], ["consume", 16 * HOUR, 0, 5]]),
  named("a quota gets another zone: its tokens keep the later date", [
    [day], [{ name: "day", capacity: 5, renews: { every: "day", zone: "Asia/Kolkata" } }],
  ], each([0], 0, 2), [["peek", 1, 1, 1], ["consume", 2, 1, 1], ["peek", 3, 0, 1], ["consume", 7 * HOUR, 1, 1], ["peek", 15 * HOUR, 0, 1], ["peek", 16 * HOUR, 1, 1]]),
  named("a rate takes over the record of a quota", [[day], [{ name: "day", capacity: 10, refill: [1, MINUTE] }]], each([0], 0, 4), [
    ["peek", 1, 1, 10], ["consume", 1, 1, 10], ["consume", 2, 1, 3], ["peek", 61 * SECOND, 1, 1], ["consume", 62 * SECOND, 0, 1], ["peek", 62 * SECOND, 1, 1],
  ]),
  named("a quota takes over the record of a rate, and a dated give-back goes nowhere", [
    [{ name: "day", capacity: 10, refill: [1, MINUTE] }], [day],
  ], each([0], 0, 4), [
    ["peek", 1, 1, 1], ["adjust", 2, 1, -1, { at: 0 }], ["peek", 2, 1, 1], ["consume", 3, 1, 1], ["adjust", 4, 1, -1, { at: 3 }], ["peek", 4, 1, 1], ["peek", 5, 0, 1],
  ]),
  named("a limit in flight takes the name of a rate, and a rate that of a limit in flight", [
    [{ name: "work", capacity: 10, refill: [1, MINUTE] }], [few],
  ], [...each([0], 0, 4), ...each([1], 1, 2)], [
    ["peek", 2, 0, 1], ["consume", 3, 1, 1], ["consume", 4, 0, 6], ["peek", 5, 1, 1], ["consume", 16 * SECOND, 1, 1], ["peek", 16 * SECOND, 0, 1],
  ]),
  named("a quota takes the name of a limit in flight", [[few], [{ ...day, name: "work" }]], each([0, 1]), [
    ["consume", 2, 1, 3], ["peek", 3, 0, 1], ["adjust", 4, 0, -1, { at: 0, heldAt: 0 }], ["peek", 4, 1, 1], ["peek", 4, 0, 2],
  ]),
  named("two works in flight", [[few]], each([0, 2_000]), [
    ["peek", 2_001, 0, 1], ...each([2_001]), ["adjust", 3_000, 0, -1, { at: 0, heldAt: 0 }], ...each([3_000, 3_000, 17_999]), ["peek", 18_000, 0, 2],
  ]),
  named("17 dates of a limit in flight", [[work]], filled, [
    ["peek", 16_600, 0, 1], ...each([16_600, 16_600]), ["adjust", 16_700, 0, -1, { heldAt: 3_500 }], ...each([16_999, 17_000, 17_001, 18_000]),
    ["peek", 30_000, 0, 18], ["peek", 34_000, 0, 18],
  ]),
  named("18 dates of a limit in flight: a renewal from a clock that is ahead", [[work]], [
    ...filled, ...each([16_500]), ["renew", 16_500, 0, 1, 16_500, 18_500],
  ], [
    ["peek", 16_500, 0, 1], ["peek", 16_999, 0, 1], ...each([16_999, 17_000]), ["peek", 20_000, 0, 18], ["adjust", 20_001, 0, -1, { heldAt: 18_500 }],
    ["peek", 20_001, 0, 18],
  ]),
  named("renewals: the first, one whose answer was lost, and one that is too late", [[few]], [...each([0]), ["renew", 5_000, 0, 1, 0, 5_000]], [
    ["renew", 5_001, 0, 1, 0, 5_000], ["renew", 10_000, 0, 1, 5_000, 10_000], ["peek", 16_000, 0, 2], ...each([16_000, 16_000]),
    ["renew", 30_000, 0, 1, 10_000, 15_000], ["peek", 30_000, 0, 2], ["adjust", 30_000, 0, -1, { at: 0, heldAt: 10_000 }], ["peek", 30_000, 0, 2],
  ]),
  named("other times of a limit in flight", [[few], [{ name: "work", capacity: 4, returns: [1_000, 50] }]], each([0, 400]), [
    ["peek", 401, 1, 1], ["consume", 402, 1, 2], ["consume", 500, 0, 1], ["peek", 1_600, 1, 1], ["peek", 1_600, 0, 2], ["consume", 20_000, 1, 4],
  ]),
  named("a rate, a quota and a limit in flight", [[burst, month, few]], each([0, 100], 0, [2, 300, 1]), [
    ["consume", 101, 0, [1, 1, 1]], ["renew", 5_000, 0, [2, 300, 1], 0, 5_000], ["adjust", 6_000, 0, [-1, -250, -1], { at: 0, heldAt: 5_000, since: 90 }],
    ["peek", 6_000, 0, [1, 1, 1]], ["consume", 6_001, 0, [10, 400, 0]], ["consume", 6_001, 0, [10, 650, 0]], ["consume", 6_002, 0, [1, 0, 1]],
    ["block", 6_003, 0, MINUTE], ["consume", 6_004, 0, 0], ["block", 6_005, 0, 0], ["consume", 6_006, 0, [0, 1, 1]],
  ]),
  named("two limits in flight beside a rate", [[burst, few, { name: "bytes", capacity: 1_000, returns: [15_000, 1] }]], each([0, 1_000], 0, [1, 1, 300]), [
    ["consume", 1_001, 0, [1, 0, 401]], ["adjust", 2_000, 0, [0, -1, -299], { at: 0, heldAt: 0 }], ["peek", 2_000, 0, [1, 1, 699]], ["consume", 2_000, 0, [1, 1, 699]],
    ["renew", 6_000, 0, [1, 1, 300], 1_000, 6_000], ["peek", 17_000, 0, [1, 1, 700]],
  ]),
  named("a block beside a rate", [[burst]], [...each([0], 0, 4), ["block", 1, 0, MINUTE]], [
    ["consume", 2, 0, 0], ["peek", 2, 0, 1], ["block", 30_000, 0, SECOND], ["consume", MINUTE, 0, 1], ["block", MINUTE, 0, 10], ["consume", MINUTE + 1, 0, 1],
    ["consume", MINUTE + 10, 0, 1],
  ]),
  named("a block alone, its end and a reset", [[burst]], [["block", 0, 0, 2_147_483_647_000]], [
    ["consume", 400 * DAY, 0, 1], ["reset", 400 * DAY, 0], ["consume", 400 * DAY, 0, 1], ["block", 400 * DAY, 0, 5], ["block", 400 * DAY, 0, 0], ["consume", 400 * DAY, 0, 1],
  ]),
  named("a block outlives limits in flight and a quota", [[day, few]], [...each([0], 0, [2, 1]), ["block", 0, 0, 2 * DAY]], [
    ["adjust", 1, 0, [0, -1], { at: 0, heldAt: 0 }], ["consume", DAY, 0, [1, 1]], ["consume", 2 * DAY, 0, [5, 2]],
  ]),
  named("a rate's record is ahead of the clock", [[burst]], each([0], 0, 9), [
    ["peek", -1_000, 0, 1], ["consume", -1_000, 0, 1], ["consume", -1_000, 0, 1], ["consume", 0, 0, 1], ["consume", 5_000, 0, 10],
  ]),
  named("a rate's record is impossible: a refusal brings it to now", [[burst]], each([0], 0, 9), [
    ["peek", -5_001, 0, 2], ["consume", -5_001, 0, 2], ["peek", -5_000, 0, 2], ["consume", -4_501, 0, 2], ["consume", 0, 0, 10],
  ]),
  named("a quota's record is ahead of the clock, and impossible", [[day]], each([0], 0, 4), [
    ["peek", -9 * HOUR, 0, 1], ["consume", -9 * HOUR, 0, 1], ["peek", -2 * DAY, 0, 1], ["adjust", -2 * DAY, 0, -1, { at: 0 }], ["consume", -2 * DAY, 0, 1], ["peek", -2 * DAY + HOUR, 0, 1],
  ]),
  named("tokens in flight are ahead of the clock, and impossible", [[work]], each([0, 1_000, 1_500], 0, 3), [
    ["peek", -500, 0, 1], ["consume", -500, 0, 1], ["peek", -SECOND * 30, 0, 1], ["consume", -SECOND * 30, 0, 9], ["consume", -SECOND * 30, 0, 8], ["peek", -SECOND * 13, 0, 1],
  ]),
  named("a block is ahead of the clock, and impossible", [[burst]], [["block", 0, 0, 10_000]], [
    ["peek", -1_000, 0, 1], ["consume", -10_000, 0, 1], ["consume", -10_001, 0, 1], ["peek", -1, 0, 1], ["consume", 0, 0, 1],
  ]),
  named("impossible records of three kinds and a block, brought to now by one refusal", [[burst, day, few]], [...each([0, 1], 0, [5, 2, 1]), ["block", 1, 0, MINUTE]], [
    ["consume", -3 * DAY, 0, [1, 1, 1]], ["peek", -3 * DAY + MINUTE, 0, 1], ["consume", -3 * DAY + MINUTE, 0, [1, 1, 2]],
  ]),
  named("a key of more than 1,000 bytes", [[burst, few]], each([0], 0, [3, 1]), each([1, 1], 0, [3, 1]), NOON, "é".repeat(600)),
  named("a key of 130 characters", [[burst]], each([0], 0, 3), each([1], 0, 3), NOON, "k".repeat(130)),
  named("a key with braces, a NUL and half of a pair", [[burst]], each([0], 0, 3), each([1], 0, 3), NOON, "{a}\0\ud800"),
  named("a key with spaces and other letters", [[burst, day]], each([0], 0, [3, 1]), each([1], 0, [3, 1]), NOON, "ann smith ~ \u{1f600}"),
  named("a window whose amounts are joined, and give-backs to them", [[window]],
    each(Array.from({ length: 24 }, (_, i) => i * 900 + ((7 * i) % 11) * 90), 0, 3), [
      ["peek", 22_000, 0, 29], ["consume", 22_000, 0, 29], ["adjust", 22_001, 0, -2, { at: 2_000 }], ["adjust", 22_002, 0, -9, { at: 21_150 }],
      ["adjust", 22_003, 0, -4], ["adjust", 22_004, 0, 40], ...each([59_999, 60_000, 61_000, 65_000, 82_003, 82_004], 0, 12), ["peek", 90_000, 0, 100],
    ]),
  named("a window beside a rate, and a shorter one under its name", [[burst, window], [burst, shorter]], each([0, 500, 30_000], 0, [1, 20]), [
    ["peek", 30_001, 1, [1, 20]], ["consume", 30_001, 1, [1, 20]], ["consume", 30_002, 0, [1, 30]], ["block", 30_003, 0, SECOND], ["peek", 30_004, 0, 1],
    ["consume", 50_000, 0, [1, 60]], ["consume", 50_002, 1, [1, 60]],
  ]),
];
