import { encodeKey, type Key } from "../../core/key.js";
import { processWide } from "../../platform.js";
import type { Store } from "../../port/store.js";
import { isQuiet, warnOnce } from "../../warnings/warnings.js";

/** What counted a request under a policy's name. */
interface CountedApart {
  readonly store: object;
  readonly key: Key;
}

/**
 * Warns when two memory stores count a request for one key under one policy name: each gate has a store of its own, so
 * the second one limits nothing.
 */
export function checkTwoStores(store: Store, request: unknown, key: Key, policy: string): void {
  // Policies without a name have their own warning.
  if (!store.sync || store.guard !== undefined || policy === "default" || isQuiet("SLUICE_COUNTED_TWICE")) return;
  if (typeof request !== "object" || request === null) return;
  const all = processWide("apart", () => new WeakMap<object, Map<string, CountedApart>>());
  const byName = all.get(request) ?? new Map<string, CountedApart>();
  const other = byName.get(policy);
  all.set(request, byName.set(policy, { store, key }));
  if (other === undefined || other.store === store || encodeKey(other.key) !== encodeKey(key)) return;
  warnOnce(
    "SLUICE_COUNTED_TWICE",
    `A request was counted twice for one key under policy "${policy}", in two memory stores: two rate limits see it. ` +
    "Keep one of them, or give their policies different names",
  );
}
