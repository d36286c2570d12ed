/** What an operator may do to a caller, and what the page shows of one. */
import { SluiceError, type Decision, type Key, type PlainLimiter, type Policy } from "sluice";

/** A limiter of the service, and the policy that holds now for a caller if it changes at run time. */
export interface OperatedLimiter {
  readonly limiter: PlainLimiter;
  readonly policy?: (key: Key) => Policy;
}

/** An operator's wish, as the page sends it. */
export interface Order {
  readonly limiter: string;
  readonly key: Key;
  readonly verb: "credit" | "debit" | "block" | "reset";
  /** The limit whose tokens are given or taken. A policy with several limits needs it. */
  readonly limit?: string;
  readonly tokens?: number;
  readonly forMs?: number;
  readonly reason: string;
}

/** The fill level of one limit. */
interface Level {
  readonly limit: string;
  readonly remaining: number;
  readonly capacity: number;
  readonly resetMs: number;
  /** Tokens in flight are neither given nor taken: they return when their work ends. */
  readonly inFlight: boolean;
}

/** What is left to a caller, and what the next call would get. */
export interface CallerState {
  readonly levels: readonly Level[];
  readonly allowed: boolean;
  readonly blocked: boolean;
  readonly retryAfterMs: number;
}

/** A mistake in a request. Its message is for the operator. */
export class BadRequest extends Error {}

/** The store failed. `isSent` says whether it may have done what it was asked to do. */
export class StoreFailed extends Error {
  constructor(cause: unknown) {
    super("The store failed. Nothing was changed.", { cause });
  }

  get isSent(): boolean {
    return !(this.cause instanceof SluiceError && this.cause.code === "ERR_STORE_OPEN");
  }
}

const MOST_TOKENS = 1_000_000_000;
const LONGEST_BLOCK_MS = 366 * 86_400_000;

/** Reads an order that came as JSON. Throws a {@link BadRequest} that says what was expected. */
export function readOrder(given: unknown): Order {
  const { limiter, key, verb, limit, tokens, forMs, reason } = Object(given) as Partial<Record<keyof Order, unknown>>;
  expectThat(typeof limiter === "string", "the name of a limiter");
  expectThat(isKey(key), "a key: a text, or a list of texts and numbers");
  expectThat(verb === "credit" || verb === "debit" || verb === "block" || verb === "reset", "credit, debit, block or reset");
  expectThat(limit === undefined || typeof limit === "string", "the name of a limit");
  expectThat((verb !== "credit" && verb !== "debit") || isWhole(tokens, 1, MOST_TOKENS), `tokens from 1 to ${MOST_TOKENS}`);
  expectThat(verb !== "block" || isWhole(forMs, 0, LONGEST_BLOCK_MS), "a time from 0 to a year");
  expectThat(isReason(reason), "a reason of 3 to 200 characters");
  return given as Order;
}

/** Whether this is a reason that can stand in a record. */
export function isReason(value: unknown): value is string {
  return typeof value === "string" && value.trim().length >= 3 && value.length <= 200;
}

/** Whether this can be a key. */
export function isKey(value: unknown): value is Key {
  const isPart = (part: unknown): boolean => typeof part === "string" || typeof part === "number";
  return (typeof value === "string" && value !== "") || (Array.isArray(value) && value.length > 0 && value.length <= 16 && value.every(isPart));
}

function isWhole(value: unknown, least: number, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

export function expectThat(isRight: boolean, expected: string): asserts isRight {
  if (!isRight) throw new BadRequest(`Expected ${expected}`);
}

/** Does what an operator wants. Throws a {@link BadRequest} for a mistake and a {@link StoreFailed} for an outage. */
export async function act({ limiter, policy }: OperatedLimiter, { verb, key, limit, tokens = 0, forMs = 0 }: Order): Promise<void> {
  const now = policy?.(key) ?? limiter.policy;
  const choice = policy === undefined ? {} : { policy: now };
  const names = now.limits.flatMap(({ name, returns }) => (returns === undefined && name !== undefined ? [name] : []));
  const isOne = now.limits.length === 1;
  if (verb === "credit" || verb === "debit") expectThat(isOne || (limit !== undefined && names.includes(limit)), `one of the limits ${names.join(", ")}`);
  const cost = isOne || limit === undefined ? tokens : { [limit]: tokens };
  await failures(async () => {
    if (verb === "credit") await limiter.credit(key, { cost, ...choice });
    else if (verb === "debit") await limiter.debit(key, { cost, ...choice });
    else if (verb === "block") await limiter.block(key, forMs, choice);
    else await limiter.reset(key, choice);
  });
}

/** What is left to a caller. Takes nothing. */
export async function stateOf({ limiter, policy }: OperatedLimiter, key: Key): Promise<CallerState> {
  const decision: Decision = await failures(async () => limiter.peek(key, policy === undefined ? {} : { policy: policy(key) }));
  const { allowed, retryAfterMs } = decision;
  const levels = (decision.limits ?? [decision]).map(({ limit, remaining, capacity, resetMs, inFlight = false }) => ({ limit, remaining, capacity, resetMs, inFlight }));
  return { levels, allowed, blocked: !decision.allowed && decision.blocked === true, retryAfterMs };
}

/** The limiter's TypeErrors and RangeErrors are mistakes of the request. Other errors come from the store. */
async function failures<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof TypeError || error instanceof RangeError ? new BadRequest(error.message) : new StoreFailed(error);
  }
}
