import type { HeldWork } from "../core/rules.js";
import { sharesWork } from "../platform.js";
import { heldCosts } from "./held-costs.js";
import { startBeat, stopBeat } from "./timer.js";

// The most settlements that wait. Each of them keeps a decision in memory.
const MOST_KEPT = 10_000;
const TRY_MS = 1_000;

const waiting = new Set<() => unknown>();
let timer: unknown = null;

/**
 * Makes a settlement again. The open circuit breaker refused it, so it was certainly not made. Once a second the first
 * one is tried; when it succeeds, all others follow. Beyond 10,000 the oldest is dropped: its tokens come back at their
 * date.
 */
export function settleLater(settle: () => unknown): void {
  // Where requests share no timers (law L15), the tokens come back at their date.
  if (!sharesWork()) return;
  waiting.add(settle);
  if (waiting.size > MOST_KEPT) waiting.delete(waiting.values().next().value as () => unknown);
  timer ??= startBeat(() => void settleWaiting(), TRY_MS);
}

async function settleWaiting(): Promise<void> {
  for (const settle of waiting) {
    waiting.delete(settle);
    await attempt(settle);
    // It asked for another attempt: the store is still unavailable.
    if (waiting.has(settle)) return;
  }
  stopBeat(timer);
  timer = null;
}

/** Gives back the tokens in flight of an allowed decision whose caller was answered without it. */
export function releaseLate({ store, policy, key, decision }: Omit<HeldWork, "call">): void {
  if (!decision.allowed) return;
  const held = heldCosts(decision, policy);
  const changes = typeof held === "number" ? 0 - held : held.map((cost) => 0 - cost);
  void attempt(() => store.adjust?.(policy, key, changes, decision.at));
}

// What fails comes back at its date.
async function attempt(make: () => unknown): Promise<void> {
  try {
    await make();
  } catch {
    return;
  }
}
