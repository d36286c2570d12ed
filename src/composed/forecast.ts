import { charge, spentAt, waitFor, type Bucket } from "../core/bucket.js";
import { readings, type Decision } from "../core/decision.js";
import type { Policy } from "../core/policy.js";

/** What is known of a key's buckets, by the names of their limits. */
export type Outlook = ReadonlyMap<string, Bucket>;

/**
 * What a decision under `policy`, answered at `now`, tells of its buckets.
 *
 * Decisions speak of whole milliseconds. So what was spent is taken to be the least that would need as many to come back:
 * short of the truth by less than one millisecond brings.
 */
export function outlookOf(decision: Decision, policy: Policy, now: number): Outlook {
  const told = readings(decision);
  return new Map(
    policy.limits.map(({ name, unitsPerMs, unitsPerToken }, i) => {
      const { resetMs } = told[i] as { resetMs: number };
      return [name, { spent: Math.max(0, (resetMs - 1) * unitsPerMs + 1), at: now, unitsPerMs, unitsPerToken }];
    }),
  );
}

/**
 * Milliseconds from `now` until `tokens` have come, if all of them are taken in turn and as soon as they are there. They may
 * be more than the bucket holds. Unless others give back or take some, it is never too long, and too short by less than a
 * millisecond for each who takes his share: that is how long tokens may lie there unseen by a clock of whole milliseconds.
 */
export function comesIn(outlook: Outlook, policy: Policy, tokens: number, now: number): number {
  let wait = 0;
  for (const limit of policy.limits) {
    const bucket = outlook.get(limit.name);
    const spent = bucket === undefined ? 0 : spentAt(bucket, limit, now);
    wait = Math.max(wait, waitFor(tokens, spent, limit));
  }
  return wait;
}

/** Brings an outlook up to date when somebody was served whose `tokens` were foreseen. */
export function takeFrom(outlook: Outlook, policy: Policy, tokens: number, now: number): void {
  for (const limit of policy.limits) {
    const bucket = outlook.get(limit.name);
    if (bucket !== undefined) charge(bucket, limit, now, tokens * limit.unitsPerToken);
  }
}

/** Whether tokens come later by `news` than by `outlook`, and not just by what a millisecond hides. */
export function isLater(news: Outlook, outlook: Outlook, policy: Policy, now: number): boolean {
  return policy.limits.some((limit) => {
    const [told, foreseen] = [news.get(limit.name), outlook.get(limit.name)];
    return told !== undefined && (foreseen === undefined || spentAt(told, limit, now) - spentAt(foreseen, limit, now) >= limit.unitsPerMs);
  });
}
