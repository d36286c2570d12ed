// Shared by all measurements over a server: callers that send one request after another, rounds in turn, and ratios
// within a round.
import type { Decision } from "../dist/index.js";
import { median, orderOf } from "./ratios.js";
import { show } from "./results.js";

/** One way to decide: the call, and how to read its answer. Some peers throw refusals. */
export interface Side<Answer = unknown> {
  readonly name: string;
  ask(key: string): Promise<Answer>;
  /** Whether the answer allows the request. Throws an answer that is an error. */
  allows(answer: Answer): boolean;
}

/**
 * For `timeoutMs` of a store. The default of 100 ms can pass on a busy machine, and the decision would be made without the
 * store.
 */
export const PATIENT_MS = 10_000;

/** Throws for a decision made without the store, because it is cheaper than the others. */
export function fromStore(decision: Decision): Decision {
  if (decision.degraded) throw new Error("Expected a decision of the store, got one without it");
  return decision;
}

/** The result of one side in one round. */
export interface Sample {
  readonly perSecond: number;
  /** The 99th percentile of the decisions' duration, in milliseconds. */
  readonly p99Ms: number;
  /** Microseconds of this process for each decision, user and system. */
  readonly clientUs: number;
  /** Microseconds of the server for each decision, user and system. NaN when the server does not report it. */
  readonly serverUs: number;
}

/** Microseconds of CPU time that the server has used so far. */
export type ServerCpu = () => Promise<number>;

/** The keys of callers. Keys used one after another are not neighbors in memory. */
export interface Callers {
  readonly count: number;
  /** Returns a new string each time, as for a key that comes with a request. */
  key(i: number): string;
}

export function callersOf(count: number): Callers {
  return { count, key: (i) => `user:${(i * 7_919) % count}:0123456789abcdef` };
}

/**
 * Makes `calls` decisions with `callers` callers. Each sends the next request when it has its answer. Throws when a
 * verdict is not the expected one.
 */
export async function sample(
  side: Side,
  { callers, calls, keys, expected, serverCpu, timeOneOf = 8 }: {
    readonly callers: number;
    readonly calls: number;
    readonly keys: Callers;
    readonly expected: boolean;
    readonly serverCpu: ServerCpu;
    /** Reading the clock costs as much as a cheap decision, so only one call of these is timed. */
    readonly timeOneOf?: number;
  },
): Promise<Sample> {
  const took = new Float64Array(Math.ceil(calls / timeOneOf));
  // Each round begins at another key. Small rounds then also use many callers.
  const offset = Math.floor(Math.random() * keys.count);
  let next = 0;
  let wrong = 0;
  const caller = async (): Promise<void> => {
    while (next < calls) {
      const i = next++;
      const start = i % timeOneOf === 0 ? performance.now() : 0;
      let answer: unknown;
      try {
        answer = await side.ask(keys.key(offset + i));
      } catch (thrown) {
        answer = thrown;
      }
      if (start !== 0) took[i / timeOneOf] = performance.now() - start;
      if (side.allows(answer) !== expected) wrong++;
    }
  };
  const serverBefore = await serverCpu();
  const clientBefore = process.cpuUsage();
  const start = performance.now();
  await Promise.all(Array.from({ length: callers }, caller));
  const ms = performance.now() - start;
  const client = process.cpuUsage(clientBefore);
  const server = (await serverCpu()) - serverBefore;
  if (wrong > 0) throw new Error(`${side.name}: ${wrong} of ${calls} decisions were not ${expected ? "allowed" : "denied"}`);
  took.sort();
  return {
    perSecond: (calls / ms) * 1_000,
    p99Ms: took[Math.floor(took.length * 0.99)] as number,
    clientUs: (client.user + client.system) / calls,
    serverUs: server / calls,
  };
}

/** Runs every side once a round, in the {@link orderOf} the round. The first round warms up and is not kept. */
export async function inRounds<S extends { readonly name: string }, T>(
  title: string,
  sides: readonly S[],
  rounds: number,
  run: (side: S) => Promise<T>,
): Promise<Map<string, T[]>> {
  const results = new Map(sides.map(({ name }) => [name, [] as T[]]));
  for (let round = 0; round <= rounds; round++) {
    process.stderr.write(`\r${title}: ${round === 0 ? "warming up" : `round ${round} of ${rounds}`}   `);
    for (const place of orderOf(round, sides.length)) {
      const side = sides[place] as S;
      const result = await run(side);
      if (round > 0) results.get(side.name)?.push(result);
    }
  }
  process.stderr.write("\r".padEnd(70) + "\r");
  return results;
}

/** The ratios of two sides in each round, by the measure that `of` picks: their median and their spread. */
export function ratio<T>(own: readonly T[], other: readonly T[], of: (sample: T) => number): { median: number; spread: string } {
  const ratios = own.map((sample, round) => of(sample) / of(other[round] as T));
  return { median: median(ratios), spread: `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}` };
}

/** Prints a table of medians; the first column of ratios is against `peer`. */
export function printSamples(title: string, results: ReadonlyMap<string, readonly Sample[]>, peer: string): void {
  const against = results.get(peer) as readonly Sample[];
  show(
    title,
    Object.fromEntries(
      [...results].map(([name, own]) => {
        const speed = ratio(own, against, ({ perSecond }) => perSecond);
        return [
          name,
          {
            "decisions/s": Math.round(median(own.map(({ perSecond }) => perSecond))),
            [`times ${peer}`]: Number(speed.median.toFixed(2)),
            spread: speed.spread,
            "p99 ms": round2(median(own.map(({ p99Ms }) => p99Ms))),
            "client µs": round2(median(own.map(({ clientUs }) => clientUs))),
            "server µs": round2(median(own.map(({ serverUs }) => serverUs))),
          },
        ];
      }),
    ),
  );
}

const round2 = (value: number): number => Number(value.toFixed(2));
