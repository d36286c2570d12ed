import type { Decision } from "../core/decision.js";
import type { Store } from "../core/store.js";
import { check, eventually } from "./adapter-suite-check.js";
import type { StoreCase, Trial } from "./store-suite-trial.js";

const HOUR = 3_600_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Whose time it is, and what happens when there is none. */
export const clocks: readonly StoreCase[] = [
  {
    name: "port · answers at once or with a promise, as `sync` says",
    async run(trial) {
      const store = await trial.open({ clock: trial.clock.now });
      const policy = trial.policy("p", { capacity: 1, refill: { tokens: 1, everyMs: 1_000 } });
      check(typeof store.sync === "boolean", `Expected \`sync\` to be true or false, got ${String(store.sync)}`);
      for (let i = 0; i < 2; i++) {
        const answer: unknown = store.consume(policy, "caller", 1);
        const later = typeof (answer as Promise<unknown>).then === "function";
        check(later !== store.sync, `Expected a store with \`sync: ${store.sync}\` to answer ${store.sync ? "at once" : "with a promise"}`);
        trial.compare([{ call: { what: "consume", policy, key: "caller", tokens: 1 }, answer: await trial.within(answer, "consume to be answered") }]);
      }
    },
  },
  {
    name: "clock · goes by the clock that it is told, and by no other",
    async run(trial) {
      await trial.tell("mixed");
      check(trial.store().clock === trial.clock.now, "Expected `clock` of a store that is told the time to be the function that tells it");
      const policy = trial.policy("p", { capacity: 1_000, refill: { tokens: 1_000, everyMs: 1 } });
      await trial.consume(policy, "caller", 1_000); // full again after 1 ms, of which the told clock knows nothing
      await pause(30);
      const { allowed } = await trial.consume(policy, "caller", 1);
      check(!allowed, "Expected nothing to come back while the told clock stands still");
      for (const start of [0, -123_456.75, 86_399_999.999]) {
        trial.move(start - trial.clock.now());
        for (const ms of [0, 0.4, 0.7, -1.2]) {
          trial.move(ms);
          await trial.consume(policy, `caller ${start}`, 600);
        }
      }
    },
  },
  {
    name: "clock · its own is the one that it declares, and moves on by itself",
    async run(trial) {
      const { clock } = await trial.open({});
      if (trial.has("serverClock")) check(clock === "server", `Expected \`clock\` of a store with a server's clock to be "server", got ${String(clock)}`);
      if (clock === "server") return;
      check(typeof clock === "function", `Expected \`clock\` to be a function or "server", got ${String(clock)}`);
      const first = clock();
      check(Number.isFinite(first), `Expected \`clock\` to tell milliseconds, got ${first}`);
      await eventually(() => clock() > first, "`clock` to move on by itself", 1_000);
    },
  },
  {
    name: "clock · a server's takes no notice of this process's",
    needs: ["serverClock"],
    async run(trial) {
      const store = await trial.open({});
      const policy = trial.policy("p", { capacity: 2, refill: { tokens: 1, everyMs: HOUR } });
      await store.consume(policy, "caller", 2);
      for (const skewMs of [2 * HOUR, -2 * HOUR]) {
        const { allowed, retryAfterMs } = await skewed(skewMs, async () => {
          const other = trial.has("sharing") ? await trial.open({}) : store;
          return trial.within(other.consume(policy, "caller", 1), "consume to be answered");
        });
        check(!allowed, `Expected a server's clock to take no notice of a process that is wrong by ${skewMs / HOUR} hours, got allowed`);
        check(retryAfterMs > HOUR - 60_000 && retryAfterMs <= HOUR, `Expected a wait of just under an hour by the server's clock, got ${retryAfterMs} ms`);
      }
    },
  },
  {
    name: "L4 · by its own clock nothing is forgotten early either",
    async run(trial) {
      const store = await trial.open({});
      // Not a whole number of seconds: many servers expire by the second.
      const policy = trial.policy("p", { capacity: 1, refill: { tokens: 1, everyMs: 1_100 } });
      const sentAt = performance.now();
      let allowedAt = 0;
      const { allowed } = await trial.within(store.consume(policy, "caller", 1), "consume to be answered");
      check(allowed, "Expected a new caller to be allowed");
      while (allowedAt === 0) {
        const decision = await trial.within(store.consume(policy, "caller", 1), "consume to be answered");
        if (decision.allowed) allowedAt = performance.now();
        else await pause(Math.min(decision.retryAfterMs, 25));
        check(performance.now() - sentAt < 10_000, "Expected a caller to be allowed again 1100 ms later, got refused for 10 s");
      }
      // Clocks that are read in whole milliseconds, at both ends; how late it is says nothing.
      check(allowedAt - sentAt >= 1_097, `Expected a caller to be refused for 1100 ms, got allowed again after ${Math.round(allowedAt - sentAt)} ms`);
    },
  },
  {
    name: "L4 · by its own clock what is taken later is kept for longer",
    async run(trial) {
      const store = await trial.open({});
      const policy = trial.policy("p", { capacity: 2, refill: { tokens: 1, everyMs: 700 } });
      const ask = (): Promise<Decision> => trial.within(store.consume(policy, "caller", 1), "consume to be answered");
      const sentAt = performance.now();
      await ask();
      await pause(350);
      await ask(); // the bucket is now full 1400 ms after the first call, and no longer 700
      while (!(await ask()).allowed) await pause(20);
      const { allowed } = await ask();
      // A machine that was slow enough for the second token proves nothing.
      const tookMs = performance.now() - sentAt;
      check(!allowed || tookMs >= 1_397, `Expected one token to be back ${Math.round(tookMs)} ms after two were taken, got two: the bucket was forgotten early`);
    },
  },
  {
    name: "L8 · by its own clock it counts as by any other",
    async run(trial) {
      const store = await trial.open({});
      const other = trial.has("sharing") ? await trial.open({}) : store;
      // So slow that nothing comes back meanwhile: the answers are known without knowing the time.
      const policy = trial.policy(
        "p",
        { name: "a", capacity: 10, refill: { tokens: 1, everyMs: 24 * HOUR } },
        { name: "b", capacity: 14, refill: { tokens: 1, everyMs: 48 * HOUR } },
      );
      const expectNext = async (of: Store, cost: number, allowed: boolean, left: number): Promise<void> => {
        const decision = await trial.within(of.consume(policy, "caller", cost), "consume to be answered");
        const got = `${decision.allowed ? "allowed" : "refused"} with ${decision.remaining} left`;
        const wanted = `${allowed ? "allowed" : "refused"} with ${left} left`;
        check(got === wanted, `Expected a cost of ${cost} to be ${wanted}, got ${got}`);
      };
      await expectNext(store, 3, true, 7);
      await expectNext(other, 0, true, 7);
      await expectNext(store, 8, false, 7);
      await expectNext(other, 5, true, 2);
      await expectNext(store, 3, false, 2);
      if (store.refund !== undefined) {
        await trial.within(store.refund(policy, "caller", 4), "refund to be answered");
        await expectNext(store, 5, true, 1);
      }
      if (store.reset !== undefined) {
        await trial.within(store.reset(policy, "caller"), "reset to be answered");
        await expectNext(store, 10, true, 0);
      }
      const burst = Array.from({ length: 30 }, (_, i) => Promise.resolve((i % 2 === 0 ? store : other).consume(policy, "burst", 1)));
      const granted = (await trial.within(Promise.all(burst), "a burst to be answered")).filter(({ allowed }) => allowed).length;
      check(granted === 10, `Expected 10 of 30 at once to be allowed, got ${granted}`);
    },
  },
  {
    name: "L11 · a clock that fails fails the call, which takes nothing",
    async run(trial) {
      const clock = { read: trial.clock.now };
      const store = await trial.open({ clock: () => clock.read() });
      const policy = trial.policy("p", { capacity: 3, refill: { tokens: 1, everyMs: 1_000 } });
      const call = (): unknown => store.consume(policy, "caller", 1);
      const expectNext = async (): Promise<void> =>
        trial.compare([{ call: { what: "consume", policy, key: "caller", tokens: 1 }, answer: await trial.within(call(), "consume to be answered") }]);
      await expectNext();
      for (const broken of [() => NaN, () => Infinity, fail]) {
        clock.read = broken;
        await checkFails(trial, store, call, "a clock that fails");
      }
      clock.read = trial.clock.now;
      for (let i = 0; i < 3; i++) await expectNext();
    },
  },
  {
    name: "L11 · a store that cannot reach its buckets fails, and never makes up a decision",
    needs: ["unreachable"],
    async run(trial) {
      const store = await trial.open({ unreachable: true });
      const policy = trial.policy("p", { capacity: 3, refill: { tokens: 1, everyMs: 1_000 } });
      for (let i = 0; i < 3; i++) await checkFails(trial, store, () => store.consume(policy, "caller", 1), "a store that is out of reach");
    },
  },
];

function fail(): never {
  throw new Error("the clock stopped");
}

/** Fails unless `call` throws, or rejects when the store is asynchronous. */
async function checkFails(trial: Trial, store: Store, call: () => unknown, what: string): Promise<void> {
  let answer: unknown;
  try {
    answer = call();
  } catch (error) {
    check(store.sync, `Expected an asynchronous store to reject for ${what}, got thrown: ${String(error)}`);
    return;
  }
  let decision: unknown;
  try {
    decision = await trial.within(answer, `${what} to be answered`);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("Expected ") && error.message.includes("which did not happen")) throw error;
    return;
  }
  check(false, `Expected ${what} to fail the call, got ${JSON.stringify(decision)}`);
}

/** Runs `run` in a process whose clocks are wrong by `ms`. */
async function skewed<T>(ms: number, run: () => Promise<T>): Promise<T> {
  const { now } = Date;
  const monotonic = performance.now;
  Date.now = () => now() + ms;
  performance.now = () => monotonic.call(performance) + ms;
  try {
    return await run();
  } finally {
    Date.now = now;
    performance.now = monotonic;
  }
}
