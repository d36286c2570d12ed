// Stores that can take only some charges together and say so with `together`: a right one, and others with one mistake each.
import type { Charge, Decision } from "../../../src/index.js";
import { right, RightStore } from "./wrong-stores-base.js";
import type { WrongStore } from "./wrong-stores.js";

/** The node of a key, of three. */
const nodeOf = ({ policy, key }: Charge): number => Buffer.from(`${policy.name} ${key}`).reduce((sum, byte) => (31 * sum + byte) % 9_973, 7) % 3;
const isOnOneNode = (charges: readonly Charge[]): boolean => new Set(charges.map(nodeOf)).size < 2;
const ownNode = (charges: readonly Charge[]): Charge[] => charges.filter((charge) => nodeOf(charge) === nodeOf(charges[0] as Charge));

/** A right store over three nodes. It learns of them with its first call. */
export class NodeStore extends RightStore {
  hasNodes = false;

  override async reach(): Promise<void> {
    await super.reach();
    this.hasNodes = true;
  }

  takesTogether(charges: readonly Charge[]): boolean {
    return this.hasNodes && isOnOneNode(charges);
  }

  override async consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    if (!isOnOneNode(charges)) throw new Error("the keys are on several nodes");
    return super.consumeTogether(charges);
  }
}

/** Says yes to all charges, and takes those of one node. */
class TakesHalf extends NodeStore {
  override takesTogether(): boolean {
    return this.hasNodes;
  }

  override async consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    const mine = ownNode(charges);
    const taken = await right.consumeTogether.call(this, mine);
    return Promise.all(charges.map(async (charge) => taken[mine.indexOf(charge)] ?? right.peek.call(this, charge.policy, charge.key, charge.cost)));
  }
}

class TakesOneByOne extends NodeStore {
  override async consumeTogether(charges: readonly Charge[]): Promise<readonly Decision[]> {
    const decisions: Decision[] = [];
    for (const { policy, key, cost } of charges) decisions.push(await this.consume(policy, key, cost));
    return decisions;
  }
}

class SaysYesAndFails extends NodeStore {
  override takesTogether(): boolean {
    return this.hasNodes;
  }
}

class AnswersWithAPromise extends NodeStore {
  override takesTogether(charges: readonly Charge[]): never {
    return Promise.resolve(isOnOneNode(charges)) as never;
  }
}

class AnswersWithANumber extends NodeStore {
  override takesTogether(charges: readonly Charge[]): never {
    return Number(isOnOneNode(charges)) as never;
  }
}

class AnswersWithNothing extends NodeStore {
  override takesTogether(): never {
    return undefined as never;
  }
}

class TakesByAsking extends NodeStore {
  override takesTogether(charges: readonly Charge[]): boolean {
    for (const { policy, key } of charges) {
      const buckets = this.load(policy, key, this.now());
      this.decide(buckets, policy, 1, this.now());
      this.save(policy, key, buckets, this.now());
    }
    return super.takesTogether(charges);
  }
}

class NeverSaysYes extends NodeStore {
  override takesTogether(): boolean {
    return false;
  }
}

const TRULY = "together · as a function says truly";
const FALSE_YES = /Likely cause: `together` answers true for charges that one call cannot take\./;

export const wrongTogether: readonly WrongStore[] = [
  ["says yes to charges and takes half of them", TakesHalf, TRULY, {}, FALSE_YES],
  ["says yes to charges and takes them one by one", TakesOneByOne, TRULY, {}, FALSE_YES],
  ["says yes to charges and fails", SaysYesAndFails, TRULY, {}, /after `together` said true, got Error: the keys are on several nodes\n.*answers true for charges/],
  ["says with a promise which charges it takes", AnswersWithAPromise, TRULY, {}, /answer true or false, got a promise\nLikely cause: `together` answers later, or with another value\./],
  ["says with a number which charges it takes", AnswersWithANumber, TRULY, {}, /answer true or false, got [01]\nLikely cause: `together` answers later, or with another value\./],
  ["does not say which charges it takes", AnswersWithNothing, TRULY, {}, /answer true or false, got undefined\nLikely cause: `together` answers later, or with another value\./],
  ["takes tokens when it is asked", TakesByAsking, TRULY, {}, /Likely cause: `together` takes tokens, or writes\./],
  ["never says yes", NeverSaysYes, TRULY, {}, /got false for all\nLikely cause: `together` is wrong about charges that can be taken together\./],
  ["says yes and takes half, in random histories too", TakesHalf, "L6, L10, L14 · a consume of several parts takes all", {}, /Likely cause: The store charges one bucket before it has checked all of them/],
];
