import type { Policy } from "../../../core/policy.js";
import type { Store } from "../../../port/store.js";
import { assert, AssertionError, eventually } from "../../assert.js";
import { keysTogether } from "../together.js";
import type { StoreCase, Trial } from "../trial.js";

/** One hour in milliseconds. */
export const HOUR = 3_600_000;

/** Waits in real time, for stores that read a real clock. */
export const waitMs = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Cases about the clock that a store reads, and about failures of the clock or the server. */
export const clockCases: readonly StoreCase[] = [
  {
    name: "port · a synchronous store returns values and an asynchronous one promises, as `sync` says",
    cause: "A method is not `async` although `sync` is false, or the reverse.",
    async run(trial) {
      const store = await trial.open({ clock: trial.clock.now });
      const policy = trial.policy("p", { capacity: 1, refill: { tokens: 1, everyMs: 1_000 } });
      assert(typeof store.sync === "boolean", `Expected \`sync\` to be a boolean, got ${String(store.sync)}`);
      for (let i = 0; i < 2; i++) {
        const answer: unknown = store.consume(policy, "caller", 1);
        checkTiming(store, "consume", answer);
        trial.compare([{ call: { method: "consume", policy, key: "caller", tokens: 1 }, answer: await answer }]);
      }
      const keys = store.consumeTogether && (await keysTogether(trial, OPTIONAL_KEYS.map((key) => ({ policy, key }))));
      for (const [name, call] of optionalCalls(store, policy, keys)) {
        const answer = call();
        checkTiming(store, name, answer);
        await answer;
      }
    },
  },
  {
    name: "clock · the store reads the `clock` that it is given, and no other",
    cause: "Expiry or the decision reads the process's or the server's clock. Send the given time with each call.",
    async run(trial) {
      await trial.openStores("mixed");
      assert(
        trial.store().clock === trial.clock.now,
        "Expected `clock` of the store to be the function that it was given, got another value",
      );
      const policy = trial.policy("p", { capacity: 1_000, refill: { tokens: 1_000, everyMs: 1 } });
      await trial.consume(policy, "caller", 1_000); // full again after 1 ms, but the given clock does not move
      await waitMs(30);
      const { allowed } = await trial.consume(policy, "caller", 1);
      assert(!allowed, "Expected a refusal while the given clock does not move, got allowed");
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
    name: "clock · without the option, `clock` names the clock that the store reads, and that clock moves",
    cause: "`clock` is not the one that the store reads: the text `server` for a server's time, otherwise a function.",
    async run(trial) {
      const { clock } = await trial.open({});
      if (clock === "server") return;
      assert(
        !trial.has("serverClock"),
        `Expected \`clock\` of a store with the trait \`serverClock\` to be "server", got ${String(clock)}`,
      );
      assert(typeof clock === "function", `Expected \`clock\` to be a function or "server", got ${String(clock)}`);
      const first = clock();
      assert(Number.isFinite(first), `Expected \`clock\` to return milliseconds, got ${first}`);
      await eventually(() => clock() > first, "`clock` to advance", 1_000);
    },
  },
  {
    name: "L11 · a clock that fails makes the call fail, and the call takes nothing",
    cause: "The store catches the error, or calculates with NaN. Read the time with `readClock` inside the call.",
    async run(trial) {
      const clock = { read: trial.clock.now };
      const store = await trial.open({ clock: () => clock.read() });
      const policy = trial.policy("p", { capacity: 3, refill: { tokens: 1, everyMs: 1_000 } });
      const call = (): unknown => store.consume(policy, "caller", 1);
      const expectNext = async (): Promise<void> =>
        trial.compare([{ call: { method: "consume", policy, key: "caller", tokens: 1 }, answer: await call() }]);
      await expectNext();
      const reading = optionalCalls(store, policy).filter(([name]) => name === "peek" || name === "consumeTogether");
      for (const broken of [() => NaN, () => Infinity, fail]) {
        clock.read = broken;
        await checkFails(trial, store, call, "`consume` with a failing clock");
        for (const [name, method] of reading) await checkFails(trial, store, method, `\`${name}\` with a failing clock`);
      }
      clock.read = trial.clock.now;
      for (let i = 0; i < 3; i++) await expectNext();
    },
  },
  {
    name: "L11 · a store that cannot reach its buckets fails, and never invents a decision",
    cause: "The store turns a connection error into a decision, or waits for a connection without end.",
    needs: ["unreachable"],
    async run(trial) {
      const store = await trial.open({ unreachable: true });
      const policy = trial.policy("p", { capacity: 3, refill: { tokens: 1, everyMs: 1_000 } });
      for (let i = 0; i < 3; i++) {
        await checkFails(trial, store, () => store.consume(policy, "caller", 1), "`consume` without the server");
      }
      for (const [name, call] of optionalCalls(store, policy)) {
        await checkFails(trial, store, call, `\`${name}\` without the server`);
      }
    },
  },
];

const OPTIONAL_KEYS = ["optional", "other optional"];

/** Returns one call for each optional method that the store has. Without `keys`, it has none for `consumeTogether`. */
function optionalCalls(
  store: Store, policy: Policy, keys: readonly string[] | null = OPTIONAL_KEYS,
): [name: string, call: () => unknown][] {
  const calls: Readonly<Record<string, () => unknown>> = {
    peek: () => store.peek?.(policy, "optional", 1),
    adjust: () => store.adjust?.(policy, "optional", 1),
    block: () => store.block?.(policy, "optional", 1),
    reset: () => store.reset?.(policy, "optional"),
    ...(keys && { consumeTogether: () => store.consumeTogether?.(keys.map((key) => ({ policy, key, cost: 1 }))) }),
  };
  return Object.entries(calls).filter(([name]) => store[name as keyof Store] !== undefined);
}

function checkTiming(store: Store, name: string, answer: unknown): void {
  const later = typeof (answer as Promise<unknown> | undefined)?.then === "function";
  const [wanted, got] = [store.sync ? "a value" : "a promise", later ? "a promise" : "a value"];
  assert(wanted === got, `Expected \`${name}\` of a store with \`sync: ${store.sync}\` to return ${wanted}, got ${got}`);
}

function fail(): never {
  throw new Error("the clock stopped");
}

/** Checks that `call` throws, or rejects if the store is asynchronous. */
async function checkFails(trial: Trial, store: Store, call: () => unknown, what: string): Promise<void> {
  let answer: unknown;
  try {
    answer = call();
  } catch (error) {
    assert(store.sync, `Expected ${what} of an asynchronous store to reject, got an exception: ${String(error)}`);
    return;
  }
  let decision: unknown;
  try {
    decision = await answer;
  } catch (error) {
    if (error instanceof AssertionError) throw error; // the deadline passed
    return;
  }
  assert(false, `Expected ${what} to fail, got ${JSON.stringify(decision)}`);
}
