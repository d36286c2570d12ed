import { processWide } from "../../platform.js";
import type { Store } from "../../port/store.js";

// Called when tokens of a bucket come back before their time. By store and bucket, because several limiters may share
// both.
type Listeners = Map<string, Set<() => void>>;

let ofAllCopies: WeakMap<Store, Listeners> | undefined;
const byStore = (): WeakMap<Store, Listeners> => (ofAllCopies ??= processWide("returned", () => new WeakMap<Store, Listeners>()));
const listenersOf = (store: Store): Listeners | undefined => byStore().get(store);

/** Calls `listener` whenever this process gives tokens of a bucket back. Returns a function that ends it. */
export function onReturned(store: Store, bucket: string, listener: () => void): () => void {
  const listeners = listenersOf(store) ?? new Map<string, Set<() => void>>();
  byStore().set(store, listeners);
  const ofBucket = listeners.get(bucket) ?? new Set();
  listeners.set(bucket, ofBucket.add(listener));
  return () => {
    ofBucket.delete(listener);
    if (ofBucket.size === 0 && listeners.get(bucket) === ofBucket) listeners.delete(bucket);
  };
}

/** Tells those who wait for the bucket that tokens may be there now. */
export function tellReturned(store: Store, bucket: string): void {
  // A copy, because a listener may end itself or begin again.
  const listeners = Array.from(listenersOf(store)?.get(bucket) ?? []);
  for (const listener of listeners) listener();
}
