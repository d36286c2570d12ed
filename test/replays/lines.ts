// What processes write down in a fault run, one event a line. Each process has a file of its own, because it may be killed.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Tokens were granted, by the store's clock in milliseconds. */
export interface Grant {
  readonly event: "grant";
  readonly work: string;
  /** The limit: "rate", "settled", "day" or "parallel". */
  readonly limit: string;
  readonly at: number;
  readonly cost: number;
}

/** A work is over, and its settlement is sent next. */
export interface End {
  readonly event: "end";
  readonly work: string;
  /** By the clock of the machine, in milliseconds. */
  readonly at: number;
  readonly used: number;
}

/** The settlement of a work is answered. */
interface Settled {
  readonly event: "settled";
  readonly work: string;
  /** By the clock of the machine, in milliseconds. */
  readonly at: number;
}

/** The store lost data, at an instant between the two. */
export interface Loss {
  readonly event: "loss";
  readonly from: number;
  readonly to: number;
}

export type Line = Grant | End | Settled | Loss;

/** The numbers of the limits, as the run's policies have them. */
export const NUMBERS = {
  rate: { capacity: 20, perMs: 0.1 },
  settled: { capacity: 30, perMs: 0.05 },
  day: { capacity: 400 },
  parallel: { capacity: 3, staleAfterMs: 1_000 },
} as const;

/** All lines of a run. A process that is killed may leave the last one unfinished. */
export function readLines(folder: string): Line[] {
  return readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1)).map((line) => JSON.parse(line) as Line);
}
