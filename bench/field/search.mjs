// "At most" is searched: over many histories in virtual time, the most that one caller gets in any span under "5 in 2 s".
import { createRequire } from "node:module";
import { mock } from "node:test";
import { MemoryStore as ErlStore } from "express-rate-limit";
import { MemoryStore as HrlStore } from "hono-rate-limiter";
import PQueue from "p-queue";
import { RateLimiterMemory } from "rate-limiter-flexible";
import { afterMs, createLimiter, MemoryStore } from "../../src/index.ts";
import { asksEffect, ofEffect } from "./effect.mjs";

const FrlStore = createRequire(import.meta.url)("@fastify/rate-limit/store/LocalStore.js");
const [LIMIT, WINDOW_MS, STEP_MS, END_MS] = [5, 2_000, 10, 6_400];

/** Makes a limit of 5 in 2 s for one caller: a function that says whether a request now is served. */
const makers = {
  "express-rate-limit": () => {
    const store = new ErlStore();
    store.init({ windowMs: WINDOW_MS });
    return async () => (await store.increment("k")).totalHits <= LIMIT;
  },
  "hono-rate-limiter": () => {
    const store = new HrlStore();
    store.init({ windowMs: WINDOW_MS });
    return async () => store.increment("k").totalHits <= LIMIT;
  },
  "@fastify/rate-limit": () => {
    const store = new FrlStore(false, false);
    return () => new Promise((resolve) => void store.incr("k", (_, { current }) => resolve(current <= LIMIT), WINDOW_MS, LIMIT));
  },
  "rate-limiter-flexible": () => {
    const limiter = new RateLimiterMemory({ points: LIMIT, duration: WINDOW_MS / 1_000 });
    return () => limiter.consume("k").then(() => true, () => false);
  },
  "p-queue": () => queued({}),
  "p-queue, strict": () => queued({ strict: true }),
  effect: () => {
    const consume = ofEffect(LIMIT, WINDOW_MS);
    return async () => (await asksEffect(consume)) === "ok";
  },
  sluice: () => ours({ refill: { tokens: LIMIT, everyMs: WINDOW_MS } }),
  "sluice, a window": () => ours({ capacity: LIMIT, returns: afterMs(WINDOW_MS) }),
};

function ours(limit) {
  const limiter = createLimiter({ policy: { name: "api", limits: [limit] }, store: new MemoryStore({ clock: () => Date.now() }) });
  return async () => limiter.consume("k").allowed;
}

// A queue starts a call now or later. One that does not start now is taken out again, as a refusal.
function queued(more) {
  const queue = new PQueue({ interval: WINDOW_MS, intervalCap: LIMIT, ...more });
  return async () => {
    let started = false;
    void queue.add(() => void (started = true)).catch(() => undefined);
    await Promise.resolve();
    queue.clear();
    return started;
  };
}

/** The instants at which one caller is served that comes once at `first`, and from `from` on asks until it is refused, every 10 ms. */
async function served(peer, first, from) {
  mock.timers.enable({ apis: ["Date", "setTimeout", "setInterval"], now: 1_000_000 });
  try {
    const ask = makers[peer]();
    const at = [];
    for (let now = 0; now < END_MS; now += STEP_MS) {
      if (now === first && (await ask())) at.push(now);
      if (now >= from) while (at.length < 100 && (await ask())) at.push(now);
      mock.timers.tick(STEP_MS);
    }
    return at;
  } finally {
    mock.timers.reset();
  }
}

const known = new Map();
let turn = Promise.resolve();

/** What was served in each of 147 histories of a peer. One peer at a time, because all share the mocked clock. */
function historiesOf(peer) {
  const found = known.get(peer) ?? (turn = turn.then(() => search(peer)));
  known.set(peer, found);
  return found;
}

async function search(peer) {
  const histories = [];
  for (let first = 0; first <= 200; first += 100) {
    for (let from = first; from <= first + 2_400; from += 50) histories.push(await served(peer, first, from));
  }
  return histories;
}

/** The most that a peer served in any span shorter than `spanMs`, over all histories. */
export async function mostIn(peer, spanMs) {
  const all = (await historiesOf(peer)).map((at) => Math.max(...at.map((start, i) => at.slice(i).filter((each) => each < start + spanMs).length)));
  return String(Math.max(...all));
}
