// The playground's traffic on the real gate and on a fixed window, by a clock of its own.
import { rateLimit } from "../../src/adapters/web.js";
import { FixedWindow, refillFrom, type ChartLevel, type ChartMark } from "../../src/command/chart/index.js";
import { createLimiter } from "../../src/limiter/create-limiter.js";
import { MemoryStore } from "../../src/stores/memory/memory.js";

/** What the sliders say. */
export interface Settings {
  readonly capacity: number;
  /** Tokens that come back in 10 seconds. */
  readonly refill: number;
  /** Calls in 10 seconds, evenly. */
  readonly steady: number;
  /** Calls at once. */
  readonly burst: number;
  /** Seconds from one burst to the next. */
  readonly every: number;
}

/** The sliders: their range, and the value of a playground without settings. */
export const SLIDERS: Readonly<Record<keyof Settings, { readonly min: number; readonly max: number; readonly start: number }>> = {
  capacity: { min: 1, max: 50, start: 10 },
  refill: { min: 1, max: 100, start: 20 },
  steady: { min: 0, max: 100, start: 10 },
  burst: { min: 0, max: 30, start: 12 },
  every: { min: 1, max: 10, start: 5 },
};

export const SPAN_MS = 20_000;

/** What became of the traffic. */
export interface Played {
  readonly levels: readonly ChartLevel[];
  readonly marks: readonly ChartMark[];
  readonly window: { readonly levels: readonly ChartLevel[]; readonly marks: readonly ChartMark[]; readonly edges: readonly number[]; readonly windowMs: number };
  /** Each request's answer: its status and header fields, as text. */
  readonly answers: readonly string[];
}

/** The settings in a link's query. Values that are missing or out of range are those of the start. */
export function readSettings(query: string): Settings {
  const given = new URLSearchParams(query);
  const read = (name: keyof Settings): number => {
    const { min, max, start } = SLIDERS[name];
    const value = Number(given.get(name) ?? Number.NaN);
    return Number.isInteger(value) && value >= min && value <= max ? value : start;
  };
  return { capacity: read("capacity"), refill: read("refill"), steady: read("steady"), burst: read("burst"), every: read("every") };
}

/** The query of a link to these settings. */
export function writeSettings(settings: Settings): string {
  return `?${new URLSearchParams(Object.entries(settings).map(([name, value]) => [name, String(value)]))}`;
}

/** The instants of all calls, in order. Bursts begin after one second. */
export function callsOf({ steady, burst, every }: Settings): number[] {
  const calls: number[] = [];
  for (let i = 0; steady > 0 && (i * 10_000) / steady < SPAN_MS; i++) calls.push(Math.round((i * 10_000) / steady));
  for (let at = 1_000; burst > 0 && at < SPAN_MS; at += every * 1_000) for (let i = 0; i < burst; i++) calls.push(at);
  return calls.sort((a, b) => a - b);
}

/** Sends all calls through a gate of sluice, and counts them in a fixed window. */
export async function play(settings: Settings): Promise<Played> {
  const { capacity, refill } = settings;
  let now = 0;
  let last: { at: number; tokens: number } = { at: 0, tokens: capacity };
  const levels: ChartLevel[] = [last];
  const marks: ChartMark[] = [];
  const answers: string[] = [];
  const window = new FixedWindow(capacity, (capacity * 10_000) / refill);
  const beside: { levels: ChartLevel[]; marks: ChartMark[] } = { levels: [{ at: 0, tokens: capacity }], marks: [] };

  const limiter = createLimiter({ policy: { name: "playground", capacity, refill: { tokens: refill, everyMs: 10_000 } }, store: new MemoryStore({ clock: () => now }) });
  const handler = rateLimit({
    limiter,
    key: () => ["user", "42"],
    onDecision({ allowed, resetMs }) {
      levels.push(...refillFrom(last, refill / 10_000, capacity, now));
      last = { at: now, tokens: Math.max(0, capacity - (resetMs * refill) / 10_000) };
      levels.push(last);
      marks.push({ at: now, lane: 0, outcome: allowed ? "served" : "refused" });
    },
  })(() => new Response("served"));

  for (now of callsOf(settings)) {
    const response = await handler(new Request("https://sluice.example/inbox"));
    const fields = [...response.headers].filter(([name]) => /ratelimit|retry-after|cache/.test(name)).map(([name, value]) => `${name}: ${value}`);
    answers.push([`HTTP/1.1 ${response.status} ${response.status === 429 ? "Too Many Requests" : "OK"}`, ...fields].join("\n"));
    countIn(window, beside, now);
  }
  levels.push(...refillFrom(last, refill / 10_000, capacity, SPAN_MS));
  closeWindow(window, beside.levels, SPAN_MS);
  beside.levels.push({ at: SPAN_MS, tokens: beside.levels.at(-1)?.tokens ?? 0 });
  return { levels, marks, answers, window: { ...beside, edges: window.edges, windowMs: window.windowMs } };
}

function countIn(window: FixedWindow, { levels, marks }: { levels: ChartLevel[]; marks: ChartMark[] }, now: number): void {
  closeWindow(window, levels, now);
  levels.push({ at: now, tokens: levels.at(-1)?.tokens ?? 0 });
  marks.push({ at: now, lane: 0, outcome: window.consume(now) ? "served" : "refused" });
  levels.push(window.levelAt(now));
}

/** A window that ended by `now` is full again at its end. */
function closeWindow(window: FixedWindow, levels: ChartLevel[], now: number): void {
  const last = levels.at(-1) as ChartLevel;
  const end = window.endAt(last.at);
  if (end !== null && end <= now) levels.push({ at: end, tokens: last.tokens }, { at: end, tokens: window.limit });
}
