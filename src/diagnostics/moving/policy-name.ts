import { processWide } from "../../platform.js";

/** Stands for the name of the policy in the text of a replacement. */
export const NAME = "limit-1";

// A name beyond them may be one that is in use.
const MOST_POLICY_NAMES = 1_000;
const namesInUse = (): Set<string> => processWide("policyNames", () => new Set<string>());

/** Remembers the name of a policy that has a limiter. */
export function noteName(name: string): void {
  const names = namesInUse();
  if (names.size < MOST_POLICY_NAMES) names.add(name);
}

/**
 * A name for the replacement of `given`: its own if a policy may have it, or one that no policy has. So several
 * replacements can be pasted.
 */
export function newPolicyName(given: object): string {
  const { name } = given as { readonly name?: unknown };
  if (typeof name === "string" && /^[a-z\d][\w.-]{0,63}$/i.test(name)) return name;
  let n = 1;
  while (namesInUse().has(`limit-${n}`)) n++;
  noteName(`limit-${n}`);
  return `limit-${n}`;
}
