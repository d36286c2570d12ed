import type { Decision } from "../../../core/decision.js";
import type { Policy } from "../../../core/policy.js";
import { afterMs } from "../../../limits/window.js";
import { daily } from "../../../limits/quota.js";
import { hasVerb, type Store } from "../../../port/store.js";
import { assert, assertEqual, eventually } from "../../assert.js";
import { dateEnd, dayQuota, heldLimit } from "./dated/histories.js";
import { withSkewedClocks } from "../skewed-clocks.js";
import { callStore, type SuiteCall } from "../states.js";
import { keysTogether } from "../together.js";
import type { StoreCase, Trial } from "../trial.js";
import { callsOf } from "../../store-calls.js";

const HOUR = 3_600_000;
// How long a case waits for a token that should come within 1.1 seconds.
const MOST_MS = 3_500;
// Both times of a measured wait are rounded to whole milliseconds.
const ROUNDED_MS = 3;

/** Waits in real time, for stores that read a real clock. */
const waitMs = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Cases about the clock that a store reads. A test cannot set the clock of a server: those cases check answers that do
 * not depend on the time, and that nothing happens too early.
 */
export const clockCases: readonly StoreCase[] = [
  {
    name: "clock · the store reads the `clock` that it is given, and no other; otherwise `clock` names the one that it reads",
    cause: "Expiry or the decision reads the process's or the server's clock. Send the given time with each call.",
    async run(trial) {
      await trial.openStores("mixed");
      const isGiven = trial.store().clock === trial.clock.now;
      assert(isGiven, "Expected `clock` of the store to be the function that it was given, got another value");
      const policy = trial.policy("p", { capacity: 1_000, refill: { tokens: 1_000, everyMs: 1 } });
      await trial.consume(policy, "caller", 1_000); // full again after 1 ms, but the given clock does not move
      await waitMs(20);
      await trial.consume(policy, "caller", 1);
      for (const start of [0, -123_456.75, 86_399_999.999]) {
        trial.move(start - trial.clock.now());
        for (const ms of [0, 0.4, 0.7, -1.2]) {
          trial.move(ms);
          await trial.consume(policy, `caller ${start}`, 600);
        }
      }
      await trial.part(
        "`clock` is not the one that the store reads: the text `server` for a server's time, otherwise a function.",
        () => checkClockName(trial),
      );
    },
  },
  {
    name: "clock · a store with the server's clock ignores the process's clock",
    cause: "The store sends the process's time to the server, compares the two, or finds a date by the process's clock.",
    needs: ["serverClock"],
    async run(trial) {
      const store = await trial.open({});
      const policy = trial.policy("p", { capacity: 2, refill: { tokens: 1, everyMs: HOUR } });
      const { at: now } = await callsOf(store).consume(policy, "caller", 2);
      for (const hours of [2, -2]) {
        await withSkewedClocks(hours * HOUR, async () => {
          const other = trial.has("sharing") ? await trial.open({}) : store;
          const { allowed, retryAfterMs } = await callsOf(other).consume(policy, "caller", 1);
          assert(!allowed, `Expected a refusal although the process's clock is wrong by ${hours} hours, got allowed`);
          const isExact = retryAfterMs > HOUR - 60_000 && retryAfterMs <= HOUR;
          assert(isExact, `Expected a wait of 59 to 60 minutes by the server's clock, got ${retryAfterMs} ms`);
          if (!trial.has("adjust")) return;
          // The day begins within the two hours by which the clock of the process is wrong.
          const at = new Date(now + (hours / 2) * HOUR).toISOString().slice(11, 16);
          if (trial.has("quota")) await checkDated(store, trial.policy(`q${hours}`, { capacity: 3, renews: daily({ at }) }));
          if (trial.has("in-flight")) await checkDated(store, trial.policy(`r${hours}`, { ...heldLimit, capacity: 3 }));
          if (trial.has("window")) await checkDated(store, trial.policy(`w${hours}`, { capacity: 3, returns: afterMs(HOUR) }));
        });
      }
    },
  },
  {
    name: "L4 · own clock: nothing is forgotten before it is full, also after a later charge",
    cause: "Expiry is rounded down, counted in whole seconds, or set by the first write only. Round it up, at every write.",
    async run(trial) {
      const store = await trial.open({});
      // Many servers expire keys in whole seconds. 1,050 ms are not a whole number of them. A clock of whole seconds is
      // early for a call just before a tick, so calls that wait for a shorter time start at 4 points within one second.
      const short = trial.policy("short", { capacity: 1, refill: { tokens: 1, everyMs: 290 } });
      await Promise.all([
        checkNotEarly(store, trial.policy("long", { capacity: 1, refill: { tokens: 1, everyMs: 1_050 } }), "caller"),
        checkExtended(store, trial.policy("twice", { capacity: 2, refill: { tokens: 1, everyMs: 300 } })),
        ...[0, 250, 500, 750].map(async (afterMs) => {
          await waitMs(afterMs);
          await checkNotEarly(store, short, `caller ${afterMs}`);
        }),
      ]);
    },
  },
  {
    name: "L8 · own clock: the answers are the same as with a given clock",
    cause: "The code path for the own clock differs from the tested one. Use one path, and only replace the time.",
    async run(trial) {
      const store = await trial.open({});
      const other = trial.has("sharing") ? await trial.open({}) : store;
      await checkOwnAnswers(trial, store, other);
      await trial.part(
        "A method reads another clock than `consume`: the process's instead of the server's, or that of another server.",
        () => checkOneClock(trial, store, other),
      );
      if (!trial.has("quota")) return;
      await trial.part("The store chooses the period by another clock than the one that it decides by.", async () => {
        const day = trial.policy("day", dayQuota);
        for (let call = 0; call < 3; call++) {
          const answer = await callsOf(store).consume(day, "caller", 1);
          trial.compareAtItsTime({ method: "consume", policy: day, key: "caller", tokens: 1 }, answer);
        }
      });
    },
  },
];

