// `node --expose-gc decision-worker.mjs <task> <way> <options as JSON>`, forked by decision.ts. Each side has a process,
// and its garbage collector sees no other side's heap. `decide` sends when it is ready, and answers each number with the
// nanoseconds of one of that many decisions. The other tasks send one result.
import { Session } from "node:inspector/promises";
import { PerformanceObserver } from "node:perf_hooks";
import { makeSide } from "./decision-sides.mjs";

const [task, way, json] = process.argv.slice(2);
const options = JSON.parse(json);
const { keys, length = 37, calls, limit, sliced, reused = false } = options;
const side = await makeSide(way, options);
/** The number of keys made before each timed run: few enough to stay in the processor's first caches. */
const BATCH = 500;
const FILLER = "user:0123456789abcdef0123456789abcdef";

/** A text of `length` characters that differs for each caller. */
const keyOf = (i) => FILLER.slice(0, length - 7) + String((i * 7_919) % keys).padStart(7, "0");

/** The text as one flat string without a hash yet, as a parser makes it from a request. */
const flat = (text) => Buffer.from(text, "latin1").latin1Slice();

/**
 * Returns a random number below `count` at each call, in the same order on every side. Callers must not come in the order
 * in which they were filled in. A `Map` keeps its entries in that order, and the processor would prefetch the next one.
 */
function drawsOf(count) {
  let state = 2_463_534_242;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % count;
  };
}

async function fill(makeKey, count) {
  for (let i = 0; i < count; i++) {
    const answer = side.decide(makeKey(i));
    if (side.later) await answer;
  }
}

/** Throws unless the side answers as expected. */
async function check() {
  const wanted = limit !== 1;
  for (let i = 0; i < 100; i++) {
    if (side.allows(await side.decide(keyOf(i))) !== wanted) throw new Error(`${way}: expected ${wanted ? "an allowance" : "a denial"}`);
  }
}

const tasks = {
  /** Nanoseconds of processor time of a decision. Making the keys is not timed. */
  async decide() {
    await fill(keyOf, keys);
    await check();
    const draw = drawsOf(keys);
    const batch = Array.from({ length: BATCH }, () => "");
    const made = reused ? Array.from({ length: keys }, (_, i) => flat(keyOf(i))) : null;
    process.on("message", async (message) => {
      const count = Number(message);
      let us = 0;
      // Other sides ran since the last block, so a quarter more is not timed: the processor's caches must be filled again.
      for (let done = -count / 4; done < count; done += BATCH) {
        for (let i = 0; i < BATCH; i++) batch[i] = made?.[draw()] ?? flat(keyOf(draw()));
        const before = process.cpuUsage();
        if (side.later) for (let i = 0; i < BATCH; i++) await side.decide(batch[i]);
        else for (let i = 0; i < BATCH; i++) side.decide(batch[i]);
        const { user, system } = process.cpuUsage(before);
        if (done >= 0) us += user + system;
      }
      process.send((us * 1_000) / count);
    });
    return "ready";
  },

  /** The bytes that each of `keys` callers keeps alive. */
  async bytes() {
    // A socket gives one flat string, and a token cut out of it points into that string.
    const header = (i) => Buffer.from(`Bearer ${keyOf(i)} ${"x".repeat(4_000)}`).toString("latin1");
    await fill(keyOf, 10); // makes the state that stays after the first calls
    const before = used();
    await fill(sliced ? (i) => header(i).slice(7, 7 + length) : keyOf, keys);
    const bytes = (used() - before) / keys;
    await check();
    return bytes;
  },

  /** Microseconds of each of `calls` decisions on new callers, and the memory after a tenth of them and at the end. */
  async spray() {
    // Warmed up on another table until the code is compiled, because only the table is to be measured.
    const before = await makeSide(way, { ...options, cap: 10_000 });
    for (let i = 0; i < 200_000; i++) await before.decide(`before:${i}:0123456789abcdef01234`);
    const took = new Float64Array(calls);
    let atTenth = 0;
    for (let i = 0; i < calls; i++) {
      const key = `sprayed:${i}:0123456789abcdef01234`;
      const start = performance.now();
      const answer = side.decide(key);
      if (side.later) await answer;
      took[i] = (performance.now() - start) * 1_000;
      if (i === calls / 10) atTenth = used() - took.byteLength;
    }
    const atEnd = used() - took.byteLength;
    took.sort();
    const at = (share) => took[Math.min(calls - 1, Math.floor(calls * share))];
    return { p50: at(0.5), p99: at(0.99), p999: at(0.999), longest: at(1), grown: atEnd / atTenth, megabytes: atEnd / 2 ** 20 };
  },

  /** Bytes and objects that a decision allocates, without its key. */
  async allocation() {
    const made = Array.from({ length: keys }, (_, i) => keyOf(i));
    for (const key of made) key.charCodeAt(0); // flattens it
    const run = async (count) => {
      if (side.later) for (let i = 0; i < count; i++) await side.decide(made[i % keys]);
      else for (let i = 0; i < count; i++) side.decide(made[i % keys]);
    };
    for (let i = 0; i < 5; i++) await run(calls); // until the code is compiled
    await check();
    let collections = 0;
    new PerformanceObserver((list) => (collections += list.getEntries().length)).observe({ entryTypes: ["gc"] });
    gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
    collections = 0;
    const before = process.memoryUsage().heapUsed;
    await run(calls);
    const bytes = (process.memoryUsage().heapUsed - before) / calls;
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (collections > 0) throw new Error("Expected no collection while allocations were counted: make `calls` smaller");
    return { bytes, objects: await objects(run) };
  },
};

function used() {
  gc();
  gc(); // a second collection frees the buffers
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/**
 * The objects that a decision allocates, by V8's allocation profiler at its finest sampling. Memory allocated in one
 * piece counts as one object.
 */
async function objects(run) {
  const session = new Session();
  session.connect();
  const count = async (calls) => {
    await session.post("HeapProfiler.startSampling", {
      samplingInterval: 1,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await run(calls);
    const { profile } = await session.post("HeapProfiler.stopSampling");
    return profile.samples.length;
  };
  // The difference excludes the allocations of starting and stopping.
  const few = await count(1_000);
  const many = await count(11_000);
  session.disconnect();
  return (many - few) / 10_000;
}

process.on("disconnect", () => process.exit());
process.send(await tasks[task]());
