/** When something began and ended, in any one unit. */
export interface Spell {
  readonly began: number;
  /** Infinity while it lasts. */
  ended: number;
}

/** The most spells that overlap at one instant. A spell that ends when another begins does not overlap it. */
export function mostAtOnce(spells: readonly Readonly<Spell>[]): number {
  const steps = spells.flatMap(({ began, ended }) => [[began, 1], [ended, -1]] as [number, number][]);
  let [most, open] = [0, 0];
  for (const [, change] of steps.sort((a, b) => a[0] - b[0] || a[1] - b[1])) most = Math.max(most, (open += change));
  return most;
}

/** The instant on a clock that all processes of this machine share, in microseconds. */
export const sharedInstant = (): number => Number(process.hrtime.bigint() / 1_000n);
