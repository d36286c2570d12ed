import { memberOf } from "../../core/check.js";
import type { Decision } from "../../core/decision.js";
import { encodeKey, type Key } from "../../core/key.js";
import { builtin } from "../../platform.js";

/** Prints a decision about `key`. */
export type DecisionLog = (key: Key, decision: Decision) => void;

interface Debug {
  (message: string): void;
  readonly enabled: boolean;
}

interface Util {
  debuglog(section: string): Debug;
}

interface Crypto {
  createHash(name: "sha256"): { update(text: string): { digest(encoding: "hex"): string } };
}

/** Makes what prints each decision where `NODE_DEBUG` names `sluice`. Null everywhere else. */
export function createDecisionLog(): DecisionLog | null {
  const print = builtin<Util>("node:util")?.debuglog("sluice");
  const crypto = builtin<Crypto>("node:crypto");
  if (print?.enabled !== true || crypto === undefined) return null;
  return (key, decision) => {
    // A hash: a key names a person, and logs are kept.
    const hash = crypto.createHash("sha256").update(encodeKey(key)).digest("hex").slice(0, 12);
    const { policy, cost, remaining, capacity, degraded } = decision;
    const refusal = decision.allowed ? memberOf(decision, "shadow") : decision;
    const outcome = refusal === undefined ? "allowed" : `${decision.allowed ? "allowed in shadow, else " : ""}${refusal.reason}`;
    const without = degraded ? ", without the store" : "";
    print(
      `policy ${policy}, key ${hash}, cost ${cost}: ${outcome}, ${remaining} of ${capacity} left, wait ` +
      `${refusal?.retryAfterMs ?? 0} ms${without}`,
    );
  };
}
