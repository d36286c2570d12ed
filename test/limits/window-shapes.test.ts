import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { afterMs, createLimiter, MemoryStore, perMinute, type LimitOptions } from "../../src/index.js";
import { ManualClock } from "../../src/testing/manual-clock.js";

const CAPACITY = 100;
const MS = 60_000;
const MINUTES = 200;

/** When a caller sends: `sent(random)` returns the instants of 200 minutes. */
interface Shape {
  readonly name: string;
  readonly sent: (random: () => number) => number[];
  /** The words of the page's table, for the shapes that it shows. */
  readonly onPage?: string;
}

const eachMinute = (calls: number, at: (random: () => number) => (call: number) => number) => (random: () => number) =>
  Array.from({ length: MINUTES }, (_, minute) => {
    const within = at(random);
    return Array.from({ length: calls }, (__, call) => Math.round(minute * MS + within(call)));
  }).flat();

const every = (gap: (random: () => number) => number) => (random: () => number): number[] => {
  const sent = [];
  for (let at = 0; at < MINUTES * MS; at += gap(random)) sent.push(Math.round(at));
  return sent;
};

const atRandom = (perMinuteSent: number) => every((random) => (-MS / perMinuteSent) * Math.log(1 - random()));

const SHAPES: readonly Shape[] = [
  { name: "100 at one instant each 60 s", sent: eachMinute(100, () => () => 0), onPage: "100 at once, each minute" },
  { name: "100 within 200 ms each 60 s", sent: eachMinute(100, () => (call) => call * 2) },
  {
    name: "100 within 200 ms each 60 s, ±100 ms",
    sent: eachMinute(100, (random) => ((start) => (call) => start + call * 2)(200 * random())),
    onPage: "100 within 200 ms, each minute ± 100 ms",
  },
  { name: "90 at once each 60 s, ±100 ms", sent: eachMinute(90, (random) => ((start) => () => start)(200 * random())) },
  { name: "evenly 100 a minute", sent: every(() => 600), onPage: "100 a minute, evenly" },
  { name: "evenly 100 a minute, ±300 ms", sent: (random) => every(() => 600)(random).map((at) => Math.round(at + 600 * random())).sort((a, b) => a - b) },
  { name: "at random 90 a minute", sent: atRandom(90), onPage: "90 a minute, at random" },
  { name: "at random 200 a minute", sent: atRandom(200), onPage: "200 a minute, at random" },
  { name: "one every 20 ms", sent: every(() => 20) },
];

// A list of all takes: as exact as a window can be, with memory for each request.
function exactLog(): (at: number) => boolean {
  const taken: number[] = [];
  let over = 0;
  return (at) => {
    while (over < taken.length && (taken[over] as number) <= at - MS) over++;
    if (taken.length - over >= CAPACITY) return false;
    taken.push(at);
    return true;
  };
}

function limited(limit: LimitOptions): (at: number) => boolean {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy: { name: "shape", limits: [limit] }, store: new MemoryStore({ clock: clock.now }) });
  return (at) => {
    clock.set(at);
    return limiter.consume("ann").allowed;
  };
}

/** The share of the calls that is refused, in percent. */
function refusedOf({ sent }: Shape, consume: (at: number) => boolean): number {
  let seed = 5;
  // Park and Miller's generator: the same calls in every run.
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const calls = sent(random);
  return (100 * calls.filter((at) => !consume(at)).length) / calls.length;
}

const windowOf100 = (): ReturnType<typeof limited> => limited({ name: "window", capacity: CAPACITY, returns: afterMs(MS) });

describe("L22 · callers of nine shapes", () => {
  test.each(SHAPES)("L22 · a window refuses at most 6 points more than a list of all takes: $name", (shape) => {
    const [window, log] = [refusedOf(shape, windowOf100()), refusedOf(shape, exactLog())];
    expect(window - log).toBeLessThanOrEqual(6);
  });
});

const pageOf = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8");
const FORGIVING: LimitOptions = { name: "api", refill: perMinute(100) };
const SMALL_BURST: LimitOptions = { name: "api", capacity: 20, refill: perMinute(100) };
const SPLIT: LimitOptions = { name: "api", capacity: 20, refill: perMinute(80) };
const WINDOW: LimitOptions = { name: "api", capacity: CAPACITY, returns: afterMs(MS) };

test("the table of the page says what the limits refuse", () => {
  const page = pageOf("guides/rate-window-quota.md");
  const percent = (share: number): string => `${Number(share.toFixed(share < 1 ? 1 : 0))} %`;
  const rows = SHAPES.filter(({ onPage }) => onPage !== undefined).map((shape) => {
    const limits = [FORGIVING, SMALL_BURST, SPLIT, WINDOW].map(limited);
    return `| ${shape.onPage} | ${limits.map((consume) => percent(refusedOf(shape, consume))).join(" | ")} |`;
  });
  expect(page.split("\n").filter((line) => rows.some((row) => line.startsWith(row.slice(0, row.indexOf(" |", 2)))))).toEqual(rows);
  const [, most = ""] = /^\| most in any minute \| (.*) \|$/m.exec(page) ?? [];
  expect(most.split(" | ").map(Number)).toEqual([FORGIVING, SMALL_BURST, SPLIT, WINDOW].map((limit) => grantsOf(limit).mostInAMinute));
});

test("the table of the options says what each limit grants", () => {
  const rows = ([
    ['{ name: "api", refill: perMinute(100) }', FORGIVING],
    ['{ name: "api", capacity: 20, refill: perMinute(100) }', SMALL_BURST],
    ['{ name: "api", capacity: 20, refill: perMinute(80) }', SPLIT],
    ['{ name: "api", capacity: 100, returns: afterMs(60_000) }', WINDOW],
  ] as const).map(([written, limit]) => {
    const { atOnce, later, mostInAMinute } = grantsOf(limit);
    return `| \`${written}\` | ${atOnce} | ${limit === WINDOW ? "as they come back, each after a minute" : `${later} a minute`} | at most ${mostInAMinute} |`;
  });
  expect(pageOf("options.md").split("\n").filter((line) => line.startsWith('| `{ name: "api"'))).toEqual(rows);
});

/** What a caller gets who asks for all that there is, every 10 ms for 10 minutes. */
function grantsOf(limit: LimitOptions): Record<"atOnce" | "later" | "mostInAMinute", number> {
  const consume = limited(limit);
  const taken: number[] = [];
  for (let at = 0; at < 10 * MS; at += 10) while (consume(at)) taken.push(at);
  const takenIn = (from: number, ms: number): number => taken.filter((at) => at >= from && at < from + ms).length;
  // The bound of a rate counts both ends of the minute. A window's counts the first: tokens taken a minute ago are back.
  const lastMs = limit.refill === undefined ? 0 : 1;
  return { atOnce: takenIn(0, 1), later: takenIn(9 * MS, MS), mostInAMinute: Math.max(...taken.map((from) => takenIn(from, MS + lastMs))) };
}
