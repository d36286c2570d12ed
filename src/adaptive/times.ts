/** What a list of service times says, in milliseconds. */
export interface Times {
  readonly median: number;
  /** Nine of ten are below it. Where most answers are quick, a line shows here first. */
  readonly upper: number;
  /** The mean, in which no time counts as more than 20 medians. */
  readonly mean: number;
  /**
   * The wait that a request may have in the service before it begins: the mean for work that always takes the same, twice
   * the mean for exponential times, and at most 4 times the mean.
   */
  readonly wait: number;
}

// One caller whose work takes forever must not move a mean.
const MOST_MEDIANS = 20;
const MOST_MEANS = 4;

/** Sorts `times`, which are above 0 and at least one. */
export function timesOf(times: number[]): Times {
  times.sort((one, other) => one - other);
  const median = times[times.length >> 1] as number;
  const upper = times[Math.floor(times.length * 0.9)] as number;
  let [sum, squares] = [0, 0];
  for (const time of times) {
    const counted = Math.min(time, MOST_MEDIANS * median);
    sum += counted;
    squares += counted * counted;
  }
  const mean = sum / times.length;
  // A request that finds all workers busy waits in proportion to the mean square of the work, by its mean. So work
  // whose time varies needs a longer line for the same throughput.
  return { median, upper, mean, wait: Math.min(squares / sum, MOST_MEANS * mean) };
}

/** Moves `base` towards `times`: 0 leaves it, and 1 replaces it. */
export function blend(base: Times | null, times: Times, weight: number): Times {
  if (base === null) return times;
  const between = (from: number, to: number): number => from + weight * (to - from);
  return {
    median: between(base.median, times.median),
    upper: between(base.upper, times.upper),
    mean: between(base.mean, times.mean),
    wait: between(base.wait, times.wait),
  };
}
