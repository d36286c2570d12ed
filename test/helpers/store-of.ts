import type { Clock } from "../../src/core/clock.js";
import type { Decision } from "../../src/core/decision.js";
import type { Costs } from "../../src/core/limit.js";
import type { Move } from "../../src/core/model.js";
import type { Policy } from "../../src/core/policy.js";
import { STORE_VERBS, type Charge, type StoreAnswer, type StoreCall, type StoreVerb } from "../../src/core/records.js";
import type { AsyncStore, Guard, LimitKind, Store, SyncStore } from "../../src/port/store.js";

/** A store of a test, written as one function for each verb. Those that it lacks go to `ask`, if it has one. */
interface StoreParts {
  readonly sync: boolean;
  readonly clock: Clock | "server";
  readonly kinds?: readonly LimitKind[] | undefined;
  readonly guard?: Guard | undefined;
  readonly verbs?: readonly StoreVerb[] | undefined;
  readonly together?: Store["together"];
  ask?(call: StoreCall): unknown;
  consume?(policy: Policy, key: string, cost: Costs): unknown;
  peek?(policy: Policy, key: string, cost: Costs): unknown;
  adjust?(policy: Policy, key: string, changes: Costs, from?: StoreCall["from"]): unknown;
  renew?(policy: Policy, key: string, tokens: Costs, move: Move): unknown;
  block?(policy: Policy, key: string, forMs: number): unknown;
  reset?(policy: Policy, key: string): unknown;
  consumeTogether?(parts: readonly Charge[]): unknown;
  takesTogether?(parts: readonly Charge[]): boolean;
  recall?(policy: Policy, key: string, costs: Costs): Decision | null;
  close?(): Promise<void>;
}

type StoreFrom<P extends { readonly sync: boolean }> = P["sync"] extends true ? SyncStore : AsyncStore;

/** Makes a store whose `ask` calls the function of the verb. It has the verbs that it has functions for. */
export function storeOf<P extends StoreParts>(parts: P): StoreFrom<P> {
  const given: StoreParts = parts;
  const { sync, clock, kinds, guard, recall, close } = given;
  const asked = given.ask === undefined ? [] : (given.verbs ?? []);
  const store = {
    sync, clock, kinds, guard,
    verbs: STORE_VERBS.filter((verb) => typeof given[verb] === "function" || asked.includes(verb)),
    together: typeof given.together === "function" ? given.together : given.together === true || given.consumeTogether !== undefined,
    ask: (call: StoreCall) => (sync ? askParts(given, call) : Promise.resolve(askParts(given, call))),
    ...(recall && { recall: recall.bind(given) }),
    ...(close && { close: close.bind(given) }),
  };
  return store as unknown as StoreFrom<P>;
}

class VerbMethods {
  get verbs(): readonly StoreVerb[] {
    return STORE_VERBS.filter((verb) => typeof (this as unknown as StoreParts)[verb] === "function");
  }

  get together(): Store["together"] {
    const { consumeTogether, takesTogether } = this as unknown as StoreParts;
    return takesTogether?.bind(this as never) ?? consumeTogether !== undefined;
  }
}

/** The base of a test's asynchronous store that has a method for each verb. */
export class LaterVerbs extends VerbMethods {
  readonly sync = false;

  ask(call: StoreCall): Promise<readonly StoreAnswer[]> {
    return askParts(this as unknown as StoreParts, call) as Promise<readonly StoreAnswer[]>;
  }
}

/** The base of a test's synchronous store that has a method for each verb. */
export class NowVerbs extends VerbMethods {
  readonly sync = true;

  ask(call: StoreCall): readonly StoreAnswer[] {
    return askParts(this as unknown as StoreParts, call) as readonly StoreAnswer[];
  }
}

/** Calls the function of the verb, and returns its answer as the list that `ask` answers. */
export function askParts(parts: StoreParts, call: StoreCall): unknown {
  const { verb } = call;
  const many = verb === "consume" && call.parts.length > 1;
  if (many && parts.consumeTogether !== undefined) return parts.consumeTogether(call.parts);
  if (many || parts[verb] === undefined) return parts.ask?.(call);
  const answer = answerOf(parts, call);
  if (typeof (answer as PromiseLike<unknown> | undefined)?.then === "function") {
    return (answer as PromiseLike<StoreAnswer>).then((one) => [one]);
  }
  return [answer];
}

function answerOf(parts: StoreParts, { verb, parts: [{ policy, key, cost }], from, move }: StoreCall): unknown {
  if (verb === "adjust") return parts.adjust?.(policy, key, cost, from);
  if (verb === "renew") return parts.renew?.(policy, key, cost, move as Move);
  if (verb === "block") return parts.block?.(policy, key, cost as number);
  if (verb === "reset") return parts.reset?.(policy, key);
  return parts[verb]?.(policy, key, cost);
}
