// The bounds of laws L1 and L20, checked from the outside: it knows nothing of sluice but the numbers of a limit.

/** Tokens that were granted at an instant, less what was given back of them. */
export type Granted = readonly [at: number, tokens: number];

interface Numbers {
  readonly capacity?: number | undefined;
  readonly refill: { readonly tokens: number; readonly everyMs: number };
}

/**
 * The most that any window from one instant to another got ahead of the rate, in tokens: at most `capacity`, or the bound is
 * broken. Compares all pairs of instants, in whole numbers.
 */
export function mostAhead(granted: readonly Granted[], { refill }: Numbers): number {
  const inOrder = granted.toSorted(([one], [other]) => one - other);
  let most = 0;
  inOrder.forEach(([from], i) => {
    let tokens = 0;
    for (let j = i; j < inOrder.length; j++) {
      const [to, more] = inOrder[j] as Granted;
      tokens += more;
      most = Math.max(most, tokens * refill.everyMs - refill.tokens * (to - from));
    }
  });
  return most / refill.everyMs;
}

/** The most tokens of one calendar month (UTC) that were granted and not given back: at most the capacity of the quota. */
export function mostInMonth(granted: readonly Granted[]): number {
  const months = new Map<string, number>();
  for (const [at, tokens] of granted) {
    const month = new Date(at).toISOString().slice(0, "2026-11".length);
    months.set(month, (months.get(month) ?? 0) + tokens);
  }
  return Math.max(0, ...months.values());
}
