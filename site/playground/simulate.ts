// The playground's traffic on the real gate, on a sliding window and on a fixed window, by a clock of its own.
import { rateLimit } from "../../src/adapters/web.js";
import { FixedWindow, refillFrom, type ChartLevel, type ChartMark } from "../../simulate/src/chart/index.js";
import { createLimiter } from "../../src/limiter/create-limiter.js";
import { afterMs } from "../../src/limits/window.js";
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
  /** 1: two bursts come around the edge of a window, and then a request for each token. `steady` and `every` have no effect. */
  readonly edge: number;
}

/** The range of each setting, and its value in a playground without settings: limit 5 in 2 s, around the edge of a window. */
export const RANGES: Readonly<Record<keyof Settings, { readonly min: number; readonly max: number; readonly start: number }>> = {
  capacity: { min: 1, max: 50, start: 5 },
  refill: { min: 1, max: 100, start: 25 },
  steady: { min: 0, max: 100, start: 0 },
  burst: { min: 0, max: 30, start: 5 },
  every: { min: 1, max: 10, start: 5 },
  edge: { min: 0, max: 1, start: 1 },
};

/** The settings at first. */
export const AT_EDGE: Settings = { capacity: 5, refill: 25, steady: 0, burst: 5, every: 5, edge: 1 };

/** How long before the edge of the window the first burst comes. The second comes at the edge. */
const NEAR_MS = 200;
/** "At once": both bursts are within this time. */
export const AT_ONCE_MS = 250;

/** What became of the traffic. */
export interface Played {
  /** The time that is shown. */
  readonly spanMs: number;
  readonly levels: readonly ChartLevel[];
  readonly marks: readonly ChartMark[];
  /** A sliding window of sluice with the numbers of the bucket. */
  readonly sliding: { readonly levels: readonly ChartLevel[]; readonly marks: readonly ChartMark[] };
  readonly window: { readonly levels: readonly ChartLevel[]; readonly marks: readonly ChartMark[]; readonly edges: readonly number[]; readonly windowMs: number };
  /** Each request's answer: its status and header fields, as text. */
  readonly answers: readonly string[];
  /** How long each request's answer says to wait, exactly: 0 for one that was served. */
  readonly waitsMs: readonly number[];
}

/** The settings in a link's query. Values that are missing or out of range are those of the start; a link of older times has no edge. */
export function readSettings(query: string): Settings {
  const given = new URLSearchParams(query);
  if (given.size > 0 && !given.has("edge")) given.set("edge", "0");
  const read = (name: keyof Settings): number => {
    const { min, max, start } = RANGES[name];
    const value = Number(given.get(name) ?? Number.NaN);
    return Number.isInteger(value) && value >= min && value <= max ? value : start;
  };
  return { capacity: read("capacity"), refill: read("refill"), steady: read("steady"), burst: read("burst"), every: read("every"), edge: read("edge") };
}

/** The query of a link to these settings. */
export function writeSettings(settings: Settings): string {
  return `?${new URLSearchParams(Object.entries(settings).map(([name, value]) => [name, String(value)]))}`;
}

/** The fixed window with the numbers of the bucket. */
const windowMsOf = ({ capacity, refill }: Settings): number => (capacity * 10_000) / refill;

/** The time that is shown: 20 seconds, or two and a half windows. */
export function spanOf(settings: Settings): number {
  return settings.edge === 0 ? 20_000 : Math.max(1_000, windowMsOf(settings) * 2.5);
}

/** The instants of all calls, in order. Bursts begin after one second. */
export function callsOf(settings: Settings): number[] {
  const { steady, burst, every, edge } = settings;
  const [calls, spanMs]: [number[], number] = [[], spanOf(settings)];
  const addBurst = (at: number): void => void calls.push(...Array.from({ length: burst }, () => at));
  if (edge === 1) {
    const opening = Math.round(spanMs / 10);
    const end = opening + Math.ceil(windowMsOf(settings));
    calls.push(opening);
    const first = Math.max(opening, end - NEAR_MS);
    addBurst(first);
    addBurst(end);
    // Until the next window ends. The first burst leaves an empty bucket, so its tokens are back at these instants.
    for (let n = 1, at = first; at < end + windowMsOf(settings); at = Math.ceil(first + (n++ * 10_000) / settings.refill)) if (at > end) calls.push(at);
    return calls.filter((at) => at < spanMs);
  }
  for (let i = 0; steady > 0 && (i * 10_000) / steady < spanMs; i++) calls.push(Math.round((i * 10_000) / steady));
  for (let at = 1_000; at < spanMs; at += every * 1_000) addBurst(at);
  return calls.sort((a, b) => a - b);
}

