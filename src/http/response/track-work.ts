import { checkOptions, expected } from "../../core/check.js";
import type { Verdict } from "./verdict.js";
import type { Outcome } from "./work.js";

/** Throws a TypeError for anything but a verdict of a gate: with the promise of one, no work would end. */
export function checkVerdict(verdict: Verdict): void {
  const { outcome, work } = Object(verdict) as { readonly outcome?: Verdict["outcome"]; readonly work?: object };
  if (outcome === "skip" || outcome === "refuse" || (outcome === "pass" && work !== undefined)) return;
  throw new TypeError(`${expected("verdict", "of a gate", verdict)}. Await the gate`);
}

const LEFT: Outcome = { status: 499, aborted: true };

/**
 * Tracks the work of a request where no response of Node ends it. Returns the function `done`: call it when the
 * response has ended, in any way. Without it, tokens in flight keep their places for `maxWorkMs`. Does nothing for a
 * request that was refused or skipped.
 *
 * `done({ status, aborted })` settles what the work cost and gives back its tokens in flight. Pass `aborted: true` when
 * the client left; the status is then 499. Its promise resolves when the cost is settled, and never
 * rejects; at once if the work was ended elsewhere. The first
 * call counts. A later one with `aborted: true` says that the client left after its whole response. Throws a RangeError
 * for a status that no response has.
 *
 * Pass as `handled` the promise of the handler: tokens in flight wait for it, too, and once the client has left for at
 * most four times `staleAfterMs`. Pass `unread: true` for a body that no reader has begun: its tokens in flight are not
 * renewed, and the work ends with them. Call it again with `unread: false` when the reading begins.
 * @example
 * const handled = handle(request);
 * const done = trackWork(verdict, { handled });
 * const { status } = await handled.catch(() => ({ status: 500 }));
 * await done({ status, aborted: false });
 */
export function trackWork(
  verdict: Verdict,
  facts: { readonly handled?: Promise<unknown> | undefined; readonly unread?: boolean | undefined } = {},
): (outcome: Outcome) => Promise<void> {
  checkVerdict(verdict);
  const { handled, unread } = checkOptions(facts, ["handled", "unread"]);
  const work = verdict.outcome === "pass" ? verdict.work : null;
  if (handled !== undefined) work?.holdUntil(Promise.resolve(handled));
  if (unread !== undefined) work?.whenUnread(unread ? () => void work.end(LEFT) : null);
  let settled: Promise<void> | null = null;

  return ({ status, aborted }) => {
    const hasLeft = aborted || status === LEFT.status;
    if (!hasLeft && !(Number.isInteger(status) && status >= 100 && status <= 999)) {
      throw new RangeError(expected("status", "from 100 to 999", status));
    }
    if (settled !== null && hasLeft) work?.clientLeft();
    return (settled ??= work?.end(hasLeft ? LEFT : { status, aborted: false }) ?? Promise.resolve());
  };
}
