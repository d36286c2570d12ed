/**
 * What a decision in memory costs: `npm run bench decision`. It prints figures and goals, and fails on none.
 *
 * - `npm run bench decision -- --only=time` measures one part: time, allocation, bytes or spray.
 * - `--keys=1000 --length=37` measures the time for one number of callers, or one length of their keys.
 * - `npm run bench decision -- --against ../before` measures the build of this checkout beside that of another one. Both
 *   need `npm run build`. `npx tsx decision.ts` in this folder takes the build that is there.
 * - `--quick` has fewer rounds, and keys of 37 characters only.
 *
 * Time is processor time, measured as in gate.ts (which see for the lowest start and the control). The floor is a bare
 * `Map` that reads and writes a number. Keys come in random order: fresh strings, as a parser makes them, or `reused`
 * ones, whose hash V8 keeps. Making them is not timed. No bucket is full again at its next visit.
 */
import { alternate, answerOf, begin, buildsOf, type AlternateSide } from "./alternate.js";
import { besideLowest, lowest } from "./ratios.js";
import { finish, goal, quick, rounded, show } from "./results.js";

const FLOOR = "bare Map";
const SLUICE = "sluice";
const TWO = "sluice, two limits";
const FLEXIBLE = "rate-limiter-flexible";
const EXPRESS = "express-rate-limit";
const FASTIFY = "@fastify/rate-limit";
const AGAIN = ", again";
const BEFORE = "before: ";
const COUNTS = [1, 2, 16, 1_000, 100_000];
const LENGTHS = quick ? [37] : [12, 37];
const BLOCK = 10_000;
const WARM_UP = 100_000;
const MILLION = quick ? 200_000 : 1_000_000;

interface Way {
  readonly way: string;
  readonly limits?: number;
  readonly dist?: string;
}

/** The goals for keys of 37 characters, by the number of callers: times a bare `Map`. */
const GOALS: Readonly<Record<number, { readonly one: number; readonly two?: number; readonly express?: true }>> = {
  2: { one: 2.7, express: true },
  1_000: { one: 2.5, two: 4.5 },
  100_000: { one: 0.5, two: 1.4, express: true },
};

const { now, before } = buildsOf();
const WAYS: Readonly<Record<string, Way>> = {
  [FLOOR]: { way: "map" },
  [SLUICE]: { way: "sluice", dist: now },
  [TWO]: { way: "sluice", limits: 2, dist: now },
  [FLEXIBLE]: { way: "flexible" },
  [EXPRESS]: { way: "express" },
  [FASTIFY]: { way: "fastify" },
};

const only = chosen("only");
const parts = { time, allocation, bytes, spray };
for (const [name, part] of Object.entries(parts)) if (only === undefined || only === name) await part();
finish("decision", [FLEXIBLE, EXPRESS, FASTIFY]);

/** The value of an option such as `--only=time`. */
function chosen(name: string): string | undefined {
  return process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(`--${name}=`.length);
}

async function time(): Promise<void> {
  for (const length of LENGTHS) {
    for (const keys of COUNTS) {
      if (Number(chosen("keys") ?? keys) !== keys || Number(chosen("length") ?? length) !== length) continue;
      await timed(keys, length, false);
      if (length === 37 && before === undefined) await timed(keys, length, true);
    }
  }
}

async function timed(keys: number, length: number, reused: boolean): Promise<void> {
  const title = `${thousands(keys)} ${keys === 1 ? "key" : "keys"} of ${length} characters${reused ? ", reused strings" : ""}`;
  const side = (name: string, { way, ...own }: Way): AlternateSide => ({ name, args: ["decide", way, JSON.stringify({ keys, length, reused, limit: enough(keys), cap: 200_000, ...own })] });
  const twice = (name: string): readonly AlternateSide[] => [name, name + AGAIN].map((each) => side(each, WAYS[name] as Way));
  const earlier = (name: string): readonly AlternateSide[] =>
    [BEFORE + name, BEFORE + name + AGAIN].map((each) => side(each, { ...(WAYS[name] as Way), dist: before as string }));
  const own = [SLUICE, TWO].map((name) => side(name, WAYS[name] as Way));
  const peers = [FLEXIBLE, FASTIFY].map((name) => side(name, WAYS[name] as Way));
  const sides = before === undefined ? [...twice(FLOOR), ...own, ...twice(EXPRESS), ...peers] : [...twice(FLOOR), ...earlier(SLUICE), ...earlier(TWO), ...own];
  const { ns } = await alternate<string>(title, "decision-worker.mjs", sides, { block: BLOCK, warmUp: WARM_UP });

  const of = (name: string): readonly number[] => ns.get(name) ?? [];
  show(
    `${title}: nanoseconds of a decision`,
    Object.fromEntries(
      [...ns].map(([name, values]) => {
        const ratio = lowest(values) / lowest(of(FLOOR));
        return [name, { ns: Math.round(lowest(values)), "times a Map": Number(ratio.toFixed(2)) }];
      }),
    ),
  );
  const beside = (name: string, other: string) => besideLowest(of(name), of(other), of(other + AGAIN));
  if (before !== undefined) {
    for (const name of [SLUICE, TWO]) goal(`${title}: ${name}, now beside before`, beside(name, BEFORE + name), { atMost: 1 });
    return;
  }
  const wanted = length === 37 && !reused ? GOALS[keys] : undefined;
  if (wanted === undefined) return;
  goal(`${title}: one limit, beside a bare Map`, beside(SLUICE, FLOOR), { atMost: wanted.one });
  if (wanted.express) goal(`${title}: one limit, beside ${EXPRESS}`, beside(SLUICE, EXPRESS), { atMost: 1 });
  if (wanted.two !== undefined) goal(`${title}: two limits, beside a bare Map`, beside(TWO, FLOOR), { atMost: wanted.two });
}

