import { processWide } from "../../platform.js";
import { isQuiet, warnOnce } from "../../warnings/warnings.js";

/**
 * Warns when policies without a name, on two stores, limit one request: their header fields, problem documents and
 * metrics cannot be told apart.
 */
export function checkUnnamed(store: object, request: unknown, policy: string): void {
  if (policy !== "default" || typeof request !== "object" || request === null || isQuiet("SLUICE_UNNAMED_POLICIES")) return;
  const stores = processWide("unnamed", () => new WeakMap<object, object>());
  const other = stores.get(request);
  stores.set(request, store);
  if (other === undefined || other === store) return;
  warnOnce(
    "SLUICE_UNNAMED_POLICIES",
    'Two policies without a name limit one request, so both appear as "default" in its header fields: give each a `name`, such as "api" and "login"',
  );
}
