// What is asked in one tick is put together in few statements, and the answers are those of one call after another.
import fc from "fast-check";
import { definePolicy, MemoryStore, perHour, type Charge, type Costs, type Decision, type Policy } from "sluice";
import { PostgresStore } from "sluice/postgres";
import { expect, test } from "vitest";
import { mapCosts } from "../../../src/core/cost.js";
import { costAt, simplest } from "../../../src/core/limit.js";
import { ownTable } from "../../helpers/postgres.js";
import { describeWith } from "../../helpers/services.js";
import { watched } from "./watched.js";
import { callsOf } from "../../../src/testing/store-calls.js";

const TABLE = "sluice_one_tick";
const policy = definePolicy({ name: "fifty", capacity: 50, refill: perHour(1) });
const narrow = definePolicy({ name: "narrow", limits: [{ name: "a", capacity: 7, refill: perHour(1) }, { name: "b", capacity: 9, refill: perHour(2) }] });

describeWith("postgres", "one tick on Postgres", () => {
  const own = ownTable(TABLE);

  const keys = fc.constantFrom("a", "b", "c");
  const cost = fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 60 }));
  const what = fc.oneof(
    { weight: 14, arbitrary: fc.constant("consume" as const) },
    { weight: 4, arbitrary: fc.constantFrom("peek" as const, "adjust", "reset", "together") },
    { weight: 1, arbitrary: fc.constant("block" as const) },
  );
  const asks = fc.record({ what, many: fc.boolean(), key: keys, cost, other: cost });

  type Ask = typeof asks extends fc.Arbitrary<infer A> ? A : never;

  test("L8, L10 · what is asked in one tick is decided as if it had been asked one after the other", async () => {
    const tally = { asks: 0, statements: 0, denials: 0 };
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(asks, { minLength: 10, maxLength: 60 }), { minLength: 1, maxLength: 4 }), fc.constantFrom(0, 1_000), async (ticks, denyCacheMs) => {
        const { client, statements } = watched(own.pool);
        const store = new PostgresStore(client, { table: TABLE, clock: own.clock.now, denyCacheMs });
        const core = new MemoryStore({ clock: own.clock.now });
        run += 1;
        for (const tick of ticks) {
          const answers = tick.map(async ({ what: asked, many, key: name, cost: tokens, other }) => {
            const [one, key] = [many ? narrow : policy, `${run} ${name}`];
            const [is, should] = both(asked, one, key, many ? simplest([tokens, other]) : tokens);
            for (const [i, expected] of should.entries()) {
              const decision = (await is)[i] as Decision;
              // Of several that are refused at one instant, one may be told what was left before others were granted.
              if (expected.allowed || asked !== "consume") expect(decision).toEqual(expected);
              else expect(decision).toMatchObject({ allowed: false, reason: expected.reason });
              if (!expected.allowed) tally.denials += 1;
            }
            await is;
          });
          await Promise.all(answers);
          own.clock.advance(tick.length % 3);
        }
        tally.asks += ticks.flat().length;
        tally.statements += statements.length;

        /** Asks the store and at once the core, which answers in the order of asking. */
        function both(asked: Ask["what"], one: Policy, key: string, costs: Costs): [Promise<readonly Decision[]>, readonly Decision[]] {
          // Of the last limit tokens are taken, of the other they are given back.
          const changes = mapCosts(one, costs, (tokens, i) => (i === 0 ? 0 - tokens : tokens));
          if (asked === "adjust") return [callsOf(store).adjust(one, key, changes).then(() => []), (callsOf(core).adjust(one, key, changes), [])];
          if (asked === "block") return [callsOf(store).block(one, key, costAt(costs, 0) % 3).then(() => []), (callsOf(core).block(one, key, costAt(costs, 0) % 3), [])];
          if (asked === "reset") return [callsOf(store).reset(one, key).then(() => []), (callsOf(core).reset(one, key), [])];
          if (asked !== "together") return [callsOf(store)[asked](one, key, costs).then((decision) => [decision]), [callsOf(core)[asked](one, key, costs)]];
          const [first, last] = [costAt(costs, 0), costAt(costs, 1)];
          const charges: Charge[] = [{ policy: narrow, key, cost: simplest([first % 5, last % 5]) }, { policy, key, cost: first }];
          if (first % 2 === 0) charges.reverse();
          const would = charges.map((charge) => callsOf(core).peek(charge.policy, charge.key, charge.cost));
          const all = would.every(({ allowed }) => allowed);
          return [callsOf(store).together(charges), all ? charges.map((charge) => callsOf(core).consume(charge.policy, charge.key, charge.cost)) : would];
        }
      }),
      { numRuns: 60 },
    );
    console.log(`Postgres, in one tick: ${tally.asks} asked by ${tally.statements} statements, ${tally.denials} refused`);
    expect(tally.denials).toBeGreaterThan(tally.asks / 20);
  });
});
