/**
 * A checked cost: one number for every limit of a policy, or one for each limit, in the policy's order. Always one
 * number for a policy of one limit.
 */
export type Costs = number | readonly number[];

/** What the limit at `position` of a policy costs. */
export function costAt(costs: Costs, position: number): number {
  return typeof costs === "number" ? costs : (costs[position] as number);
}

/** One number where all costs are equal, as {@link Costs} wants it. */
export function simplest(list: readonly number[]): Costs {
  return list.every((each) => each === list[0]) ? (list[0] as number) : list;
}

/** Whether two costs of one policy are the same. */
export function sameCosts(a: Costs, b: Costs): boolean {
  return a === b || (typeof a === "object" && typeof b === "object" && a.every((cost, i) => cost === b[i]));
}