async function checkClockName(trial: Trial): Promise<void> {
  const { clock } = await trial.open({});
  if (clock === "server") return;
  const given = typeof clock === "object" ? "an object" : String(clock);
  assert(!trial.has("serverClock"), `Expected \`clock\` of a store with the trait \`serverClock\` to be "server", got ${given}`);
  assert(typeof clock === "function", `Expected \`clock\` to be a function or "server", got ${given}`);
  const first = clock();
  assert(Number.isFinite(first), `Expected \`clock\` to return milliseconds, got ${first}`);
  await eventually(() => clock() > first, "`clock` to advance", 1_000);
}

/** Checks that the tokens of a dated limit have the date of the store's own clock, through every method. */
async function checkDated(store: Store, policy: Policy): Promise<void> {
  const { at, allowed, nextTokenMs } = await callsOf(store).consume(policy, "caller", 3);
  const wanted = dateEnd(policy, at);
  assert(allowed && at + nextTokenMs === wanted, `Expected the tokens back at ${wanted}, got ${at + nextTokenMs}`);
  await callsOf(store).renew(policy, "caller", 1, { from: at, to: at });
  assert(!(await callsOf(store).consume(policy, "caller", 1)).allowed, "Expected the tokens to be taken, got one back");
  await callsOf(store).adjust(policy, "caller", -1, { at, heldAt: at });
  const { allowed: again } = await callsOf(store).consume(policy, "caller", 1);
  assert(again, "Expected a settlement to give back to the date of its decision, got a refusal");
}

/** Takes the only token of a new key, then calls until there is another. A late token is fine; an early one is not. */
async function checkNotEarly(store: Store, policy: Policy, key: string): Promise<void> {
  const sentAt = performance.now();
  const { allowed } = await callsOf(store).consume(policy, key, 1);
  assert(allowed, "Expected the first call of a new key to be allowed, got refused");
  await untilAllowed(store, policy, key, sentAt, policy.limits[0].fullMs);
}

/** Takes two tokens, half a refill apart. The bucket is then full after two refills, and not after one. */
async function checkExtended(store: Store, policy: Policy): Promise<void> {
  const everyMs = policy.limits[0].fullMs / 2;
  const sentAt = performance.now();
  await callsOf(store).consume(policy, "caller", 1);
  await waitMs(everyMs / 2);
  await callsOf(store).consume(policy, "caller", 1);
  await untilAllowed(store, policy, "caller", sentAt, everyMs);
  const { allowed } = await callsOf(store).consume(policy, "caller", 1);
  // On a slow machine, the second token may have come back. Then the case proves nothing.
  const tookMs = performance.now() - sentAt;
  const isRight = !allowed || tookMs >= 2 * everyMs - ROUNDED_MS;
  assert(isRight, `Expected one token ${Math.round(tookMs)} ms after two were taken, got two: the bucket was forgotten early`);
}

async function untilAllowed(store: Store, policy: Policy, key: string, sentAt: number, afterMs: number): Promise<void> {
  for (;;) {
    const { allowed, retryAfterMs } = await callsOf(store).consume(policy, key, 1);
    const tookMs = performance.now() - sentAt;
    const isRight = !allowed || tookMs >= afterMs - ROUNDED_MS;
    assert(isRight, `Expected refusals for ${afterMs} ms, got allowed after ${Math.round(tookMs)} ms`);
    if (allowed) return;
    assert(tookMs < MOST_MS, `Expected a token after ${afterMs} ms, got refusals for ${MOST_MS / 1_000} s`);
    await waitMs(Math.min(retryAfterMs, 25));
  }
}

