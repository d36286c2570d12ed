// What the tables of this folder share.
import { quick } from "../results.js";
import { bestFixed, SEEDS, type Best, type Outcome, type Scene } from "./goals.js";

export const WORKERS: readonly number[] = [8, 64];
export const LOADS: readonly number[] = [0.5, 0.9, 1, 1.5, 2, 5];
export const seeds = quick ? SEEDS.slice(0, 2) : SEEDS;
/** For what needs long runs. */
export const fewSeeds = seeds.slice(0, 4);

export type Cells = Record<string, Record<string, string>>;

/** A value and the cell that has it. */
export interface Extreme {
  readonly median: number;
  readonly spread: string;
}

export const lowest = (all: readonly Extreme[]): Extreme =>
  all.reduce((one, other) => (other.median < one.median ? other : one));
export const highest = (all: readonly Extreme[]): Extreme =>
  all.reduce((one, other) => (other.median > one.median ? other : one));

export const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
/** "98 %, 1.4x": useful answers beside `good`, and the 99th percentile. */
export const cellOf = (outcome: Outcome, good: number): string => `${percent(outcome.good / good)}, ${outcome.p99.toFixed(1)}x`;

export const nameOf = ({ workers, service, load }: Scene): string => `${workers} workers, ${service}, load ${load}`;

/** Writes what is played now over the line before. */
export function tell(text: string): void {
  process.stderr.write(`\r${text.padEnd(70)}${text === "" ? "\r" : ""}`);
}

const found = new Map<string, Best[]>();

/** The best fixed numbers of a scene with the steps, searched once. */
export function bestOf(scene: Scene): Best[] {
  const best = found.get(nameOf(scene)) ?? bestFixed(scene, seeds);
  found.set(nameOf(scene), best);
  return best;
}
