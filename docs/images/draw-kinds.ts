// Draws kinds.svg, a rate and a sliding window under the same calls, with the real limiter: `npx tsx docs/images/draw-kinds.ts`.
// test/docs.test.ts compares them.
import { realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { mostServedIn, type ChartLevel, type ChartMark } from "../../simulate/src/chart/index.js";
import { afterMs, createLimiter, MemoryStore, type Decision, type LimitOptions } from "../../src/index.js";
import { ManualClock } from "../../src/testing/manual-clock.js";
import { drawPair, EDGE_SIZES, framed, type Played } from "./draw-edge.js";

const SIZE = EDGE_SIZES["edge.svg"];
/** A caller that sends seven requests at once, and then one every 0.1 s. */
const [FIRST_MS, AT_ONCE, EVERY_MS, END_MS] = [400, 7, 100, 4_600] as const;

function play(limit: LimitOptions, levelOf: (decision: Decision) => number): Played {
  const clock = new ManualClock();
  const limiter = createLimiter({ policy: { name: "picture", limits: [limit] }, store: new MemoryStore({ clock: clock.now }) });
  const levels: ChartLevel[] = [];
  const marks: ChartMark[] = [];
  const addLevel = (): number => levels.push({ at: clock.now(), tokens: levelOf(limiter.peek("ann", 0)) });
  for (let at = 0; at <= END_MS; at += EVERY_MS) {
    clock.set(Math.max(0, at - 1));
    addLevel(); // what comes back at `at` makes a step
    clock.set(at);
    addLevel();
    for (let calls = at === FIRST_MS ? AT_ONCE : Number(at > FIRST_MS); calls > 0; calls--) {
      marks.push({ at, lane: 0, outcome: limiter.consume("ann").allowed ? "served" : "refused" });
      addLevel();
    }
  }
  const { scene } = framed(SIZE, "tokens", levels, marks, []);
  // Of a window, the instant of a return is outside: 2 s begin with their first millisecond.
  return { scene, most: [mostServedIn(marks, 250), mostServedIn(marks, 1_999)] };
}

/** The picture, as SVG text. */
export function drawKinds(): string {
  const rate = play({ name: "rate", capacity: 5, refill: { tokens: 5, everyMs: 2_000 } }, ({ resetMs }) => 5 - resetMs / 400);
  const window = play({ name: "window", capacity: 5, returns: afterMs(2_000) }, ({ remaining }) => remaining);
  return drawPair(SIZE, {
    title: "A rate and a sliding window of 5 in 2 s, under the same calls",
    about: `Seven requests come at 0.4 s, and then one every 0.1 s. The rate serves 5 at once and then one every 0.4 s: at most ${rate.most[1]} in 2 s. The window serves 5, and the next ones 2 s later: never more than ${window.most[1]} in any 2 s.`,
    parts: [["a rate: 5 at once, then 5 in 2 s", rate], ["a window: never more than 5 in any 2 s", window]],
  });
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL("kinds.svg", import.meta.url), drawKinds());
}
