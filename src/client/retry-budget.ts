// More than anybody calls; a program that crawls forgets the origin it heard of first.
const MOST_ORIGINS = 1_000;

/** Keeps retries from hammering an origin that is struggling. */
export interface RetryBudget {
  /** Takes a token. False when too few are left for a retry. */
  failed(origin: string): boolean;
  /** Gives back a part of one. */
  succeeded(origin: string): void;
}

/** Every origin starts with `tokens`; retries end when half of them or fewer are left. */
export function createRetryBudget(tokens: number, perSuccess: number): RetryBudget {
  // What is missing, by origin. Nothing missing and never heard of are the same.
  const missing = new Map<string, number>();
  return {
    failed(origin) {
      const now = Math.min(tokens, (missing.get(origin) ?? 0) + 1);
      missing.set(origin, now);
      if (missing.size > MOST_ORIGINS) missing.delete(missing.keys().next().value as string);
      return now < tokens / 2;
    },
    succeeded(origin) {
      const now = (missing.get(origin) ?? 0) - perSuccess;
      if (now > 0) missing.set(origin, now);
      else missing.delete(origin);
    },
  };
}
