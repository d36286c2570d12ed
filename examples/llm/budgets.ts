/** The budgets of a gateway: requests and tokens per minute, of each user and each team, for each model. */
import { combine, createLimiter, createReservations, definePolicy, perMinute, type CombinedDecision, type Cost, type LimitOptions, type LimiterOptions, type Policy, type Reservation, type Store } from "sluice";

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
  tokens: { capacity: tokens, refill: perMinute(tokens) },
});

/** A small model with a large budget, and a large model with a small one. Put your provider's numbers here. */
export const MODELS: Readonly<Record<string, ModelLimits>> = {
  small: { user: minute(60, 30_000), team: minute(200, 100_000) },
  large: { user: minute(10, 10_000), team: minute(30, 40_000) },
};

/** A reservation of a user and a team together. */
export type ChatReservation = Reservation<Store, readonly [user: Cost, team: Cost], CombinedDecision>;

/** The longest time of an answer. After it, an unsettled reservation stays taken. */
export const LONGEST_ANSWER_MS = 120_000;

/** Makes the budgets of one model. Over a store that processes share, they share the budgets. */
export function createBudget(model: string, limits: ModelLimits, store: Store, failure: Pick<LimiterOptions, "storeTimeoutMs" | "onStoreError"> = {}) {
  const policies = [policyOf(`user-${model}`, limits.user), policyOf(`team-${model}`, limits.team)] as const;
  const user = createLimiter({ policy: policies[0], store, ...failure });
  const team = createLimiter({ policy: policies[1], store, ...failure });
  const reservations = createReservations(combine([user, team]), { expiresMs: LONGEST_ANSWER_MS });

  return {
    policies,
    /** Charges one request and `tokens` tokens to both the user and the team, or charges nothing. */
    async reserve(caller: Caller, tokens: number): Promise<ChatReservation> {
      const estimate = { cost: { tokens } }; // a limit that is not named costs 1: one request
      return reservations.reserve([["user", caller.team, caller.user], ["team", caller.team]], [estimate, estimate]);
    },
  };
}

/** Corrects the estimate of the user and of the team to the tokens that were used. */
export async function settle(reservation: ChatReservation, tokens: number): Promise<boolean> {
  return reservation.settle([{ tokens }, { tokens }]); // the request was made, so it stays charged
}

const policyOf = (name: string, { requests, tokens }: Limits): Policy => definePolicy({ name, limits: [{ name: "requests", ...requests }, { name: "tokens", ...tokens }] });
