import { isPolicy, type Policy } from "../core/policy.js";
import type { ModuleExports } from "./read-module.js";

/** A policy that a module exports. */
export interface ModulePolicy {
  /** Where it is: `interactive`, or `tiers.paid` for a member of an object. */
  readonly path: string;
  readonly policy: Policy;
}

/**
 * The policies of a module, and those in an object such as `tiers = { free, paid }`. That of a limiter is none of them.
 */
export function policiesOfModule(exports: ModuleExports): readonly ModulePolicy[] {
  return exports.flatMap(([path, value]) => {
    if (isPolicy(value)) return [{ path, policy: value }];
    const isLimiter = isPolicy((Object(value) as { readonly policy?: unknown }).policy);
    const isGroup = typeof value === "object" && value !== null && !Array.isArray(value) && !isLimiter;
    const members = isGroup ? Object.entries(value) : [];
    return members.flatMap(([name, policy]) => (isPolicy(policy) ? [{ path: `${path}.${name}`, policy }] : []));
  });
}
