import { callersOf, inRounds, median, ratio, sample, type Callers, type Sample, type ServerCpu } from "./measure.js";
import { CONTROL, PEER, SLUICE, type Client } from "./redis-sides.js";
import { goal, quick, show } from "./results.js";

// Short turns: a machine that slows down for a moment slows a few of them, and the median is of the others.
const TURNS = quick ? 10 : 100;
const CALLS = quick ? 200 : 300;
/** Longer than a bucket of these needs to be full again, and shorter than Redis keeps it. */
const PAUSE_MS = quick ? 2_000 : 20_000;
const KNOWN_KEYS = 1_000;

type Age = "known" | "new" | "paused";

/** The least ratio to the peer. A new key has none: it costs sluice a SET with an expiry, and the peer, too. */
const WANTED: Readonly<Partial<Record<Age, number>>> = { known: 0.98, paused: 0.97 };

/**
 * One caller at a time, as in a small service, on keys of three ages: known ones that were used a moment ago, new ones,
 * and ones that have paused for 20 to 40 s. Each side takes a turn of 300 calls, 100 times. A second side of the peer, the
 * control, says how far two equal sides are apart on this machine.
 */
export async function alone(over: string, client: Client, serverCpu: ServerCpu, wanted = WANTED): Promise<void> {
  const prefix = `${over} ${process.pid}`;
  for (const age of ["known", "new", "paused"] as const) {
    const turns = new Map(client.alone.map(({ name }) => [name, 0]));
    /** The keys of a side's next turn. Each call of it gets another key. */
    const nextKeys = (name: string): Callers => {
      const turn = turns.get(name) as number;
      turns.set(name, turn + 1);
      if (age === "known") return callersOf(KNOWN_KEYS);
      return { count: CALLS, key: (i) => `${prefix} ${age} ${turn}:${i % CALLS}` };
    };
    const load = { callers: 1, calls: CALLS, expected: true, serverCpu, timeOneOf: 1 };
    if (age !== "new") {
      for (const side of client.alone) {
        const all = age === "known" ? [callersOf(KNOWN_KEYS)] : Array.from({ length: TURNS + 1 }, () => nextKeys(side.name));
        for (const keys of all) await sample(side, { ...load, callers: 32, calls: keys.count, keys });
        turns.set(side.name, 0);
      }
    }
    if (age === "paused") await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    const title = `${over}, one caller, ${age} keys`;
    const results = await inRounds(title, client.alone, TURNS, (side) => sample(side, { ...load, keys: nextKeys(side.name) }));
    report(title, results);
    const least = wanted[age];
    const of = (name: string) => results.get(name) ?? [];
    const control = quartiles(of(CONTROL), of(PEER), ({ perSecond }) => perSecond);
    const name = `${over}, 1, ${age} keys`;
    if (least !== undefined) {
      const own = quartiles(of(SLUICE), of(PEER), ({ perSecond }) => perSecond);
      goal(`${name}: decisions/s`, { median: own.median, spread: `${textOf(own)}; control ${textOf(control, true)}` }, { atLeast: least });
    }
    if (age === "known") goal(`${name}: p99, beside the control`, quartilesOf(of(SLUICE), of(CONTROL), ({ p99Ms }) => p99Ms), { atMost: 1.05 });
  }
}

/** The middle half of the ratios of two sides. */
interface Quartiles {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

function quartiles(own: readonly Sample[], other: readonly Sample[], of: (sample: Sample) => number): Quartiles {
  const ratios = own.map((each, turn) => of(each) / of(other[turn] as Sample)).sort((a, b) => a - b);
  return { low: ratios[Math.floor(ratios.length / 4)] as number, median: median(ratios), high: ratios[Math.floor((ratios.length * 3) / 4)] as number };
}

function quartilesOf(own: readonly Sample[], other: readonly Sample[], of: (sample: Sample) => number) {
  const all = quartiles(own, other, of);
  return { median: all.median, spread: textOf(all) };
}

function textOf({ low, median: middle, high }: Quartiles, withMedian = false): string {
  return `${withMedian ? `${middle.toFixed(3)}, ` : ""}${low.toFixed(3)} to ${high.toFixed(3)}`;
}

/** A row for each side: how fast it is beside the peer, in the middle half of the turns, and whether that is more than noise. */
function report(title: string, results: ReadonlyMap<string, readonly Sample[]>): void {
  const peer = results.get(PEER) ?? [];
  const control = quartiles(results.get(CONTROL) ?? [], peer, ({ perSecond }) => perSecond);
  const rows = [...results].map(([name, own]) => {
    const speed = quartiles(own, peer, ({ perSecond }) => perSecond);
    const isNoise = speed.median >= control.low && speed.median <= control.high;
    return [
      name,
      {
        "decisions/s": Math.round(median(own.map(({ perSecond }) => perSecond))),
        [`times ${PEER}`]: Number(speed.median.toFixed(3)),
        "middle half": textOf(speed),
        "within the control's": name === PEER || name === CONTROL ? "" : isNoise ? "yes" : "no",
        "p99 beside the control's": Number(ratio(own, results.get(CONTROL) ?? [], ({ p99Ms }) => p99Ms).median.toFixed(2)),
        "server µs": Number(median(own.map(({ serverUs }) => serverUs)).toFixed(1)),
      },
    ] as const;
  });
  show(title, Object.fromEntries(rows));
}
