import { encodeKey, type Key } from "../../core/key.js";
import { processWide } from "../../platform.js";
import { isQuiet, warnOnce } from "../../warnings/warnings.js";

/**
 * Warns when policies without a name limit one request, on two stores or for two keys: their header fields, problem
 * documents and metrics cannot be told apart.
 */
export function checkUnnamed(store: object, request: unknown, key: Key, policy: string): void {
  if (policy !== "default" || typeof request !== "object" || request === null || isQuiet("SLUICE_UNNAMED_POLICIES")) return;
  const charges = processWide("unnamed", () => new WeakMap<object, { readonly store: object; readonly key: Key }>());
  const other = charges.get(request);
  charges.set(request, { store, key });
  // One key of one store is one limit that is charged twice, which has its own warning.
  if (other === undefined || (other.store === store && encodeKey(other.key) === encodeKey(key))) return;
  warnOnce(
    "SLUICE_UNNAMED_POLICIES",
    'Two policies without a name limit one request, so both appear as "default" in its header fields: give each a ' +
    '`name`, such as "api" and "login"',
  );
}
