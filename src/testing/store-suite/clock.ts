import type { Policy } from "../../core/policy.js";
import type { Store } from "../../core/store.js";
import { check, eventually } from "../adapter-suite/check.js";
import type { StoreCase, Trial } from "./trial.js";

/** In milliseconds. */
export const HOUR = 3_600_000;

/** Waits for a real clock. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

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
        checkSoon(store, "consume", answer);
        trial.compare([{ call: { what: "consume", policy, key: "caller", tokens: 1 }, answer: await trial.within(answer, "consume to be answered") }]);
      }
      for (const [name, call] of powersOf(store, policy)) {
        const answer = call();
        checkSoon(store, name, answer);
        await trial.within(answer, `${name} to be answered`);
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
    name: "L11 · a clock that fails fails the call, which takes nothing",
    async run(trial) {
      const clock = { read: trial.clock.now };
      const store = await trial.open({ clock: () => clock.read() });
      const policy = trial.policy("p", { capacity: 3, refill: { tokens: 1, everyMs: 1_000 } });
      const call = (): unknown => store.consume(policy, "caller", 1);
      const expectNext = async (): Promise<void> =>
        trial.compare([{ call: { what: "consume", policy, key: "caller", tokens: 1 }, answer: await trial.within(call(), "consume to be answered") }]);
      await expectNext();
      const reading = powersOf(store, policy).filter(([name]) => name === "peek" || name === "consumeTogether");
      for (const broken of [() => NaN, () => Infinity, fail]) {
        clock.read = broken;
        await checkFails(trial, store, call, "consume by a clock that fails");
        for (const [name, ask] of reading) await checkFails(trial, store, ask, `${name} by a clock that fails`);
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
      for (let i = 0; i < 3; i++) await checkFails(trial, store, () => store.consume(policy, "caller", 1), "consume without the server");
      for (const [name, call] of powersOf(store, policy)) await checkFails(trial, store, call, `${name} without the server`);
    },
  },
];

/** One call of each power that the store has, on buckets of its own. */
function powersOf(store: Store, policy: Policy): [name: string, call: () => unknown][] {
  const calls: Readonly<Record<string, () => unknown>> = {
    peek: () => store.peek?.(policy, "powers", 1),
    refund: () => store.refund?.(policy, "powers", 1),
    debit: () => store.debit?.(policy, "powers", 1),
    reset: () => store.reset?.(policy, "powers"),
    consumeTogether: () => store.consumeTogether?.([{ policy, key: "powers", cost: 1 }, { policy, key: "other powers", cost: 1 }]),
  };
  return Object.entries(calls).filter(([name]) => store[name as keyof Store] !== undefined);
}

function checkSoon(store: Store, name: string, answer: unknown): void {
  const later = typeof (answer as Promise<unknown> | undefined)?.then === "function";
  check(later !== store.sync, `Expected \`${name}\` of a store with \`sync: ${store.sync}\` to answer ${store.sync ? "at once" : "with a promise"}`);
}

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
