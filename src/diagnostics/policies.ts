import { checkNames } from "../core/check.js";
import { isPolicy, POLICY_OPTIONS } from "../core/policy.js";
import { replacementOf } from "./foreign-options.js";
import { checkForeign } from "./moving.js";

/** Throws a TypeError for an option of another library inside an inline policy. The message names the replacement. */
export function checkPolicyOptions(policy: unknown): void {
  if (typeof policy !== "object" || policy === null || isPolicy(policy)) return;
  checkForeign(policy, POLICY_OPTIONS);
  checkNames(policy, POLICY_OPTIONS, replacementOf);
}
