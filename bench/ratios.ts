// In which order sides take turns, and how sure a ratio of two sides is.

/**
 * The order of `count` sides in a round, as their positions. Over `2 * count` rounds each side has each place equally
 * often, and follows each other side equally often, because a side may profit from the one before it (a Williams
 * design).
 */
export function orderOf(round: number, count: number): readonly number[] {
  const zigzag = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? i / 2 : count - (i + 1) / 2));
  const order = zigzag.map((place) => (place + round) % count);
  // With an odd count only the mirrored orders balance who follows whom.
  return Math.floor(round / count) % 2 === 0 ? order : order.toReversed();
}

/** The value in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] as number) : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** The median of the ratios of two sides, and the interval that contains the true median in 95 of 100 runs. */
export interface Likely {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

/** The ratios of two sides, turn by turn, as {@link Likely}. Throws a RangeError for fewer than 10 turns. */
export function likelyRatio<T>(own: readonly T[], other: readonly T[], of: (sample: T) => number): Likely {
  if (own.length < 10) throw new RangeError(`Expected at least 10 turns, got ${own.length}: fewer have no such interval`);
  const ratios = own.map((sample, turn) => of(sample) / of(other[turn] as T)).sort((a, b) => a - b);
  // The ranks of the interval: the number of ratios below the median is binomial.
  const reach = 0.98 * Math.sqrt(ratios.length);
  const rank = (place: number): number => ratios[Math.min(ratios.length - 1, Math.max(0, place))] as number;
  const [low, high] = [Math.floor(ratios.length / 2 - reach) - 1, Math.ceil(ratios.length / 2 + reach)];
  return { low: rank(low), median: median(ratios), high: rank(high) };
}

/** Whether a ratio differs from the control's by more than both are uncertain. */
export function isSeen(own: Likely, control: Likely): boolean {
  return own.low > control.high || own.high < control.low;
}

/** The value of a goal whose spread also shows the control. */
export function besideControl(own: Likely, control: Likely): { readonly median: number; readonly spread: string } {
  const seen = isSeen(own, control) ? "" : ", no difference seen";
  return { median: own.median, spread: `${textOf(own)}; control ${control.median.toFixed(3)}, ${textOf(control)}${seen}` };
}

/** The interval as text. */
export const textOf = ({ low, high }: Likely): string => `${low.toFixed(3)} to ${high.toFixed(3)}`;
