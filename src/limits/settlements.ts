import type { HeldWork } from "../port/kind-rules.js";
import { monotonicClock } from "../core/clock.js";
import { sharesWork } from "../platform.js";
import { callOf, hasVerb } from "../port/store.js";
import { heldCosts, MOST_REFUSED, settlementsAtOnce } from "./held-work.js";
import { startBeat, stopBeat, takeTurns } from "./turns.js";

// The most settlements of a store that wait. Each of them keeps a decision in memory.
const MOST_KEPT = 10_000;
const TRY_MS = 1_000;

type Settlement = (isInBackground: true) => unknown;
type Dropped = (error: Error) => void;

/** The settlements that wait for one store, in the order in which they came, and what to call when one is dropped. */
class SettlementLine extends Map<Settlement, Dropped> {
  isBusy = false;
}

const settlementLines = new Map<object, SettlementLine>();
let timer: unknown = null;

/**
 * Makes a settlement again. The open circuit breaker refused it, so it was certainly not made. Each store has a line of
 * its own. Once a second the first in the line is tried, and the others follow unless the circuit breaker refuses 16 in
 * a row. Beyond 10,000 of a store the oldest is dropped: its tokens come back at their date.
 */
export function settleLater(settle: Settlement, store: object, dropped: Dropped = () => undefined): boolean {
  // Where requests share no timers (law L15), the tokens come back at their date.
  if (!sharesWork()) return false;
  const line = settlementLines.get(store) ?? new SettlementLine();
  settlementLines.set(store, line.set(settle, dropped));
  if (line.size > MOST_KEPT) {
    const [oldest, tell] = line.entries().next().value as [Settlement, Dropped];
    line.delete(oldest);
    tell(new Error(`Expected the store to be back before ${MOST_KEPT} settlements waited for it. The oldest is dropped`));
  }
  timer ??= startBeat(settleWaiting, TRY_MS);
  return true;
}

function settleWaiting(): void {
  for (const [store, line] of settlementLines) {
    if (!line.isBusy) void settleLine(line).then(() => stopWithout(store, line));
  }
}

function stopWithout(store: object, line: SettlementLine): void {
  if (line.size === 0) settlementLines.delete(store);
  if (settlementLines.size > 0) return;
  stopBeat(timer);
  timer = null;
}

async function settleLine(line: SettlementLine): Promise<void> {
  line.isBusy = true;
  const all = [...line.keys()];
  let refused = 0;
  for (let tried = 0, count = 1; tried < all.length && refused < MOST_REFUSED; tried += count) {
    count = settlementsAtOnce(tried, refused);
    const some = all.slice(tried, tried + count);
    for (const settle of some) line.delete(settle);
    await Promise.all(some.map((settle) => attempt(() => settle(true))));
    // A settlement that is refused joins the line again.
    refused = some.every((settle) => line.has(settle)) ? refused + some.length : 0;
  }
  line.isBusy = false;
}

/** Gives back the tokens in flight of an allowed decision whose caller was answered without it. */
export function releaseLate({ store, policy, key, decision }: Omit<HeldWork, "guarded">): void {
  if (!decision.allowed) return;
  const held = heldCosts(decision, policy);
  const changes = typeof held === "number" ? 0 - held : held.map((cost) => 0 - cost);
  const until = monotonicClock() + (policy.inFlight?.returns.staleAfterMs ?? 0);
  if (!hasVerb(store, "adjust")) return;
  const call = callOf("adjust", policy, key, changes, { from: decision.at });
  takeTurns(store, [{ until, run: () => attempt(() => store.ask(call)) }]);
}

// What fails comes back at its date.
async function attempt(make: () => unknown): Promise<void> {
  try {
    await make();
  } catch {
    return;
  }
}
