import { vi, type Mock } from "vitest";
import type { StoreCall, StoreVerb } from "../../src/core/records.js";
import type { Store } from "../../src/port/store.js";
import { callsOf, type StoreCalls } from "../../src/testing/store-calls.js";
import { askParts } from "./store-of.js";

type Watched<S extends Store, V extends StoreVerb | "together"> = Mock<(...asked: Parameters<StoreCalls<S["sync"]>[V]>) => ReturnType<StoreCalls<S["sync"]>[V]>>;

/** Watches one verb of a store, or its calls of several parts, as `vi.spyOn` watches a method. */
export function spyOnVerb<S extends Store, V extends StoreVerb | "together">(store: S, verb: V): Watched<S, V> {
  const ask = store.ask as (call: StoreCall) => never;
  let asked: Store["ask"] = store.ask;
  const spy = vi.fn((...args: never[]) => (callsOf({ sync: store.sync, ask: asked } as unknown as Store)[verb] as (...args: never[]) => unknown)(...args));
  const watched = vi.spyOn(store, "ask" as never).mockImplementation(function (this: Store, call: StoreCall) {
    const isMany = call.verb === "consume" && call.parts.length > 1;
    if (verb === "together" ? !isMany : isMany || call.verb !== verb) return ask.call(this, call);
    asked = (one) => ask.call(this, one);
    const answers = askParts({ sync: this.sync, clock: this.clock, [verb === "together" ? "consumeTogether" : verb]: spy }, call);
    return this.sync ? answers : Promise.resolve(answers);
  } as never);
  spy.mockRestore = (() => watched.mockRestore()) as never;
  return spy as never;
}
