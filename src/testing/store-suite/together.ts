import type { Decision } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import type { Charge } from "../../core/records.js";
import type { SuiteCall } from "./states.js";
import type { Trial } from "./trial.js";

// A cluster takes every third key on its node, or every sixteenth under a tag.
const MOST_TRIES = 500;

/** A bucket by the names that the store gets. */
export interface NamedBucket {
  readonly policy: Policy;
  readonly key: string;
}

/**
 * Names that the stores take together, as many as `wanted` if they can. `together` may refuse the wanted keys. Then
 * others with a number at the end take their place.
 */
export async function takenTogether(trial: Trial, wanted: readonly NamedBucket[]): Promise<NamedBucket[]> {
  if (!(await trial.prepareTogether())) return [...wanted];
  const taken: Charge[] = [];
  for (const { policy, key } of wanted) {
    const names = [key, ...Array.from({ length: MOST_TRIES }, (_, i) => `${key} ${i}`)];
    const found = names.find((name) => trial.takesTogether([...taken, { policy, key: name, cost: 1 }]));
    if (found === undefined) break;
    taken.push({ policy, key: found, cost: 1 });
  }
  return taken.map(({ policy, key }) => ({ policy, key }));
}

/** The keys of {@link takenTogether}. Null if the stores cannot take that many together: then the case cannot run. */
export async function keysTogether(trial: Trial, wanted: readonly NamedBucket[]): Promise<string[] | null> {
  const taken = await takenTogether(trial, wanted);
  return taken.length === wanted.length ? taken.map(({ key }) => key) : null;
}

/** Checks that all charges were taken, or that none was and each decision is that of `peek`. */
export async function chargeAndCompare(trial: Trial, charges: readonly Charge[]): Promise<boolean> {
  const answers: readonly Decision[] = await trial.chargeTogether(charges);
  const all = answers.every(({ allowed }) => allowed);
  const method = all ? "consume" : "peek";
  trial.compare(
    charges.map(({ policy, key, cost }, i) => ({ call: { ...consumeCall(policy, key, cost), method }, answer: answers[i] })),
  );
  // After a refusal, each record still converts to the new numbers, as it does for a cost that can never fit.
  if (!all) for (const { policy, key } of charges) trial.oracle.assume(consumeCall(policy, key, policy.maxCost + 1), trial.now);
  return all;
}

/** A `consume` of one bucket. */
export function consumeCall(policy: Policy, key: string, tokens: SuiteCall["tokens"]): SuiteCall {
  return { method: "consume", policy, key, tokens };
}
