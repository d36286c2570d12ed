import { checkNames } from "../core/check.js";
import { LIMIT_OPTIONS } from "../core/limit.js";
import { isPolicy } from "../core/policy.js";
import { replacementOf } from "./foreign-options.js";

/** Throws a TypeError for an option of another library inside an inline policy, with the text that replaces it. */
export function checkPolicyOptions(policy: unknown): void {
  if (typeof policy === "object" && policy !== null && !isPolicy(policy)) checkNames(policy, LIMIT_OPTIONS, replacementOf);
}
