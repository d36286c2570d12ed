import { definePolicy, isPolicy, type Policy, type PolicyOptions } from "../../core/policy.js";
import { Misuse, thrownText } from "../io.js";
import { readExport, type ModuleExports } from "./import-module.js";

/** A policy that a module exports. */
export interface ModulePolicy {
  /** Where it is: `interactive`, or `tiers.paid` for a member of an object. */
  readonly path: string;
  readonly policy: Policy;
  /** A policy, the policy of a limiter, or options from which this command made one. */
  readonly from: "policy" | "limiter" | "options";
}

/** The policies and limiters of a module, and those in an object such as `tiers = { free, paid }`. */
export function policiesOfModule(exports: ModuleExports): readonly ModulePolicy[] {
  return everyValue(exports)
    .map(({ path, value }) => readExport(path, () => definedAt(path, value)))
    .filter((each) => each !== null);
}

/** As {@link policiesOfModule}, and the options of policies, too. Throws a {@link Misuse} for wrong ones. */
export function policiesAndOptionsOfModule(exports: ModuleExports): readonly ModulePolicy[] {
  return everyValue(exports)
    .map(({ path, value }) => readExport(path, () => definedAt(path, value) ?? optionsAt(path, value)))
    .filter((each) => each !== null);
}

/** The exports, and the members of those that are objects and no policies, limiters or options themselves. */
function everyValue(exports: ModuleExports): readonly { readonly path: string; readonly value: unknown }[] {
  return exports.flatMap(([path, value]) => readExport(path, () => {
    const isGroup = typeof value === "object" && value !== null && !Array.isArray(value);
    const isOne = definedAt(path, value) !== null || isOptions(value);
    const members = isGroup && !isOne ? Object.entries(value) : [];
    return [{ path, value }, ...members.map(([name, own]) => ({ path: `${path}.${name}`, value: own }))];
  }));
}

function definedAt(path: string, value: unknown): ModulePolicy | null {
  if (isPolicy(value)) return { path, policy: value, from: "policy" };
  const { policy } = Object(value) as { readonly policy?: unknown };
  return isPolicy(policy) ? { path, policy, from: "limiter" } : null;
}

/** Whether `value` has the numbers of a policy. An object of policies, such as tiers, has none. */
function isOptions(value: unknown): boolean {
  return ["capacity", "refill", "limits"].some((member) => member in Object(value));
}

function optionsAt(path: string, value: unknown): ModulePolicy | null {
  if (typeof value !== "object" || !isOptions(value)) return null;
  const name = path.slice(path.lastIndexOf(".") + 1);
  try {
    return { path, policy: definePolicy({ name, ...value } as PolicyOptions), from: "options" };
  } catch (error) {
    throw new Misuse(`Export \`${path}\`: ${thrownText(error)}`);
  }
}
