import { gateChecks } from "#diagnostics";
import { expected } from "../core/check.js";

/**
 * The error when a framework calls what another adapter made. It is thrown under every condition, because such a
 * request would otherwise hang.
 */
export function misplaced(name: string, what: string, args: readonly unknown[]): TypeError {
  const cure = gateChecks ? gateChecks.cureForCall(args) : "";
  return new TypeError(expected(name, what, args[0]) + cure);
}
