import type { Cost } from "../../core/cost.js";
import type { Decision } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import { isPolicy, type Policy } from "../../core/policy.js";
import { importModule } from "../import-module.js";
import { Misuse } from "../misuse.js";

/** The verbs of a limiter that a command calls. The limiter may be of another copy of the package. */
interface OperatedLimiter {
  readonly policy: Policy;
  peek(key: Key, asked: Asked): Decision | Promise<Decision>;
  debit(key: Key, tokens: Cost, choice?: { readonly policy: Policy }): unknown;
  credit(key: Key, tokens: Cost, choice?: { readonly policy: Policy }): unknown;
  block(key: Key, forMs: number, choice?: { readonly policy: Policy }): unknown;
  reset(key: Key, choice?: { readonly policy: Policy }): unknown;
}

interface Asked {
  readonly cost?: Cost;
  readonly policy?: Policy;
}

/** A limiter of the user's module, and the policy that was chosen instead of its own. */
export interface FoundLimiter {
  readonly limiter: OperatedLimiter;
  readonly tier: Policy | undefined;
}

/**
 * The limiter that a module exports under `name`, and its policy of the name `tier`. Throws a {@link Misuse} that says
 * which names there are.
 */
export async function findLimiter(file: string, name: string, tier: string | undefined): Promise<FoundLimiter> {
  const exports = await importModule(file);
  const limiters = exports.filter(([, value]) => isLimiter(value)).map(([each]) => each);
  const found = exports.find(([each]) => each === name)?.[1];
  if (!isLimiter(found)) {
    const none = "It exports none: write `export const user = createLimiter({ ... })`";
    const known = limiters.length === 0 ? none : `It exports ${limiters.join(", ")}`;
    throw new Misuse(`Expected ${file} to export a limiter \`${name}\`, got ${kindOf(found)}. ${known}`);
  }
  if (tier === undefined) return { limiter: found, tier: undefined };
  const policies = exports.flatMap(([exported, value]) => namedPolicies(exported, value));
  const policy = policies.find(([each]) => each === tier)?.[1];
  if (policy === undefined) {
    const names = [...new Set(policies.map(([each]) => each))].join(", ");
    const known = names === "" ? "It exports none" : `It exports ${names}`;
    throw new Misuse(`Expected --policy to name a policy that ${file} exports, got ${tier}. ${known}`);
  }
  return { limiter: found, tier: policy };
}

/**
 * The policies of an export: itself, or the members of an object of tiers. Each goes by its name in the module, and by
 * its own.
 */
function namedPolicies(exported: string, value: unknown): (readonly [name: string, policy: Policy])[] {
  if (isPolicy(value)) return [[exported, value], [value.name, value]];
  if (typeof value !== "object" || value === null || isLimiter(value)) return [];
  return Object.entries(value).flatMap(([name, own]) => (isPolicy(own) ? namedPolicies(name, own) : []));
}

function isLimiter(value: unknown): value is OperatedLimiter {
  const given = Object(value) as { readonly policy?: unknown; readonly peek?: unknown; readonly parts?: readonly unknown[] };
  return isPolicy(given.policy) && typeof given.peek === "function" && given.parts?.[0] === value;
}

function kindOf(value: unknown): string {
  const given = Object(value) as { readonly parts?: unknown; readonly peek?: unknown };
  if (Array.isArray(given.parts) && typeof given.peek === "function") return "a combination. Name one of its members";
  return value === undefined ? "nothing" : "something else";
}
