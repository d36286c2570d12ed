import { callersOf, inRounds, sample, type Callers, type Sample, type ServerCpu, type Side } from "./measure.js";
import { besideControl, compare, likelyRatio, median, textOf } from "./ratios.js";
import { CONTROL, PEER, SLUICE, type Client } from "./redis-sides.js";
import { goal, quick, show } from "./results.js";

// Short turns: a machine that slows down for a moment slows a few of them, and the median is of the others.
const TURNS = quick ? 10 : 100;
const CALLS = quick ? 200 : 300;
const KNOWN_KEYS = 1_000;
/** Longer than a bucket of these needs to be full again. */
const PAUSE_MS = quick ? 2_000 : 20_000;
/** Turns for which keys are made at once. With more, the last ones would wait too long. */
const TURNS_OF_A_PAUSE = TURNS / 2;
/** Redis forgets a full bucket after 60 s. */
const OLDEST_MS = 55_000;

type Age = "known" | "new" | "paused" | "slow";

const TITLES: Readonly<Record<Age, string>> = {
  known: "known keys", new: "new keys", paused: "paused keys", slow: "known keys of a limit of 100 an hour",
};

/** The least ratio to the peer. The other ages have no goal. */
const WANTED: Readonly<Partial<Record<Age, number>>> = { known: 0.98, paused: 0.97 };

/**
 * One caller at a time, as in a small service, on keys of three ages: known ones that were used a moment ago, new ones,
 * and ones that have paused for 20 s and more. A fourth table has a limit so slow that every second call moves the end
 * of the record. Each side takes a turn of 300 calls, 100 times. A second side of the peer, the control, says how far
 * two equal sides are apart on this machine.
 */
export async function alone(over: string, client: Client, serverCpu: ServerCpu, wanted = WANTED): Promise<void> {
  for (const age of ["known", "new", "paused", "slow"] as const) {
    const sides = age === "slow" ? client.slow : client.alone;
    const name = `${over}, one caller, ${TITLES[age]}`;
    const { results, ages } = await measure(age, name, sides, serverCpu);
    const of = (side: string): readonly Sample[] => results.get(side) ?? [];
    report(ages === null ? name : `${name} (${ages})`, results);
    const least = wanted[age];
    if (least === undefined) continue;
    const speed = compare(of(SLUICE), of(PEER), of(CONTROL), ({ perSecond }) => perSecond);
    goal(`${over}, 1, ${TITLES[age]}: decisions/s`, besideControl(speed), { atLeast: least });
    const late = compare(of(SLUICE), of(CONTROL), of(PEER), ({ p99Ms }) => p99Ms);
    goal(`${over}, 1, ${TITLES[age]}: p99, beside the control`, besideControl(late), { atMost: 1.05 });
  }
}

interface Measured {
  readonly results: ReadonlyMap<string, readonly Sample[]>;
  /** How long the keys had paused. Null for keys that did not. */
  readonly ages: string | null;
}

async function measure(
  age: Age, title: string, sides: readonly Side[], serverCpu: ServerCpu,
): Promise<Measured> {
  const load = { callers: 1, calls: CALLS, expected: true, serverCpu, timeOneOf: 1 };
  const run = (turns: number, keysOf: (side: string) => Callers) =>
    inRounds(title, sides, turns, (side) => sample(side, { ...load, keys: keysOf(side.name) }));
  if (age !== "new" && age !== "paused") {
    for (const side of sides) await sample(side, { ...load, callers: 32, calls: KNOWN_KEYS, keys: callersOf(KNOWN_KEYS) });
    return { results: await run(TURNS, () => callersOf(KNOWN_KEYS)), ages: null };
  }
  if (age === "new") return { results: await run(TURNS, freshKeys(`${title} ${process.pid}`)), ages: null };

  const all = new Map<string, readonly Sample[]>();
  let oldestMs = 0;
  for (let block = 0; block * TURNS_OF_A_PAUSE < TURNS; block++) {
    const prefix = `${title} ${process.pid} ${block}`;
    const madeAt = performance.now();
    for (const side of sides) {
      const keysOf = freshKeys(prefix);
      // One more for the round that warms up.
      for (let turn = 0; turn <= TURNS_OF_A_PAUSE; turn++) await sample(side, { ...load, callers: 32, keys: keysOf(side.name) });
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    for (const [name, some] of await run(TURNS_OF_A_PAUSE, freshKeys(prefix))) all.set(name, [...(all.get(name) ?? []), ...some]);
    oldestMs = Math.max(oldestMs, performance.now() - madeAt);
  }
  if (oldestMs > OLDEST_MS) throw new Error(`Expected keys that paused for at most ${OLDEST_MS} ms, got ${oldestMs.toFixed(0)} ms`);
  return { results: all, ages: `for ${PAUSE_MS / 1_000} to ${Math.ceil(oldestMs / 1_000)} s` };
}

/** Returns the keys of a side's next turn. Each call of a turn gets another key, and no other turn has it. */
function freshKeys(prefix: string): (side: string) => Callers {
  const turns = new Map<string, number>();
  return (side) => {
    const turn = turns.get(side) ?? 0;
    turns.set(side, turn + 1);
    return { count: CALLS, key: (i) => `${prefix} ${turn}:${i % CALLS}` };
  };
}

/** A row for each side: how fast it is beside the peer, and whether it differs from both sides of the peer. */
function report(title: string, results: ReadonlyMap<string, readonly Sample[]>): void {
  const of = (side: string): readonly Sample[] => results.get(side) ?? [];
  const rows = [...results].map(([name, own]) => {
    const { ratio: speed, isSeen } = compare(own, of(PEER), of(CONTROL), ({ perSecond }) => perSecond);
    return [
      name,
      {
        "decisions/s": Math.round(median(own.map(({ perSecond }) => perSecond))),
        [`times ${PEER}`]: Number(speed.median.toFixed(3)),
        "95 of 100 runs": textOf(speed),
        "differs from the peer": name === PEER || name === CONTROL ? "" : isSeen ? "yes" : "not seen",
        "p99 beside the control's": Number(likelyRatio(own, of(CONTROL), ({ p99Ms }) => p99Ms).median.toFixed(2)),
        "server µs": Number(median(own.map(({ serverUs }) => serverUs)).toFixed(1)),
      },
    ] as const;
  });
  show(title, Object.fromEntries(rows));
}
