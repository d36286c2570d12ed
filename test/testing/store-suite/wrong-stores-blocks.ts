// Stores that end a block wrongly, or mark the wrong decisions as refused by a block, each with one mistake.
import { BLOCK, BLOCK_LIMIT } from "../../../src/core/records.js";
import { fullBucket } from "../../../src/core/bucket.js";
import type { Decision } from "../../../src/core/decision.js";
import { adjust } from "../../../src/core/decide.js";
import { costAt, type Costs } from "../../../src/core/limit.js";
import type { Policy } from "../../../src/index.js";
import { nextTurn, right, RightStore, wrongStore } from "./wrong-stores-base.js";
import type { WrongStore } from "./wrong-stores.js";

const ENDS = "block · of two blocks";
const BESIDE = "block · refuses everything";
const OWN = "L8 · own clock";
const TOGETHER = "L10 · a consume of several parts is refused";
// At the instant at which it ends the block, and after a step back of the clock.
const ENDS_NOW = "block · of two blocks";
const MARKS = "block · a decision that a block refuses";

/** Ends a block in another way. */
const ending = (end: (store: RightStore, policy: Policy, key: string) => unknown): typeof RightStore =>
  wrongStore({
    async block(policy, key, forMs) {
      if (forMs > 0) await right.block.call(this, policy, key, forMs);
      else await end(this, policy, key);
    },
  });

/** Makes the block end in `leftMs`, counted from `ageMs` ago. */
const leaving = (leftMs: (blockMs: number) => number): typeof RightStore =>
  ending((store, policy, key) =>
    store.atomically(() => {
      const now = store.now();
      const spent = leftMs(store.blockMs(policy, key, now));
      if (spent > 0) store.put(policy, key, new Map([[BLOCK, { ...fullBucket(BLOCK_LIMIT), spent, at: now }]]), now);
      else store.row(policy, key)?.delete(BLOCK);
    }),
  );

/** Remembers refusals, and forgets them when `forgets` says so. */
class RemembersRefusals extends RightStore {
  readonly refusals = new Map<string, Decision>();

  override async consume(policy: Policy, key: string, costs: Costs): Promise<Decision> {
    const name = `${this.name(policy, key)} ${String(costs)}`;
    const known = this.refusals.get(name);
    if (known !== undefined && known.at === this.now()) return { ...known };
    const decision = await super.consume(policy, key, costs);
    if (decision.allowed) this.refusals.delete(name);
    else this.refusals.set(name, decision);
    return decision;
  }

  override async block(policy: Policy, key: string, forMs: number): Promise<void> {
    if (forMs > 0) this.refusals.clear();
    await super.block(policy, key, forMs);
  }
}

class EndsItsOwnBlocks extends RightStore {
  readonly made = new Set<string>();

  override async block(policy: Policy, key: string, forMs: number): Promise<void> {
    const name = this.name(policy, key);
    if (forMs === 0 && !this.made.has(name)) return;
    this.made.add(name);
    await super.block(policy, key, forMs);
  }
}

class RemembersBlocksInTogether extends RightStore {
  readonly blocked = new Map<string, Decision>();

  override async consumeTogether(charges: Parameters<RightStore["consumeTogether"]>[0]): Promise<readonly Decision[]> {
    const answers = await super.consumeTogether(charges.map((charge) => (this.blocked.has(this.name(charge.policy, charge.key)) ? { ...charge, cost: charge.policy.maxCost + 1 } : charge)));
    charges.forEach(({ policy, key }, i) => {
      const answer = answers[i] as Decision;
      if (!answer.allowed && answer.blocked) this.blocked.set(this.name(policy, key), answer);
    });
    return answers;
  }
}

/** Changes the refusals of a block. */
const refusing = (change: (decision: Decision, policy: Policy, costs: Costs) => Decision): typeof RightStore =>
  wrongStore({ refuse(buckets, policy, costs, now, blockMs) { return change(right.refuse.call(this, buckets, policy, costs, now, blockMs), policy, costs); } });

function unmarked(decision: Decision): Decision {
  const { blocked: _, ...others } = decision as Decision & { blocked?: true };
  return others as Decision;
}

const marked = (decision: Decision, blocked: unknown): Decision => ({ ...decision, blocked }) as Decision;

