// L8 and L14 on Redis: the same history in Lua, in the core and in the big-integer model, compared call by call in every field.
import { isDeepStrictEqual } from "node:util";
import { Redis } from "ioredis";
import { definePolicy, MemoryStore, type Decision, type Policy, type PolicyOptions } from "sluice";
import { createClient } from "redis";
import { RedisStore, type RedisClient } from "sluice/redis";
import { ManualClock } from "sluice/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { playInLanes, removeKeys } from "../../helpers/lanes.js";
import { Model } from "../../helpers/model.js";
import type { Run } from "../../helpers/runs.js";
import { describeWith, redisUrl } from "../../helpers/services.js";
import { Tally } from "../../helpers/tally.js";

const STEPS = 100_000;
const LANES = 48;
const prefix = `fuzz-${process.pid}-${Date.now()}`;

const tally = new Tally();
let keys = 0;

/** Plays a run on a key of its own. What happens at one instant travels together, and is decided in order. */
async function play({ policies, steps }: Run, client: RedisClient): Promise<void> {
  const key = `key ${++keys}`;
  const clock = new ManualClock();
  const store = new RedisStore(client, { prefix, clock: clock.now, denyCacheMs: 0 });
  const core = new MemoryStore({ clock: clock.now, maxKeys: 16 });
  const model = new Model();
  const defined = policies.map((policy) => definePolicy(policy));
  let together: Promise<void>[] = [];
  let last: { now: number; chosen: number } | undefined;
  for (const { call, now, cost, choice } of steps) {
    if (last !== undefined && now !== last.now) {
      await Promise.all(together);
      together = [];
    }
    clock.set(now);
    const chosen = choice % policies.length;
    const options = policies[chosen] as PolicyOptions;
    const policy = defined[chosen] as Policy;
    last = tally.step(now, chosen, last);
    if (call === "reset") {
      together.push(store.reset(policy, key));
      // Forgets the limits of every version.
      for (const each of defined) core.reset(each, key);
      for (const each of policies) model.reset(each);
    } else if (call === "refund") {
      together.push(store.refund(policy, key, cost));
      core.refund(policy, key, cost);
      model.refund(options, cost, now);
    } else if (call === "debit") {
      together.push(store.debit(policy, key, cost));
      core.debit(policy, key, cost);
      model.debit(options, cost, now);
    } else {
      const ofModel = model[call](options, cost, now);
      if (!isDeepStrictEqual(core[call](policy, key, cost), ofModel)) throw new Error("The core and the model differ: see test/core");
      together.push(store[call](policy, key, cost).then((decision) => check(decision, ofModel)));
      if (!ofModel.allowed) tally.denials += 1;
    }
  }
  await Promise.all(together);
}

function check(decision: Decision, wanted: Decision): void {
  if (!isDeepStrictEqual(decision, wanted)) expect(decision).toStrictEqual(wanted);
}

describeWith("redis", "L8 · one arithmetic, in Lua", () => {
  let client: Redis;
  // In turns, for they read numbers differently.
  let clients: readonly [RedisClient, RedisClient];
  beforeAll(async () => {
    client = new Redis(redisUrl());
    const node = await createClient({ url: redisUrl() }).connect();
    clients = [client, node];
    return () => node.destroy();
  });
  afterAll(async () => {
    await removeKeys(client, prefix);
    client.disconnect();
  });

  test(`L8, L14 · every answer of ${STEPS} steps is the model's and the core's, whatever the limits, their changes, the clock and the cost`, async () => {
    await playInLanes(LANES, STEPS, tally, (run) => play(run, clients[keys % 2] as RedisClient));
    tally.tell("Redis");
  }, 180_000);
});
