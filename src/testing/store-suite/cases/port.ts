import { show } from "../../../core/check.js";
import type { Clock } from "../../../core/clock.js";
import type { Policy } from "../../../core/policy.js";
import { STORE_VERBS } from "../../../core/records.js";
import { hasVerb, type Store, type SyncStore } from "../../../port/store.js";
import { openGuard, type GuardedStore } from "../../../port/guarded-store.js";
import { assert, assertEqual, AssertionError } from "../../assert.js";
import { keepRecords } from "../../kept-records.js";
import type { StoreTrait } from "../setup.js";
import { keysTogether } from "../together.js";
import type { StoreCase, Trial } from "../trial.js";
import { callsOf } from "../../store-calls.js";

const VERB_TRAITS = ["peek", "adjust", "block", "reset"] as const;
const OWN_BUCKETS =
  "Each store of the factory has buckets of its own. Give all of them the same ones, or list `sharing` in `lacks`.";
const KIND_TRAITS = ["quota", "in-flight", "window"] as const;
const SMALL = { capacity: 3, refill: { tokens: 1, everyMs: 1_000 } };

/** Cases about the members of a store, its guard, and failures of its clock or its server. */
export const portCases: readonly StoreCase[] = [
  {
    name: "port · the store has the verbs and kinds that `lacks` does not list, and answers as `sync` says",
    cause: "`lacks` is out of date, or the test makes another store than the one you ship.",
    async run(trial) {
      const store = await trial.open({ clock: trial.clock.now });
      assert(typeof store.ask === "function", `Expected the store to have \`ask\`, got ${typeof store.ask}`);
      for (const verb of VERB_TRAITS) checkTrait(trial, verb, hasVerb(store, verb));
      checkTrait(trial, "together", store.together === true || typeof store.together === "function");
      checkTrait(trial, "close", typeof store.close === "function");
      if (trial.has("sharing")) await trial.part(OWN_BUCKETS, () => checkSharing(trial, store));
      await trial.part("Without `kinds` a limiter refuses each policy with such a limit.", async () => checkKinds(trial, store));
      await trial.part("`ask` is not `async` although `sync` is false, or the reverse.", () => checkTimings(trial, store));
    },
  },
  {
    name: "L12 · `guard` of the store is what the function `guard` returns, with the options of the factory's setup",
    cause: "The store carries the function itself, its options, or nothing. Write `readonly guard = guard(options)`.",
    async run(trial) {
      const { guard, sync } = await trial.open({ clock: trial.clock.now });
      const isGuard = openGuard(guard) !== undefined;
      assert(isGuard || (guard === undefined && sync), `Expected \`store.guard\` to be made by guard(), got ${show(guard)}`);
      if (!trial.has("unreachable")) return;
      await trial.part(
        "The factory or the store drops an option. Write `guard({ timeoutMs, breaker, sharedBy })` with those of the setup.",
        () => checkGuardOptions(trial),
      );
    },
  },
  {
    name: "L11 · a clock that fails makes the call fail, and the call takes nothing",
    cause: "The store catches the error, or calculates with NaN. Read the time with `readClock` inside the call.",
    async run(trial) {
      const clock = { read: trial.clock.now };
      const store = await trial.open({ clock: () => clock.read() });
      const policy = trial.policy("p", SMALL);
      const call = (): unknown => callsOf(store).consume(policy, "caller", 1);
      const expectNext = async (): Promise<void> =>
        trial.compare([{ call: { method: "consume", policy, key: "caller", tokens: 1 }, answer: await call() }]);
      await expectNext();
      const reading = optionalCalls(store, policy).filter(([name]) => name === "peek" || name === "consume");
      for (const broken of [() => NaN, () => Infinity, fail]) {
        clock.read = broken;
        await checkFails(store, call, "`consume` with a failing clock");
        for (const [name, method] of reading) await checkFails(store, method, `\`${name}\` with a failing clock`);
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
      const policy = trial.policy("p", SMALL);
      const calls = [["consume", () => callsOf(store).consume(policy, "caller", 1)] as const, ...optionalCalls(store, policy)];
      for (const [name, call] of calls) await checkFails(store, call, `\`${name}\` without the server`);
    },
  },
  {
    name: "close · closes the store's connections, can be called twice, and leaves other stores open",
    cause: "`close` ends a connection that the store does not own, or fails the second time.",
    needs: ["close"],
    async run(trial) {
      const policy = trial.policy("p", SMALL);
      await trial.openStores("mixed");
      const other = await trial.open({ clock: trial.clock.now });
      await callsOf(other).consume(policy, "other", 1);
      for (const time of ["once", "twice"]) {
        try {
          await other.close?.();
        } catch (error) {
          if (error instanceof AssertionError) throw error; // the deadline passed
          assert(false, `Expected \`close\` to work ${time}, got ${String(error)}`);
        }
      }
      await trial.consume(policy, "caller", 2);
    },
  },
];

/** Fails unless `lacks` is right about a trait. */
function checkTrait(trial: Trial, trait: StoreTrait, has: boolean): void {
  const [wanted, got] = has ? ["not to be in `lacks`", "with"] : ["to be in `lacks`, with a reason", "without"];
  const cure = has || trait === "close" || trait === "together" ? "" : ". A store over `answerCall` has `verbs: STORE_VERBS`";
  assert(has === trial.has(trait), `Expected \`${trait}\` ${wanted}, got a store ${got} it${cure}`);
}

async function checkSharing(trial: Trial, store: Store): Promise<void> {
  const policy = trial.policy("p", SMALL);
  await callsOf(store).consume(policy, "shared", 2);
  const { remaining } = await callsOf(await trial.open({ clock: trial.clock.now })).consume(policy, "shared", 0);
  assert(remaining === 1, `Expected two stores of the factory to share their buckets, with 1 of 3 tokens left, got ${remaining}`);
}

/** Fails unless the store names the kinds of limits that it keeps. */
function checkKinds(trial: Trial, store: Store): void {
  const { kinds } = store;
  for (const kind of KIND_TRAITS) {
    if (!trial.has(kind)) continue;
    assert(
      Array.isArray(kinds) && kinds.includes(kind),
      `Expected \`kinds\` of the store to include "${kind}", got ${JSON.stringify(kinds)}. Name it if the store keeps ` +
      `such limits; otherwise list \`${kind}\` in \`lacks\``,
    );
  }
  const hasBoth = hasVerb(store, "renew") && hasVerb(store, "adjust");
  const got = JSON.stringify(store.verbs ?? ["consume"]);
  assert(hasBoth || !trial.has("in-flight"), `Expected \`verbs\` with "renew" and "adjust" for limits in flight, got ${got}`);
}

async function checkTimings(trial: Trial, store: Store): Promise<void> {
  assert(typeof store.sync === "boolean", `Expected \`sync\` to be a boolean, got ${String(store.sync)}`);
  const policy = trial.policy("p", SMALL);
  const keys = trial.has("together") ? await keysTogether(trial, OTHER_KEYS.map((key) => ({ policy, key }))) : null;
  const consume = (): unknown => callsOf(store).consume(policy, "caller", 2); // refused the second time
  for (const [name, call] of [["consume", consume], ["consume", consume], ...optionalCalls(store, policy, keys)] as const) {
    const answer = call();
    const later = typeof (answer as Promise<unknown> | undefined)?.then === "function";
    const [wanted, got] = [store.sync ? "a value" : "a promise", later ? "a promise" : "a value"];
    const what = `\`ask\` of a store with \`sync: ${store.sync}\` to return ${wanted} for a ${name}`;
    assert(wanted === got, `Expected ${what}, got ${got}`);
    await answer;
  }
}

async function checkGuardOptions(trial: Trial): Promise<void> {
  const policy = trial.policy("p", { capacity: 9, refill: { tokens: 1, everyMs: 3_600_000 } });
  const away = { clock: trial.clock.now, unreachable: true };
  const store = await trial.open({ ...away, breaker: { failures: 1, probeEveryMs: 3_600_000 }, sharedBy: 3 });
  const guarded = protect(store, policy);
  const decisions = [];
  for (let i = 0; i < 4; i++) decisions.push(await guarded.consume(policy, "caller", 1));
  const granted = decisions.map(({ allowed, degraded }) => allowed && degraded);
  assertEqual(granted, [true, true, true, false], "the decisions without the server, with `sharedBy: 3` and a capacity of 9");
  // A store that answers at once is always asked, and waited for.
  if (store.sync) return;
  const { code } = Object(decisions[1]?.error) as { readonly code?: unknown };
  assertEqual(code, "ERR_STORE_OPEN", "the code of the second error, with `breaker: { failures: 1 }`");
  const patient = await trial.open({ ...away, timeoutMs: 12_345 });
  assertEqual(protect(patient, policy).timeoutMs, 12_345, "the timeout of a store with `timeoutMs: 12345`");
}

function protect(store: Store, policy: Policy): GuardedStore {
  const guard = openGuard(store.guard);
  assert(guard !== undefined, "Expected a store that can be unreachable to have a `guard`, got none");
  // The observer listens, so that the suite prints no warning.
  return guard.protect(store, { onStoreError: "local", policy, observer: { storeChanged: () => true }, makeLocal });
}

/** Makes a small store in memory. */
function makeLocal(clock: Clock): SyncStore {
  return { sync: true, clock, verbs: STORE_VERBS, ask: keepRecords(clock) };
}

const OTHER_KEYS = ["optional", "other optional"];

/**
 * Returns one call for each verb that the store has besides a plain `consume`. Without `keys`, none of several parts.
 */
function optionalCalls(
  store: Store, policy: Policy, keys: readonly string[] | null = store.together ? OTHER_KEYS : null,
): (readonly [name: string, call: () => unknown])[] {
  const calls = callsOf(store);
  const all = {
    peek: () => calls.peek(policy, "optional", 1),
    adjust: () => calls.adjust(policy, "optional", 1),
    block: () => calls.block(policy, "optional", 1),
    reset: () => calls.reset(policy, "optional"),
  };
  return [
    ...VERB_TRAITS.filter((verb) => hasVerb(store, verb)).map((verb) => [verb, all[verb]] as const),
    ...(keys === null ? [] : [["consume", () => calls.together(keys.map((key) => ({ policy, key, cost: 1 })))] as const]),
  ];
}

function fail(): never {
  throw new Error("the clock stopped");
}

/** Checks that `call` throws, or rejects if the store is asynchronous. */
async function checkFails(store: Store, call: () => unknown, what: string): Promise<void> {
  let answer: unknown;
  try {
    answer = call();
  } catch (error) {
    return assert(store.sync, `Expected ${what} of an asynchronous store to reject, got an exception: ${String(error)}`);
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