async function checkOneClock(trial: Trial, store: Store, other: Store): Promise<void> {
  // The bucket never gets full, so its content depends on the time of an answer, not on that of the refund before it.
  const policy = trial.policy("clock", { capacity: 1_000, refill: { tokens: 1, everyMs: 40 } });
  const call = (method: SuiteCall["method"], tokens: number): SuiteCall => ({ method, policy, key: "caller", tokens });
  let last = await callsOf(store).consume(policy, "caller", 900);
  trial.compareAtItsTime(call("consume", 900), last);
  const near = (at: number, what: string): void =>
    assert(
      Math.abs(at - last.at) < 1_000,
      `Expected ${what} some milliseconds after \`at\` of the consume before, got ${at - last.at} ms`,
    );
  for (const [method, tokens] of [["adjust", -90], ["peek", 5], ["adjust", 70]] as const) {
    if (!trial.has(method)) continue;
    await waitMs(12);
    const answer = (await callStore(other, call(method, tokens))) as Decision;
    if (method === "peek") {
      near(answer.at, "`at` of a peek");
      trial.compareAtItsTime(call(method, tokens), answer);
    } else trial.oracle.assume(call(method, tokens), last.at);
    last = await callsOf(store).consume(policy, "caller", 3);
    trial.compareAtItsTime(call("consume", 3), last);
  }
  if (!trial.has("block")) return;
  await callStore(other, call("block", 10_000));
  const { at, retryAfterMs } = await callsOf(store).consume(policy, "caller", 1);
  near(at + retryAfterMs - 10_000, "a block of 10 s to begin");
}

/** Calls every method with a refill so slow that no token comes back, so that the time does not matter. */
async function checkOwnAnswers(trial: Trial, store: Store, other: Store): Promise<void> {
  const versions = [[10, 14, 1], [11, 15, 3]].map(([a, b, tokens]) =>
    trial.policy(
      "p", { name: "a", capacity: a as number, refill: { tokens: tokens as number, everyMs: 7 * 24 * HOUR } },
      { name: "b", capacity: b as number, refill: { tokens: 1, everyMs: 96 * HOUR } },
    )) as [Policy, Policy];
  const [policy, changed] = versions;
  const left = ({ allowed, remaining }: Decision): string => `${allowed ? "allowed" : "refused"} with ${remaining} left`;
  const expectNext = async (cost: number, wanted: string, by = policy, through = store): Promise<void> =>
    assertEqual(left(await callsOf(through).consume(by, "caller", cost)), wanted, `the answer to a cost of ${cost}`);
  await expectNext(3, "allowed with 7 left");
  await expectNext(8, "refused with 7 left", policy, other);
  await expectNext(5, "allowed with 2 left", policy, other);
  await expectNext(4, "refused with 3 left", changed);
  await expectNext(0, "allowed with 2 left");
  if (hasVerb(store, "peek")) {
    assertEqual(left(await callsOf(store).peek(policy, "caller", 3)), "refused with 2 left", "the answer to a peek of 3");
  }
  const keys = trial.has("together") && (await keysTogether(trial, ["caller", "another"].map((key) => ({ policy, key }))));
  if (keys && keys[0] === "caller") {
    const answers = await callsOf(store).together(keys.map((key) => ({ policy, key, cost: 1 })));
    assertEqual(answers.map(left), ["allowed with 1 left", "allowed with 9 left"], "the answers to a `consume` of two parts");
  } else await expectNext(1, "allowed with 1 left");
  if (hasVerb(store, "adjust")) {
    await callsOf(store).adjust(policy, "caller", -5);
    await expectNext(5, "allowed with 1 left");
  }
  if (hasVerb(store, "block")) {
    await callsOf(store).block(policy, "caller", HOUR);
    await callsOf(other).block(policy, "caller", 1);
    const { allowed, retryAfterMs } = await callsOf(other).consume(changed, "caller", 0);
    const got = allowed ? "allowed" : `refused for ${retryAfterMs} ms`;
    const isRight = !allowed && retryAfterMs > HOUR - 60_000 && retryAfterMs <= HOUR;
    assert(isRight, `Expected a key that is blocked for an hour to be refused for 59 to 60 minutes, got ${got}`);
    await callsOf(store).block(policy, "caller", 0);
    await expectNext(1, "allowed with 0 left");
  }
  if (hasVerb(store, "reset")) {
    await callsOf(store).reset(policy, "caller");
    await expectNext(10, "allowed with 0 left");
  }
  const burst = Array.from({ length: 30 }, async (_, i) => callsOf(i % 2 === 0 ? store : other).consume(policy, "burst", 1));
  assertEqual((await Promise.all(burst)).filter(({ allowed }) => allowed).length, 10, "the allowed calls of 30 concurrent ones");
}
