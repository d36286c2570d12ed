// More than anybody calls; a program that crawls forgets the origin it heard of first.
const MOST_ORIGINS = 1_000;

/** Takes a token from an origin, or gives back a part of one. False when too few are left for a retry. */
export type Spend = (origin: string, hasFailed: boolean) => boolean;

/** Keeps retries from hammering an origin that is struggling: they end when half of its tokens or fewer are left. */
export function createRetryBudget(options: false | { readonly tokens: number; readonly perSuccess: number }): Spend {
  if (options === false) return () => true;
  const { tokens, perSuccess } = options;
  // What is missing, by origin. Nothing missing and never heard of are the same.
  const missing = new Map<string, number>();
  return (origin, hasFailed) => {
    const now = Math.min(tokens, (missing.get(origin) ?? 0) + (hasFailed ? 1 : -perSuccess));
    if (now > 0) missing.set(origin, now);
    else missing.delete(origin);
    if (missing.size > MOST_ORIGINS) missing.delete(missing.keys().next().value as string);
    return now < tokens / 2;
  };
}
