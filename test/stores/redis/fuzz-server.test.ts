// L8 and L14 by the server's own clock, which takes the script's short way: the instant of each answer is told to the core and the
// model afterwards, and they must have come to the same.
import { isDeepStrictEqual } from "node:util";
import { Redis } from "ioredis";
import { definePolicy, MemoryStore, perHour, type Decision, type Policy, type PolicyOptions } from "sluice";
import { RedisStore } from "sluice/redis";
import { ManualClock } from "sluice/testing";
import { simplest, type Costs } from "../../../src/core/limit.js";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Snapshot } from "../../../src/stores/shared/snapshot.js";
import { playInLanes, removeKeys } from "../../helpers/lanes.js";
import { Model } from "../../helpers/model.js";
import type { Run } from "../../helpers/runs.js";
import { describeWith, redisUrl } from "../../helpers/services.js";
import { Tally } from "../../helpers/tally.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const STEPS = 100_000;
const LANES = 48;
// So many are asked for in one tick, and travel together. In every other run each travels alone, by the script for lone ones.
const AT_ONCE = 6;
// A store has a script for each of its first 16 limits. In every third run these are taken, and the run uses the script for all others.
const OTHERS = Array.from({ length: 16 }, (_, i) => definePolicy({ name: `other-${i}`, capacity: 1 + i, refill: perHour(1) }));
const prefix = `fuzz-server-${process.pid}-${Date.now()}`;

const tally = new Tally();
const instants = new WeakMap<Decision, number>();
let keys = 0;

interface Asked {
  readonly call: "consume" | "peek";
  readonly cost: Costs;
  readonly chosen: number;
}

/** Plays a run on a key of its own; what the steps say of time, adjustments, blocks and resets is left out, for those tell no instant. */
async function play({ policies, steps }: Run, client: Redis): Promise<void> {
  const key = `key ${++keys}`;
  const atOnce = keys % 2 === 0 ? AT_ONCE : 1;
  const clock = new ManualClock();
  const store = new RedisStore(client, { prefix, denyCacheMs: 0 });
  if (keys % 3 === 0) await Promise.all(OTHERS.map((other) => callsOf(store).consume(other, key, 1)));
  const core = new MemoryStore({ clock: clock.now, maxKeys: 16 });
  const model = new Model();
  const defined = policies.map((policy) => definePolicy(policy));
  const asked: Asked[] = steps.flatMap(({ call, cost, choice }) => {
    if (call !== "consume" && call !== "peek") return [];
    const chosen = choice % policies.length;
    // Half of the time a cost of its own for each limit.
    const { limits } = defined[chosen] as Policy;
    return [{ call, chosen, cost: simplest(limits.map(({ capacity }, place) => (choice % 2 === 0 || place === 0 ? cost : (cost * (place + choice)) % (capacity + 2)))) }];
  });
  let last: { now: number; chosen: number } | undefined;
  for (let from = 0; from < asked.length; from += atOnce) {
    const together = asked.slice(from, from + atOnce);
    const decisions = await Promise.all(together.map(({ call, cost, chosen }) => callsOf(store)[call](defined[chosen] as Policy, key, cost)));
    decisions.forEach((decision, i) => {
      const { call, cost, chosen } = together[i] as Asked;
      const now = instants.get(decision) as number;
      clock.set(now);
      const ofModel = model[call](policies[chosen] as PolicyOptions, cost, now);
      if (!isDeepStrictEqual(callsOf(core)[call](defined[chosen] as Policy, key, cost), ofModel)) throw new Error("The core and the model differ: see test/core");
      if (!isDeepStrictEqual(decision, ofModel)) expect(decision).toStrictEqual(ofModel);
      last = tally.step(now, chosen, last);
      if (!ofModel.allowed) tally.denials += 1;
    });
  }
}

describeWith("redis", "L8 · one arithmetic, in Lua, by the server's clock", () => {
  let client: Redis;
  beforeAll(() => {
    client = new Redis(redisUrl());
    for (const call of ["consume", "peek"] as const) {
      const decide = Snapshot.prototype[call];
      vi.spyOn(Snapshot.prototype, call).mockImplementation(function (this: Snapshot, ...asked) {
        const decision = decide.apply(this, asked);
        instants.set(decision, this.now);
        return decision;
      });
    }
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await removeKeys(client, prefix);
    client.disconnect();
  });

  test(`L8, L14 · every answer of ${STEPS} steps is the model's and the core's at the instant that the server says`, async () => {
    await playInLanes(LANES, STEPS, tally, (run) => play(run, client));
    tally.tell("Redis by its own clock", ["denials", "changes"]);
  }, 60_000);
});
