import { definePolicy, isPolicy, type Policy } from "../../core/policy.js";
import { importModule } from "../import-module.js";
import { Misuse } from "../misuse.js";

/**
 * The policies that a module exports, by the names of the exports: policies, their options, and limiters. Throws a
 * {@link Misuse} for a module without any.
 */
export async function policiesOfFile(file: string): Promise<ReadonlyMap<string, Policy>> {
  const found = new Map<string, Policy>();
  for (const [name, value] of await importModule(file)) {
    const policy = policyIn(value, name);
    if (policy !== null) found.set(name, policy);
  }
  if (found.size === 0)
    throw new Misuse(`Expected ${file} to export a policy, such as \`export const bulk = definePolicy({ ... })\`, got none`);
  return found;
}

function policyIn(value: unknown, name: string): Policy | null {
  const given = Object(value) as { readonly policy?: unknown; readonly capacity?: unknown; readonly limits?: unknown };
  if (isPolicy(value)) return value;
  if (isPolicy(given.policy)) return given.policy;
  if (typeof value !== "object" || (given.capacity === undefined && given.limits === undefined)) return null;
  try {
    return definePolicy({ name, ...(value as Parameters<typeof definePolicy>[0]) } as Parameters<typeof definePolicy>[0]);
  } catch (error) {
    throw new Misuse(`Export \`${name}\`: ${(error as Error).message}`);
  }
}
