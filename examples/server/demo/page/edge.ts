/** The comparison at the end of a window: one burst just before it, one just after, and then a request for each token. */
import { secondsUp } from "./status.js";
import type { WindowBeside } from "./window.js";

/** What the comparison needs of the page. */
interface EdgeParts {
  readonly beside: WindowBeside;
  /** Sends so many requests at once, and resolves when all are answered. */
  readonly send: (count: number) => Promise<void>;
  /** How long one token takes to come back, in milliseconds. */
  readonly tokenMs: number;
  /** The span in which both bursts must be answered to show what passes at once, in milliseconds. */
  readonly atOnceMs: number;
  /** Called about ten times a second while it waits. */
  readonly tell: (text: string) => void;
  /** Whether caller, policy and numbers are those of the start. */
  readonly isSame: () => boolean;
}

/** How late after its token a request comes, so that the token is there for sure. */
const LATE_MS = 60;

/** How the comparison ended: as it should, with answers that came too late for the edge, or with other numbers. */
export type EdgeOutcome = "shown" | "missed" | "changed";
/** A busy computer misses an edge now and then, and seldom so often in a row. */
const MOST_TRIES = 4;

/** Plays the comparison until the answers come around the edge. */
export async function burstAtEdge(parts: EdgeParts): Promise<EdgeOutcome> {
  let outcome = await playOnce(parts, "");
  for (let tries = 1; outcome === "missed" && tries < MOST_TRIES; tries++) outcome = await playOnce(parts, "The bursts missed the edge: this computer is busy. Once more. ");
  return outcome;
}

/** Sends both bursts and what follows, and opens a window first if there is no fresh one. */
async function playOnce({ beside, send, tokenMs, atOnceMs, tell, isSame }: EdgeParts, before: string): Promise<EdgeOutcome> {
  const { limit, windowMs } = beside;
  // Just enough time for the answers of a burst. A short window ends soon after them.
  const [beforeMs, afterMs] = [Math.min(300, windowMs * 0.12), Math.min(300, windowMs * 0.03)];
  const running = beside.endAt(performance.now());
  // A window that has served one request is as good as a new one.
  const isFresh = running !== null && beside.left >= limit - 1 && running - performance.now() > beforeMs;
  if (running !== null && !isFresh && !(await until(running, "This window is used up. The next opens", ""))) return "changed";
  if (!isFresh) await send(1);
  const end = beside.endAt(performance.now()) ?? performance.now();
  if (!(await until(end - beforeMs, "First burst", ", just before the window ends. The second comes just after"))) return "changed";
  const emptyAt = performance.now();
  await send(limit);
  const isEarly = performance.now() < end;
  if (!(await until(end + afterMs, "Second burst", ", just after the window's end"))) return "changed";
  await send(limit);
  if (!isEarly || performance.now() - emptyAt >= atOnceMs) return "missed";
  for (let at = emptyAt + tokenMs; at < end + windowMs - LATE_MS; at += tokenMs) {
    if (at < performance.now()) continue;
    if (!(await until(at + LATE_MS, "Now a request for each token: the next", ""))) return "changed";
    await send(1);
  }
  return "shown";

  async function until(at: number, what: string, then: string): Promise<boolean> {
    for (let now = performance.now(); now < at && isSame(); now = performance.now()) {
      tell(`${before}${what} in ${secondsUp(at - now)} s${then}.`);
      await new Promise((resolve) => setTimeout(resolve, Math.min(100, at - now)));
    }
    return isSame();
  }
}
