import { processWide } from "../platform.js";
import { isQuiet, warnOnce } from "../warnings/warnings.js";

// An application with hand-written policies has fewer names.
const MANY_NAMES = 1_000;

/** Warns when a store gets its 1,000th policy name. Remembers at most 1,000 names. */
export function checkPolicyName(store: object, name: string): void {
  if (isQuiet("SLUICE_POLICY_NAMES")) return;
  const namesOf = processWide("names", () => new WeakMap<object, Set<string>>());
  const names = namesOf.get(store) ?? new Set<string>();
  namesOf.set(store, names.add(name));
  if (names.size < MANY_NAMES) return;
  namesOf.delete(store);
  warnOnce(
    "SLUICE_POLICY_NAMES",
    `One store has ${MANY_NAMES} policy names, such as "${name}": ` +
      `put the tenant into the key instead, as in ["tenant", id, "user", id], and keep one name for all policies of ` +
      `one purpose`,
  );
}
