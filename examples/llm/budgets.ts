/** The budgets of a gateway, for each model: what one user may do, and what all users of a team may do together. */
import {
  combine, createLimiter, definePolicy, monthly, perMinute, whenDone, type LimitOptions, type LimiterOptions,
  type Policy, type Refill, type Renewal, type Returns, type Store,
} from "sluice";

/** The user and team that pay, as your authentication verified them. */
export interface Caller {
  readonly user: string;
  readonly team: string;
}

type RateOptions = Extract<LimitOptions, { readonly refill: Refill }>;

/** The limits per minute, of one user or of a team. */
export interface Minute {
  readonly requests: RateOptions;
  readonly tokens: RateOptions;
}

/** The four limits of one user. */
export interface UserLimits extends Minute {
  /** The tokens of a calendar month. */
  readonly month: Extract<LimitOptions, { readonly renews: Renewal }>;
  /** The answers under way at one instant. */
  readonly parallel: Extract<LimitOptions, { readonly returns: Returns }>;
}

/** The budgets of one model: for each user, and for all users of a team together. */
export interface ModelLimits {
  readonly user: UserLimits;
  readonly team: Minute;
}

/** The requests and tokens per minute. A caller that was idle for a minute has all of them at once. */
export const minute = (requests: number, tokens: number): Minute => ({
  requests: { refill: perMinute(requests) },
  tokens: { refill: perMinute(tokens), unit: "tokens" },
});

/** So many tokens in each calendar month (UTC), and so many answers under way at once. */
export const month = (tokens: number, parallel: number): Omit<UserLimits, keyof Minute> => ({
  month: { capacity: tokens, renews: monthly(), unit: "tokens" },
  parallel: { capacity: parallel, returns: whenDone() },
});

/** A small model with a large budget, and a large model with a small one. Put your provider's numbers here. */
export const MODELS: Readonly<Record<string, ModelLimits>> = {
  small: { user: { ...minute(60, 30_000), ...month(1_000_000, 4) }, team: minute(200, 100_000) },
  large: { user: { ...minute(10, 10_000), ...month(200_000, 2) }, team: minute(30, 40_000) },
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

/** So many tokens, of the minute and month of the user and of the team's minute. Limits that are not named here cost 1. */
export const costOf = (tokens: number) => ({ user: { tokens, month: tokens }, team: { tokens } });

/** The policy of a user or a team: each limit by its name. */
export const policyOf = (name: string, limits: Minute | UserLimits): Policy => {
  const named: readonly [string, LimitOptions][] = Object.entries(limits);
  return definePolicy({ name, limits: named.map(([limit, numbers]) => ({ name: limit, ...numbers })) });
};
