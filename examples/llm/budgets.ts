/** The budgets of a gateway: requests and tokens per minute, of each user and each team, for each model. */
import { combine, createLimiter, definePolicy, perMinute, type LimitOptions, type LimiterOptions, type Policy, type Store } from "sluice";

/** The user and team that pay, as your authentication verified them. */
export interface Caller {
  readonly user: string;
  readonly team: string;
}

/** The two limits of one user or team. */
export interface Limits {
  readonly requests: LimitOptions;
  readonly tokens: LimitOptions;
}

/** The budgets of one model: for each user, and for all users of a team together. */
export interface ModelLimits {
  readonly user: Limits;
  readonly team: Limits;
}

/** The requests and tokens per minute. A caller that was idle for a minute has all of them at once. */
export const minute = (requests: number, tokens: number): Limits => ({
  requests: { capacity: requests, refill: perMinute(requests) },
  tokens: { capacity: tokens, refill: perMinute(tokens), unit: "tokens" },
});

/** A small model with a large budget, and a large model with a small one. Put your provider's numbers here. */
export const MODELS: Readonly<Record<string, ModelLimits>> = {
  small: { user: minute(60, 30_000), team: minute(200, 100_000) },
  large: { user: minute(10, 10_000), team: minute(30, 40_000) },
};

/** Makes the budgets of one model. Over a store that processes share, they share the budgets. */
export function createBudget(model: string, limits: ModelLimits, store: Store, failure: Pick<LimiterOptions, "onStoreError"> = {}) {
  const user = createLimiter({ policy: policyOf(`user-${model}`, limits.user), store, ...failure });
  const team = createLimiter({ policy: policyOf(`team-${model}`, limits.team), store, ...failure });
  return combine({ user, team });
}

/** The limiter of one model: a user and a team together. */
export type Budget = ReturnType<typeof createBudget>;

/** The keys of a caller. */
export const keysOf = ({ user, team }: Caller) => ({ user: ["user", team, user], team: ["team", team] }) as const;

/** So many tokens, of the user and of the team. Each also pays for one request: a limit that is not named costs 1. */
export const costOf = (tokens: number) => ({ user: { tokens }, team: { tokens } });

const policyOf = (name: string, { requests, tokens }: Limits): Policy => definePolicy({ name, limits: [{ name: "requests", ...requests }, { name: "tokens", ...tokens }] });
