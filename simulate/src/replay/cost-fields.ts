import type { Cost, Policy } from "sluice";
import { Misuse } from "../io.js";

/** Where a log has the costs of a request. */
export interface CostFields {
  /** The fields to read. */
  readonly fields: readonly string[];
  /** The position of the field for every limit that has none of its own. -1 without one. */
  readonly forAll: number;
  /** The positions of the fields of single limits, by the names of the limits. */
  readonly byLimit: ReadonlyMap<string, number>;
}

/** Reads `--cost bytes`, and `--cost tokens=usage.total_tokens` for the limits of this name. */
export function costFieldsOf(texts: readonly string[]): CostFields {
  const byLimit = new Map<string, number>();
  let forAll = -1;
  const fields = texts.map((text, position) => {
    const [, limit, field = text] = /^([\w.-]+)=(.+)$/.exec(text) ?? [];
    if (limit !== undefined) byLimit.set(limit, position);
    else if (forAll < 0) forAll = position;
    else throw new Misuse(`Expected one --cost for all limits, got two. For one limit write --cost tokens=${field}`);
    return field;
  });
  return { fields, forAll, byLimit };
}

/** Throws a {@link Misuse} for a name that no limit has. */
export function checkCostNames({ byLimit }: CostFields, policies: readonly Policy[]): void {
  const names = [...new Set(policies.flatMap(({ limits }) => limits.map(({ name }) => name)))];
  for (const name of byLimit.keys()) {
    if (!names.includes(name)) throw new Misuse(`Unknown limit ${name} in --cost. The limits are: ${names.join(", ") || "none"}`);
  }
}

/** Returns the cost of a request under a policy. A limit without a field costs what it says itself. */
export function costUnder({ limits }: Policy, { forAll, byLimit }: CostFields): (read: readonly number[]) => Cost | undefined {
  const positions = limits.map(({ name }) => byLimit.get(name) ?? forAll);
  const [first = -1] = positions;
  if (positions.every((position) => position < 0)) return () => undefined;
  if (positions.every((position) => position === first)) return (read) => read[first] as number;
  return (read) => Object.fromEntries(limits.map(({ name, cost }, i) => [name, read[positions[i] as number] ?? cost]));
}