/** Sends all calls through a gate of sluice, and counts them in a sliding window and in a fixed one. */
export async function play(settings: Settings): Promise<Played> {
  const { capacity, refill } = settings;
  const spanMs = spanOf(settings);
  let now = 0;
  let last: { at: number; tokens: number } = { at: 0, tokens: capacity };
  const levels: ChartLevel[] = [last];
  const marks: ChartMark[] = [];
  const answers: string[] = [];
  const waitsMs: number[] = [];
  const window = new FixedWindow(capacity, windowMsOf(settings));
  const beside: { levels: ChartLevel[]; marks: ChartMark[] } = { levels: [{ at: 0, tokens: capacity }], marks: [] };

  const store = new MemoryStore({ clock: () => now });
  const limiter = createLimiter({ policy: { name: "playground", capacity, refill: { tokens: refill, everyMs: 10_000 } }, store });
  const windowLimiter = createLimiter({ policy: { name: "window", capacity, returns: afterMs(Math.ceil(windowMsOf(settings))) }, store });
  const sliding: { levels: ChartLevel[]; marks: ChartMark[] } = { levels: [], marks: [] };
  const addLevel = (): number => sliding.levels.push({ at: now, tokens: windowLimiter.peek("ann", 0).remaining });
  // Stops at each instant at which a token of the sliding window comes back.
  const goTo = (at: number): void => {
    for (let left = windowLimiter.peek("ann", 0); left.remaining < capacity && now + left.nextTokenMs < at; left = windowLimiter.peek("ann", 0)) {
      now += left.nextTokenMs;
      addLevel();
    }
    now = at;
  };
  const handler = rateLimit({
    limiter,
    key: () => ["user", "42"],
    onDecision({ allowed, resetMs, retryAfterMs }) {
      levels.push(...refillFrom(last, refill / 10_000, capacity, now));
      last = { at: now, tokens: Math.max(0, capacity - (resetMs * refill) / 10_000) };
      levels.push(last);
      marks.push({ at: now, lane: 0, outcome: allowed ? "served" : "refused" });
      waitsMs.push(retryAfterMs);
    },
  })(() => new Response("served"));

  for (const at of callsOf(settings)) {
    goTo(at);
    const response = await handler(new Request("https://sluice.example/inbox"));
    const fields = [...response.headers].filter(([name]) => /ratelimit|retry-after|cache/.test(name)).map(([name, value]) => `${name}: ${value}`);
    answers.push([`HTTP/1.1 ${response.status} ${response.status === 429 ? "Too Many Requests" : "OK"}`, ...fields].join("\n"));
    countIn(window, beside, now);
    addLevel();
    sliding.marks.push({ at: now, lane: 0, outcome: windowLimiter.consume("ann").allowed ? "served" : "refused" });
    addLevel();
  }
  goTo(spanMs);
  levels.push(...refillFrom(last, refill / 10_000, capacity, spanMs));
  closeWindow(window, beside.levels, spanMs);
  beside.levels.push({ at: spanMs, tokens: beside.levels.at(-1)?.tokens ?? 0 });
  return { spanMs, levels, marks, answers, waitsMs, sliding: { ...sliding, levels: inSteps(sliding.levels, capacity, spanMs) }, window: { ...beside, edges: window.edges, windowMs: window.windowMs } };
}

/** The levels of a window with the steps at which tokens came back, each `level` until the next one. */
function inSteps(levels: readonly ChartLevel[], capacity: number, spanMs: number): ChartLevel[] {
  const all = [{ at: 0, tokens: capacity }, ...levels, { at: spanMs, tokens: levels.at(-1)?.tokens ?? capacity }];
  return all.flatMap((level, i) => (i === 0 ? [level] : [{ at: level.at, tokens: all[i - 1]?.tokens ?? 0 }, level]));
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
