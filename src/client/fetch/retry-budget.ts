// A crawler calls more origins than this. The first ones seen are forgotten first.
const MAX_ORIGINS = 1_000;

/** Records a failure or success of an origin. Returns whether the origin has enough tokens left for a retry. */
export type RetryBudget = (origin: string, hasFailed: boolean) => boolean;

/**
 * Creates a budget of retries for each origin. A failure takes a token, and a success returns `perSuccess`. With half
 * of the `tokens` or fewer left there are no retries.
 */
export function createRetryBudget(options: false | { readonly tokens: number; readonly perSuccess: number }): RetryBudget {
  if (!options) return () => true;
  const { tokens, perSuccess } = options;
  // Tokens spent, by origin. An origin that has spent nothing is not stored.
  const spentByOrigin = new Map<string, number>();
  return (origin, hasFailed) => {
    const spent = Math.min(tokens, (spentByOrigin.get(origin) ?? 0) + (hasFailed ? 1 : -perSuccess));
    if (spent > 0) spentByOrigin.set(origin, spent);
    else spentByOrigin.delete(origin);
    if (spentByOrigin.size > MAX_ORIGINS) spentByOrigin.delete(spentByOrigin.keys().next().value as string);
    return spent < tokens / 2;
  };
}
