// Many decisions for one bucket, by few statements.
import { costAt, simplest, type Costs } from "../../core/limit.js";
import { readings, type Decision } from "../../core/decision.js";
import { peek } from "../../core/decide.js";
import type { Policy } from "../../core/policy.js";
import { StoreUnavailableError } from "../../guard/errors.js";
import type { CallStart, DenyCache } from "../shared/deny-cache.js";
import type { Snapshot } from "../shared/snapshot.js";
import type { QueueTurn } from "./key-queue.js";
import type { Operation } from "./protocol.js";

/** A decision that waits in the queue of its bucket. */
export interface QueuedDecision {
  readonly policy: Policy;
  readonly key: string;
  readonly costs: Costs;
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
}

/** The rows that a statement found. */
export interface StatementResult {
  /** One snapshot per bucket of the statement. */
  readonly snapshots: readonly Snapshot[];
  /** When the statement was sent. Null for a late answer: a later statement may know more about the bucket. */
  readonly start: CallStart | null;
}

/** Sends a statement that takes `costs` for the bucket of `queued`. */
type AskForTokens = (queued: QueuedDecision, what: Operation, costs: Costs) => Promise<StatementResult>;

/**
 * Takes `costs` for the bucket of `queued` if they are certain to fit, and resolves to the bucket as it was before.
 * Null, or a promise of it, when it has taken nothing.
 */
type AskForGrant = (queued: QueuedDecision, costs: Costs) => Promise<Snapshot | null> | null;

/**
 * Decides a batch of decisions for one bucket with few statements.
 *
 * All decisions that a full bucket could grant are asked for at once, together with those of other buckets. Most
 * batches need no more. If the sum is not granted, nothing is decided yet.
 *
 * The next statement charges the first decision alone, and its reply states how many tokens are left of each limit. The
 * one after it charges the sum of all following decisions that fit in that: charging a sum equals charging each in
 * turn. If another process was faster, the server refuses the sum, which decides nothing, and the next sum is smaller.
 * When a decision is refused alone, so are all others that do not fit at the same instant: while a block lasts, all.
 *
 * Decisions of a statement in progress are not in `turn.items`. If the statement is lost, the queue rejects the others:
 * most of their callers have given up, and a charge now would only cost them tokens.
 */
export async function decideBatch(
  turn: QueueTurn<QueuedDecision>, denials: DenyCache, ask: AskForTokens, askForGrant: AskForGrant,
): Promise<void> {
  const first = turn.items[0] as QueuedDecision;
  const { policy, key } = first;
  let sent: readonly QueuedDecision[] = [];
  let room: readonly number[] = [];
  const takeFirst = (count: number): void => {
    sent = turn.items.slice(0, count);
    turn.items = turn.items.slice(count);
  };
  const grant = (snapshot: Snapshot): void => {
    denials.outdate(policy, key);
    for (const { costs, resolve } of sent) resolve(snapshot.consume(policy, costs));
    room = roomIn(peek(snapshot.buckets, policy, 0, snapshot.now));
  };
  try {
    // Earlier work in the queue may have remembered a denial.
    turn.items = unanswered(turn.items, (costs) => denials.recall(policy, key, costs));
    if (turn.items.length > 0) {
      const capacities = policy.limits.map(({ capacity }) => capacity);
      const { count, sum } = firstWithin(capacities, turn.items);
      const asked = askForGrant(first, sum);
      if (asked !== null) {
        takeFirst(count);
        const snapshot = await asked;
        if (snapshot !== null) grant(snapshot);
        else if (turn.isOver) throw notSent();
        else turn.items = [...sent, ...turn.items];
      }
    }
    while (turn.items.length > 0) {
      const { count, sum } = firstWithin(room, turn.items);
      takeFirst(count);
      const { snapshots, start } = await ask(first, count === 1 ? "c" : "s", sum);
      const snapshot = snapshots[0] as Snapshot;
      if (snapshot.fits) {
        grant(snapshot);
        continue;
      }
      room = snapshot.blockMs > 0 ? [] : roomIn(snapshot.peek(policy, sum));
      if (turn.isOver && count > 1) throw notSent();
      turn.items = [...sent, ...turn.items];
      if (count > 1) continue;
      if (start !== null) denials.remember(policy, key, snapshot, start);
      turn.items = unanswered(turn.items, (costs) => snapshot.refusalAfter(0, policy, costs));
    }
  } catch (error) {
    for (const { reject } of [...sent, ...turn.items]) reject(error);
  }
}

/** The error of a decision that a lost statement kept from the server. */
export function notSent(): StoreUnavailableError {
  return new StoreUnavailableError(
    "ERR_STORE_TIMEOUT",
    "Expected Postgres to answer an earlier call for this bucket within 1000 ms, got no answer. This call took no tokens.",
  );
}

function roomIn(decision: Decision): number[] {
  return readings(decision).map(({ remaining }) => remaining);
}

// Answers the decisions that `refuse` refuses, and returns the others.
function unanswered(queued: readonly QueuedDecision[], refuse: (costs: Costs) => Decision | null): readonly QueuedDecision[] {
  return queued.filter(({ costs, resolve }) => {
    const refusal = refuse(costs);
    if (refusal !== null) resolve(refusal);
    return refusal === null;
  });
}

// The longest beginning of `queued` whose costs add up to at most `room`, limit by limit: the first decision alone
// where `room` is empty.
function firstWithin(room: readonly number[], queued: readonly QueuedDecision[]): { count: number; sum: Costs } {
  const [{ policy, costs }] = queued as [QueuedDecision];
  let sums = policy.limits.map((_, i) => costAt(costs, i));
  let count = 1;
  for (const next of queued.slice(1)) {
    const more = sums.map((sum, i) => sum + costAt(next.costs, i));
    if (more.some((sum, i) => sum > (room[i] ?? -1))) break;
    sums = more;
    count += 1;
  }
  return { count, sum: simplest(sums) };
}