interface Allocated {
  readonly bytes: number;
  readonly objects: number;
}

async function allocation(): Promise<void> {
  const rows: Record<string, Record<string, number>> = {};
  // The young generation is large enough that nothing is collected while allocations are counted.
  const flags = ["--min-semi-space-size=128", "--max-semi-space-size=128"];
  const allocated = (way: Way, limit = enough(1_000)) => answered<Allocated>("allocation", way, { keys: 1_000, calls: 20_000, limit }, flags);
  const row = ({ bytes, objects }: Allocated): Record<string, number> => ({ bytes: Math.round(bytes), objects: oneDigit(objects) });
  const clock = await allocated({ way: "clock" });
  rows["the clock alone"] = row(clock);
  const ways = { ...WAYS, ...(before === undefined ? {} : { [BEFORE + SLUICE]: { way: "sluice", dist: before }, [BEFORE + TWO]: { way: "sluice", limits: 2, dist: before } }) };
  for (const [name, way] of Object.entries(ways)) {
    const allowed = await allocated(way);
    rows[`${name}, allowed`] = row(allowed);
    rows[`${name}, denied`] = row(await allocated(way, 1));
    // Every library reads a clock, and Node's clock allocates.
    if (name === SLUICE) goal("objects that an allowed decision allocates beside the clock's", { median: Math.round(allowed.objects - clock.objects) }, { atMost: 1 });
  }
  show("What a decision allocates, without its key", rows);
}

async function bytes(): Promise<void> {
  const rows: Record<string, Record<string, number>> = {};
  for (const [name, way] of Object.entries(WAYS)) {
    // A peer keeps the 4,000 bytes from which each key was cut, so a tenth of the callers is enough to show it.
    const slicedKeys = way.way === "sluice" ? MILLION : MILLION / 10;
    rows[name] = {
      "bytes a key": oneDigit(await answered<number>("bytes", way, { keys: MILLION, limit: enough(MILLION), cap: 2 * MILLION })),
      "cut from 4 KB": oneDigit(await answered<number>("bytes", way, { keys: slicedKeys, limit: enough(slicedKeys), cap: 2 * MILLION, sliced: true })),
    };
  }
  show(`Bytes a key, ${thousands(MILLION)} keys of 37 characters`, rows);
  const own = rows[SLUICE] as Record<string, number>;
  goal("bytes a key", { median: Math.max(...Object.values(own)) }, { atMost: 40 });
}

interface Sprayed {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly longest: number;
  readonly grown: number;
  readonly megabytes: number;
}

async function spray(): Promise<void> {
  const cap = quick ? 100_000 : 1_000_000;
  const rows: Record<string, Record<string, number>> = {};
  for (const name of [SLUICE, FASTIFY, EXPRESS]) {
    // Without a cap, memory grows with every caller, so there are fewer of them.
    const calls = (name === EXPRESS ? 2 : 10) * cap;
    // No bucket is idle when the store makes room.
    const found = await answered<Sprayed>("spray", WAYS[name] as Way, { keys: 1, cap, limit: 1_000, calls });
    rows[`${name}, ${thousands(calls)}`] = {
      "p50 µs": Number(rounded(found.p50)), "p99 µs": Number(rounded(found.p99)), "p99.9 µs": Number(rounded(found.p999)),
      "longest ms": Number(rounded(found.longest / 1_000)), "memory, times a tenth": Number(rounded(found.grown)), MB: Number(rounded(found.megabytes)),
    };
    if (name === SLUICE) goal("sprayed: memory at the end, beside memory at a tenth", { median: found.grown }, { atMost: 1.05 });
  }
  show(`New callers all the time, at most ${thousands(cap)} kept where there is a cap`, rows);
}

/** More tokens than any caller spends. With many callers, the first token takes minutes to come back. */
function enough(keys: number): number {
  return Math.max(1_000, Math.ceil(2_000_000 / keys));
}

/** The result of a task with a single answer. */
async function answered<T>(task: string, { way, ...own }: Way, options: object, flags: readonly string[] = []): Promise<T> {
  const worker = begin("decision-worker.mjs", [task, way, JSON.stringify({ ...own, ...options })], ["--expose-gc", ...flags]);
  const answer = await answerOf<T>(worker);
  worker.disconnect();
  return answer;
}

function oneDigit(value: number): number {
  return Math.round(value * 10) / 10;
}

function thousands(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+$)/g, " ");
}
