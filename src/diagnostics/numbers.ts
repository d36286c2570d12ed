import { expected, hasOwn, nameInCode } from "../core/check.js";
import type { Policy } from "../core/policy.js";

/** A member of a combination, which may be a combination itself. */
export interface NumberedMember {
  readonly name: string;
  /** How many limiters it is made of. */
  readonly size: number;
  readonly internals: { readonly members?: readonly NumberedMember[] };
}

/** The charge of a limiter, or of a bucket: the charges of some limiters, by their places. */
type ChargedLimits =
  | { readonly policy: Policy }
  | { readonly parts: readonly number[]; readonly own: ReadonlyArray<{ readonly policy: Policy }> };

/**
 * Throws a TypeError for one number under several limits, with what to write for all members. `charged` has the charge
 * of each limiter, or those of the buckets. `tokens` has an entry for each limiter. A limiter that the call leaves
 * alone has none.
 */
export function checkNumbers(
  members: readonly NumberedMember[], charged: ReadonlyArray<ChargedLimits | null>, tokens: readonly unknown[],
): void {
  const policies = tokens.map((): Policy | null => null);
  charged.forEach((each, i) => {
    if (each === null) return;
    if (hasOwn(each, "own")) each.parts.forEach((part, k) => (policies[part] = each.own[k]?.policy ?? null));
    else policies[i] = each.policy;
  });
  policies.forEach((policy, i) => {
    const given = tokens[i];
    if (policy === null || policy.limits.length === 1 || !(Number.isSafeInteger(given) && (given as number) > 0)) return;
    throw new TypeError(
      `${expected("cost", "an object with the names of limits", given)}. Policy "${policy.name}" has ` +
      `${policy.limits.length} limits: write cost: ${codeOfMembers(members, policies, tokens)}`,
    );
  });
}

/** `{ user: 5, model: { requests: 5, tokens: 5 } }`. Null if the call leaves all members alone. */
function codeOfMembers(
  members: readonly NumberedMember[], policies: ReadonlyArray<Policy | null>, tokens: readonly unknown[],
): string | null {
  let at = 0;
  const written = members.flatMap(({ name, size, internals }) => {
    const [from, to] = [at, (at += size)];
    const code = internals.members
      ? codeOfMembers(internals.members, policies.slice(from, to), tokens.slice(from, to))
      : codeOf(policies[from] ?? null, tokens[from]);
    return code === null ? [] : `${nameInCode(name)}: ${code}`;
  });
  return written.length > 0 ? `{ ${written.join(", ")} }` : null;
}

function codeOf(policy: Policy | null, tokens: unknown): string | null {
  if (policy === null || tokens === undefined) return null;
  if (typeof tokens !== "number") return "…";
  if (policy.limits.length === 1) return String(tokens);
  // Work in flight gives back all of its tokens when it is done, so it has no cost to name.
  const named = policy.limits.flatMap(({ name, kind }) => (kind.isInFlight ? [] : `${nameInCode(name)}: ${tokens}`));
  return named.length > 0 ? `{ ${named.join(", ")} }` : "0";
}