export const wrongEnds: readonly WrongStore[] = [
  ["ignores a block of 0 ms", ending(() => undefined), ENDS],
  ["leaves 1 ms of a block that is ended", leaving((ms) => Math.min(ms, 1)), ENDS_NOW],
  ["halves a block that is ended", leaving((ms) => Math.floor(ms / 2)), ENDS],
  ["resets the key to end a block", ending((store, policy, key) => right.reset.call(store, policy, key)), ENDS],
  ["converts the limits when it ends a block", ending((store, policy, key) => right.block.call(store, policy, key, 0).then(() => right.adjust.call(store, policy, key, 0))), ENDS],
  ["gives a token back when it ends a block", ending((store, policy, key) => store.atomically(() => {
      const now = store.now();
      const buckets = store.load(policy, key, now);
      adjust(buckets, policy, -1, now);
      store.row(policy, key)?.delete(BLOCK);
      store.save(policy, key, buckets, now);
    })), ENDS],
  ["keeps the record of an ended block, which a step back of the clock brings back", ending((store, policy, key) => store.atomically(() => {
      const now = store.now();
      const block = store.row(policy, key)?.get(BLOCK);
      if (block !== undefined) store.put(policy, key, new Map([[BLOCK, { ...block, spent: Math.max(0, now - block.at) }]]), now);
    })), ENDS_NOW],
  ["remembers a refusal although the block was ended", RemembersRefusals, ENDS_NOW],
  ["ends the blocks of its own process only", EndsItsOwnBlocks, ENDS],
  ["ends a block without waiting for a consume under way", wrongStore({
      consume(policy, key, costs) {
        return this.atomically(async () => {
          const before = new Map(this.row(policy, key));
          const now = this.now();
          const blockMs = this.blockMs(policy, key, now);
          const buckets = this.load(policy, key, now);
          await nextTurn();
          const decision = blockMs > 0 ? this.refuse(buckets, policy, costs, now, blockMs) : this.decide(buckets, policy, costs, now);
          if (before.size > 0) this.server.rows.set(this.name(policy, key), before); // the whole row, as it was read
          if (decision.allowed) this.save(policy, key, buckets, now);
          return decision;
        }) as Promise<Decision>;
      },
      async block(policy, key, forMs) {
        if (forMs > 0) return right.block.call(this, policy, key, forMs);
        await this.reach();
        this.row(policy, key)?.delete(BLOCK);
      },
    }), BESIDE],
  ["ignores a block of 0 ms on its own clock", ending((store, policy, key) => store.setup.clock && right.block.call(store, policy, key, 0)), OWN],
  ["resets the key to end a block on its own clock", ending((store, policy, key) => (store.setup.clock ? right.block.call(store, policy, key, 0) : right.reset.call(store, policy, key))), OWN],
  ["remembers a block in consumeTogether after it was ended", RemembersBlocksInTogether, TOGETHER],
];

export const wrongMarks: readonly WrongStore[] = [
  ["does not say that a block refused", refusing(unmarked), MARKS],
  ["does not say that a block refused a cost of 0", refusing((decision, _, costs) => (costAt(costs, 0) === 0 ? unmarked(decision) : decision)), MARKS],
  ["does not say that a block refused a cost above the capacity", refusing((decision) => (decision.reason === "cost_above_capacity" ? unmarked(decision) : decision)), MARKS],
  ["does not say that a block refused several limits", refusing((decision) => (decision.limits === null ? decision : unmarked(decision))), MARKS],
  ["says 1 in place of true", refusing((decision) => marked(decision, 1)), MARKS],
  ["does not say in a peek that a block refuses", wrongStore({ async peek(policy, key, costs) { return unmarked(await right.peek.call(this, policy, key, costs)); } }), MARKS],
  ["does not say in consumeTogether that a block refuses", wrongStore({ async consumeTogether(charges) { return (await right.consumeTogether.call(this, charges)).map(unmarked); } }), MARKS],
  ["says of every refusal that a block refused it", wrongStore({ decide(buckets, policy, costs, now) {
      const decision = right.decide.call(this, buckets, policy, costs, now);
      return decision.allowed ? decision : marked(decision, true);
    } }), MARKS],
  ["says `blocked: false` of all other decisions", wrongStore({ decide(buckets, policy, costs, now) { return marked(right.decide.call(this, buckets, policy, costs, now), false); } }), MARKS],
  ["says it of each limit as well", refusing((decision) => ({ ...decision, limits: decision.limits?.map((reading) => ({ ...reading, blocked: true })) ?? null })), MARKS],
];
