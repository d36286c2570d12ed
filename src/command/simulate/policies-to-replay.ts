import { makePolicy, type Policy } from "../../core/policy.js";
import { Misuse } from "../io.js";
import { readModule } from "../module/import-module.js";
import { policiesAndOptionsOfModule } from "../module/policies-of-module.js";

/** The policies of a module that a log can be replayed by. */
export interface PoliciesToReplay {
  /** `name` is empty for a policy that was written as an argument. */
  readonly replayed: ReadonlyArray<{ readonly name: string; readonly policy: Policy }>;
  /** The limits in flight, such as `reports: parallel`. */
  readonly leftOut: readonly string[];
}

/**
 * Reads the policies that a module exports. A log does not say when a request ended, so limits in flight would never
 * get a token back: they are left out. Throws a {@link Misuse} for a module without any policy.
 */
export async function policiesToReplay(file: string): Promise<PoliciesToReplay> {
  const found = await readModule(file, policiesAndOptionsOfModule);
  if (found.length === 0)
    throw new Misuse(`Expected ${file} to export a policy, such as \`export const bulk = definePolicy({ ... })\`, got none`);
  const leftOut: string[] = [];
  const replayed: { name: string; policy: Policy }[] = [];
  for (const policy of new Set(found.map((each) => each.policy))) {
    const name = found.filter((each) => each.policy === policy).map(({ path }) => path).join(", ");
    const [first, ...others] = policy.limits.filter((limit) => !limit.kind.isInFlight);
    const inFlight = policy.limits.filter((limit) => limit.kind.isInFlight).map((limit) => limit.name);
    if (inFlight.length > 0) leftOut.push(`${name}: ${inFlight.join(" and ")}`);
    if (first === undefined) continue;
    replayed.push({ name, policy: inFlight.length > 0 ? makePolicy(policy.name, [first, ...others]) : policy });
  }
  return { replayed, leftOut };
}
