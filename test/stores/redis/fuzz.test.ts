// L8 and L14 on Redis: the same history in Lua, in the core and in the big-integer model, compared call by call in every field.
import { isDeepStrictEqual } from "node:util";
import { Redis } from "ioredis";
import { definePolicy, MemoryStore, type Decision, type Policy, type PolicyOptions } from "sluice";
import { createClient } from "redis";
import { RedisStore, type RedisClient } from "sluice/redis";
import { ManualClock } from "sluice/testing";
import { mapCosts } from "../../../src/core/cost.js";
import { simplest, type Costs } from "../../../src/core/limit.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { playInLanes, removeKeys } from "../../helpers/lanes.js";
import { Model } from "../../helpers/model.js";
import type { Run } from "../../helpers/runs.js";
import { describeWith, redisUrl } from "../../helpers/services.js";
import { Tally } from "../../helpers/tally.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const STEPS = 100_000;
const LANES = 48;
const LONGEST_BLOCK_MS = 2_147_483_646_999;
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
  let blocked = false;
  for (const { call, now: wanted, cost, choice } of steps) {
    // Once a key was blocked the clock steps back no more: what is over may be forgotten, and a step back would tell.
    const now = blocked ? Math.max(wanted, last?.now ?? wanted) : wanted;
    if (last !== undefined && now !== last.now) {
      await Promise.all(together);
      together = [];
    }
    clock.set(now);
    const chosen = choice % policies.length;
    const options = policies[chosen] as PolicyOptions;
    const policy = defined[chosen] as Policy;
    last = tally.step(now, chosen, last);
    const costs = costsOf(policy, cost, choice);
    if (call === "reset") {
      blocked = false;
      together.push(callsOf(store).reset(policy, key));
      // Forgets the limits of every version.
      for (const each of defined) callsOf(core).reset(each, key);
      for (const each of policies) model.reset(each);
    } else if (call === "refund" || call === "debit") {
      const changes = call === "debit" ? costs : mapCosts(policy, costs, (each) => 0 - each);
      const done = model.adjust(options, changes, now);
      if (callsOf(core).adjust(policy, key, changes) !== done) throw new Error("The core and the model differ: see test/core");
      together.push(callsOf(store).adjust(policy, key, changes).then((answer) => expect(answer).toBe(done)));
    } else if (call === "block") {
      blocked = true;
      const forMs = choice % 3 === 1 ? 0 : 1 + Math.min(cost * choice, LONGEST_BLOCK_MS);
      together.push(callsOf(store).block(policy, key, forMs));
      callsOf(core).block(policy, key, forMs);
      model.block(forMs, now);
    } else {
      const ofModel = model[call](options, costs, now);
      if (!isDeepStrictEqual(callsOf(core)[call](policy, key, costs), ofModel)) throw new Error("The core and the model differ: see test/core");
      together.push(callsOf(store)[call](policy, key, costs).then((decision) => check(decision, ofModel)));
      if (!ofModel.allowed) tally.denials += 1;
    }
  }
  await Promise.all(together);
}

/** Half of the time a cost of its own for each limit. */
function costsOf({ limits }: Policy, cost: number, choice: number): Costs {
  return simplest(limits.map(({ capacity }, place) => (choice % 2 === 0 || place === 0 ? cost : (cost * (place + choice)) % (capacity + 2))));
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
