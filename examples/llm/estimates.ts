/**
 * Compares estimates for one budget, in virtual time: `npx tsx examples/llm/estimates.ts`. docs/guides/llm-budgets.md shows
 * the table. Change the numbers to those of your model and your callers.
 */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterMs, createLimiter, definePolicy, MemoryStore, perMinute, whenDone, type Decision } from "sluice";

const LIMIT = 60_000; // tokens at once, and per minute
const MOST = 4_000; // tokens that one answer can use: its prompt and max_tokens
const ASK_EVERY_MS = 50;
const MINUTE_MS = 60_000;

/** A way to choose the estimate. */
interface Way {
  readonly name: string;
  /** The estimate, by the usual use of answers so far: a part of the most. */
  estimate(usual: number): number;
  /** The capacity of a limit in flight on the same tokens. */
  readonly reserved?: number;
  /** False: no answer is settled. */
  readonly settles?: boolean;
  /** True: the limit is a sliding window of a minute, as for a provider that counts. */
  readonly window?: boolean;
}

const most = (): number => MOST;
const usually = (usual: number): number => Math.ceil(MOST * Math.min(1, usual * 1.25));

const ways: readonly Way[] = [
  { name: "the most", estimate: most },
  { name: "the most, at most 120,000 reserved", estimate: most, reserved: 120_000 },
  { name: "the most, at most 60,000 reserved", estimate: most, reserved: 60_000 },
  { name: "the most, never settled", estimate: most, settles: false },
  { name: "the most, in a window of 60,000 a minute", estimate: most, window: true },
  { name: "the usual use", estimate: usually },
  { name: "the usual use, at most 60,000 reserved", estimate: usually, reserved: 60_000 },
  { name: "1 token", estimate: () => 1 },
];

/** An answer that is under way. */
interface Answer {
  readonly decision: Decision;
  readonly estimate: number;
  readonly used: number;
}

/**
 * Callers ask 20 times a second. An answer takes 24 to 36 seconds and uses its tokens evenly. `partAt` is the part of the
 * most that answers use on average; null while nobody asks.
 */
function play({ estimate, reserved, settles = true, window = false }: Way, minutes: number, partAt: (now: number) => number | null) {
  let now = 0;
  const policy = definePolicy({
    name: "chat",
    limits: [
      { name: "tokens", capacity: LIMIT, ...(window ? { returns: afterMs(MINUTE_MS) } : { refill: perMinute(LIMIT) }), unit: "tokens" },
      { name: "reserved", capacity: reserved ?? 100_000_000, returns: whenDone({ staleAfterMs: MINUTE_MS }), unit: "tokens" },
    ],
  });
  const limiter = createLimiter({ policy, store: new MemoryStore({ clock: () => now }) });
  const random = randomNumbers();
  const endings = new Map<number, Answer[]>();
  const perSecond = Array.from({ length: (minutes + 2) * 60 }, () => 0);
  let [usual, held, mostHeld, beyond, longestDebtMs] = [1, 0, 0, 0, 0];

  for (; now < minutes * MINUTE_MS; now += ASK_EVERY_MS) {
    for (const { decision, estimate: taken, used } of endings.get(now) ?? []) {
      held -= taken;
      beyond += Math.max(0, used - taken);
      usual += 0.05 * (used / MOST - usual);
      if (settles) limiter.settle("all", decision, { cost: { tokens: used } });
      else limiter.settle("all", decision, { cost: {} }); // its place comes back, and its tokens stay taken
    }
    endings.delete(now);
    const part = partAt(now);
    if (part === null) continue;
    const asked = estimate(usual);
    const decision = limiter.consume("all", { cost: { tokens: asked, reserved: asked } });
    if (!decision.allowed) {
      if (beyond > 0) longestDebtMs = Math.max(longestDebtMs, limiter.peek("all", { cost: { tokens: 1, reserved: 0 } }).retryAfterMs);
      continue;
    }
    held += asked;
    mostHeld = Math.max(mostHeld, held);
    const lastsMs = 24_000 + 12_000 * random();
    const used = Math.round(MOST * Math.min(1, part * (0.5 + random())));
    for (let ms = 0; ms < lastsMs; ms += 1_000) {
      const second = Math.floor((now + ms) / 1_000);
      perSecond[second] = (perSecond[second] ?? 0) + (used * Math.min(1_000, lastsMs - ms)) / lastsMs;
    }
    const end = now + Math.ceil(lastsMs / ASK_EVERY_MS) * ASK_EVERY_MS;
    endings.set(end, [...(endings.get(end) ?? []), { decision, estimate: asked, used }]);
  }
  const sum = (from: number, to: number): number => perSecond.slice(from, to).reduce((all, tokens) => all + tokens, 0);
  return {
    mostHeld,
    longestDebtMs,
    /** Tokens used between two minutes, over those that the limit allows in that time. */
    useBetween: (from: number, to: number) => sum(from * 60, to * 60) / (LIMIT * (to - from)),
    mostInMinute: Math.max(...perSecond.map((_, second) => sum(second, second + 60))),
  };
}

/** The same numbers in every run, from 0 to 1. */
function randomNumbers(): () => number {
  let state = 1;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}

/** The rows of the table. */
export function compare(): string[] {
  const show = (tokens: number): string => Math.round(tokens).toLocaleString("en");
  const rows = ways.map((way) => {
    const steady = play(way, 20, () => 0.1);
    const changed = play(way, 15, (now) => (now < 10 * MINUTE_MS ? 0.1 : 1));
    return [
      way.name,
      steady.useBetween(5, 20).toFixed(2),
      show(steady.mostHeld),
      show(changed.mostInMinute),
      changed.useBetween(10, 15).toFixed(2),
      changed.longestDebtMs === 0 ? "none" : `${Math.ceil(changed.longestDebtMs / 1_000)} s`,
    ];
  });
  return rows.map((row) => `| ${row.join(" | ")} |`);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  console.log("| the estimate | used / limit | reserved at once | most used in a minute | used / limit in 5 minutes | longest debt |");
  console.log("| --- | --: | --: | --: | --: | --: |");
  for (const row of compare()) console.log(row);
}
