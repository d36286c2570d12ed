// Draws outage.svg from two real limiters whose store fails and returns: `npx tsx docs/images/concepts/draw-outage.ts`.
// test/pictures.test.ts compares the two.
import { realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createLimiter, createObserver, MemoryStore, perSecond, type AsyncStore, type Decision, type StoreAnswer, type StoreCall } from "../../../src/index.js";
import { guard } from "../../../src/store.js";
import { ManualClock } from "../../../src/testing/manual-clock.js";
import { cross, picture } from "./picture.js";

const POLICY = { name: "api", capacity: 8, refill: perSecond(2) };
const END_MS = 14_000;
const DOWN_MS = { from: 4_000, to: 9_600 };
const EVERY_MS = 200;
const PLOT = { left: 140, right: 736 };
const ROWS = { store: 92, circuit: 142, A: 192, B: 236 };
const x = (ms: number): number => Number((PLOT.left + (ms / END_MS) * (PLOT.right - PLOT.left)).toFixed(1));

interface Call {
  readonly at: number;
  readonly caller: string;
  readonly decision: Decision;
}

/** A store that refuses connections while it is down. It notes when it is asked. */
class StoreWithOutage implements AsyncStore {
  readonly sync = false;
  readonly guard = guard({ sharedBy: 2 });
  readonly clock: () => number;
  readonly asked: number[] = [];
  readonly #inner: MemoryStore;

  constructor(clock: () => number, inner: MemoryStore) {
    this.clock = clock;
    this.#inner = inner;
  }

  async ask(call: StoreCall): Promise<readonly StoreAnswer[]> {
    const now = this.clock();
    this.asked.push(now);
    if (now >= DOWN_MS.from && now < DOWN_MS.to) throw new Error("connect ECONNREFUSED");
    return this.#inner.ask(call);
  }
}

/** One of the two processes: its own connection to the buckets, its own circuit breaker, its own share. */
function startProcess(clock: ManualClock, buckets: MemoryStore) {
  const store = new StoreWithOutage(clock.now, buckets);
  const changes: number[] = [];
  const observe = createObserver((event) => void (event.type === "store" && changes.push(clock.now())));
  const limiter = createLimiter({ policy: POLICY, store, observe });
  const calls: Call[] = [];
  return { store, changes, calls, ask: async (caller: string) => void calls.push({ at: clock.now(), caller, decision: await limiter.consume(["user", caller]) }) };
}

/** Two users ask both processes, five times a second each. */
async function play() {
  const clock = new ManualClock(EVERY_MS); // the circuit breaker goes by `performance.now`, which the picture sets as well
  const real = performance.now;
  performance.now = clock.now;
  try {
    const buckets = new MemoryStore({ clock: clock.now });
    const [A, B] = [startProcess(clock, buckets), startProcess(clock, buckets)];
    for (let now = EVERY_MS; now < END_MS; now += EVERY_MS) {
      for (const [process, caller, late] of [[A, "ann", 0], [A, "bob", 50], [B, "ann", 100], [B, "bob", 150]] as const) {
        clock.set(now + late);
        await process.ask(caller);
      }
    }
    return { A, B };
  } finally {
    performance.now = real;
  }
}

/** The picture, as SVG text. */
export async function drawOutage(): Promise<string> {
  const { A, B } = await play();
  const [opened = 0, closed = 0] = A.changes;
  const bar = (y: number, from: number, to: number, style: string, said: string): string =>
    `<rect class="${style} area" x="${x(from)}" y="${y - 12}" width="${Number((x(to) - x(from)).toFixed(1))}" height="24"/><text class="small ${style}" x="${x(from) + 6}" y="${y - 18}">${said}</text>`;
  const asked = A.store.asked.map((at) => `<path class="call" d="M${x(at)} ${ROWS.store - 7}v14"/>`);
  const dots = (calls: readonly Call[], y: number): string[] =>
    calls.filter(({ caller }) => caller === "ann").map(({ at, decision: { allowed, reason } }) =>
      allowed ? `<circle class="good" cx="${x(at)}" cy="${y}" r="3.5"/>` : cross(x(at), y, reason === "limited" ? "bad" : "wait"));
  const name = (y: number, text: string, below: string): string => `<text class="name" x="24" y="${y}">${text}</text><text class="small" x="24" y="${y + 16}">${below}</text>`;
  const granted = [A, B].map(({ calls }) => calls.filter(({ caller, at, decision }) => caller === "ann" && decision.allowed && decision.degraded && at < DOWN_MS.to).length);
  const bottom = ROWS.B + 22;
  const ticks = Array.from({ length: END_MS / 2_000 + 1 }, (_, i) => i * 2_000).map((ms) => `<text class="small" x="${x(ms)}" y="${bottom + 14}" text-anchor="middle">${ms / 1_000}${ms === END_MS ? " s" : ""}</text>`);
  const said = [
    "1  The store answers. Both processes spend from one bucket: ann gets 2 requests a second in all.",
    "2  The store fails. After 5 failures in a row the circuit breaker opens: A only probes the store from then on.",
    `3  Each process grants half of the limit: 4 tokens, then 1 a second. Ann gets ${granted[0]} from A and ${granted[1]} from B.`,
    "4  A probe is answered: the circuit breaker closes, and the store decides again.",
  ].map((text, i) => `<text class="said" x="24" y="${bottom + 46 + i * 22}">${text}</text>`);
  const numbers = ([[2_000, 1], [DOWN_MS.from, 2], [(DOWN_MS.from + DOWN_MS.to) / 2 + 300, 3], [closed, 4]] as const).map(
    ([ms, n]) => `<circle class="box" cx="${x(ms)}" cy="50" r="10"/><text class="small" x="${x(ms)}" y="54" text-anchor="middle">${n}</text>`);
  const legend = bottom + 46 + 4 * 22 + 4;
  return picture(
    legend + 24,
    "An outage: capacity 8, refill 2 per second, two processes",
    "Two processes share a store, which fails after 4 seconds and returns at 9.6 seconds. In between each process grants half of the limit by itself and answers the other requests with 503. Its circuit breaker is open and only probes the store. After the first answer the store decides again.",
    [
      name(ROWS.store, "store", "each call of A"), bar(ROWS.store, 0, DOWN_MS.from, "good", "answers"), bar(ROWS.store, DOWN_MS.from, DOWN_MS.to, "bad", "down"), bar(ROWS.store, DOWN_MS.to, END_MS, "good", "answers"), ...asked,
      name(ROWS.circuit, "circuit breaker", "of A"), bar(ROWS.circuit, 0, opened, "good", "closed"), bar(ROWS.circuit, opened, closed, "wait", "open"), bar(ROWS.circuit, closed, END_MS, "good", "closed"),
      name(ROWS.A, "process A", "requests of ann"), ...dots(A.calls, ROWS.A), name(ROWS.B, "process B", "requests of ann"), ...dots(B.calls, ROWS.B),
      ...ticks, ...numbers, ...said,
      `<circle class="good" cx="30" cy="${legend}" r="4"/><text class="small" x="42" y="${legend + 4}">allowed</text>${cross(120, legend, "bad")}<text class="small" x="132" y="${legend + 4}">429, from the store</text>${cross(280, legend, "wait")}<text class="small" x="292" y="${legend + 4}">503, from the process</text>`,
    ],
  );
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL("outage.svg", import.meta.url), await drawOutage());
}
