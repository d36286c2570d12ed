/** Outages for the live page: a memory store and a database's pool that can be made unavailable. FOR THE DEMO ONLY. */
import { MemoryStore } from "sluice";
import { guard, STORE_VERBS, type StoreAnswer, type StoreCall, type SyncStore } from "sluice/store";

const CUT = "The live page made the store unavailable.";

/** A memory store that fails while `isOut` is true, as a store over a network would. A guard decides in its place. */
export class RemovableMemoryStore implements SyncStore {
  readonly sync = true;
  readonly guard = guard({});
  readonly #memory = new MemoryStore({ clock: Date.now }); // a quota counts by the calendar
  readonly clock = this.#memory.clock;
  readonly kinds = this.#memory.kinds;
  readonly verbs = STORE_VERBS;
  isOut = false;

  ask(call: StoreCall): readonly StoreAnswer[] {
    if (this.isOut) throw new Error(CUT);
    return this.#memory.ask(call);
  }
}

/** Statements of `query`, each of which fails while `isOut` is true. */
export class RemovablePool<Args extends unknown[], Rows> {
  readonly #query: (...statement: Args) => Promise<Rows>;
  isOut = false;

  constructor(query: (...statement: Args) => Promise<Rows>) {
    this.#query = query;
  }

  /** Runs a statement. */
  query(...statement: Args): Promise<Rows> {
    return this.isOut ? Promise.reject(new Error(CUT)) : this.#query(...statement);
  }
}
