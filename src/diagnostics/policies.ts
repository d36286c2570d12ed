import { checkNames } from "../core/check.js";
import { isPolicy, POLICY_OPTIONS } from "../core/policy.js";
import { replacementOf } from "./foreign-options.js";

/** Throws a TypeError for an option of another library inside an inline policy. The message names the replacement. */
export function checkPolicyOptions(policy: unknown): void {
  if (typeof policy === "object" && policy !== null && !isPolicy(policy)) checkNames(policy, POLICY_OPTIONS, replacementOf);
}
