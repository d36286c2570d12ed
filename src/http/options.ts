import type { Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { Key, KeyPart } from "../core/key.js";
import type { Policy, PolicyOptions } from "../core/policy.js";
import type { Store } from "../core/store.js";
import type { Limiter } from "../limiter/limiter.js";
import type { LimiterOptions } from "../limiter/options.js";
import type { HeaderStyle } from "./headers/fields.js";
import type { Problem } from "./refusal/problem.js";

/**
 * A key that may turn out to be missing: a caller with a missing or empty part is unidentified. A part may be a header
 * field as Node gives it, whose several values count as one text.
 */
export type MaybeKey = Key | null | undefined | readonly (KeyPart | readonly string[] | null | undefined)[];

/** How a request ended, as far as the server can tell. */
export interface Outcome {
  /** The status that was sent, or would have been. */
  readonly status: number;
  /** True when the client went away before the answer was complete. */
  readonly aborted: boolean;
}

/** What every adapter takes; `Request` is the framework's own request type. */
export type GateOptions<Request> = SharedOptions<Request> & (OwnLimiter<Request> | GivenLimiter<Request>);

type Behaviour = Omit<LimiterOptions<Store>, "policy" | "store" | "clock">;

/** The limits are given, and the gate makes a limiter of them. */
export interface OwnLimiter<Request> extends Behaviour {
  /** The limits that each caller must satisfy, or a function that picks them for a request (from `definePolicy`). */
  readonly policy: PolicyOptions | Policy | ((request: Request) => Policy | Promise<Policy>);
  /** Where the buckets live. Default: a memory store of the gate's own. */
  readonly store?: Store | undefined;
  /** The clock of the default store. */
  readonly clock?: Clock | undefined;
  readonly limiter?: never;
}

/** A limiter is given, for use outside of HTTP too. */
export interface GivenLimiter<Request> extends Without<"store" | "clock" | keyof Behaviour> {
  /** Decides under its own policy, unless `policy` picks another. */
  readonly limiter: Limiter;
  /** Picks the limits for a request. */
  readonly policy?: (request: Request) => Policy | Promise<Policy>;
}

type Without<Names extends string> = { readonly [Name in Names]?: never };

/** The options that do not depend on where the limits come from. */
export interface SharedOptions<Request> {
  /**
   * Who is calling: an authenticated user or a device, never by default an IP address. May answer later.
   * See `unidentified` for what happens without one.
   */
  readonly key: (request: Request) => MaybeKey | Promise<MaybeKey>;
  /** Whole tokens that a request takes. Default 1. A fixed cost above the capacity is refused when the gate is made; a computed one is answered with 400. */
  readonly cost?: number | ((request: Request) => number | Promise<number>);
  /** True for requests that are not limited at all: no tokens, no header fields. CORS preflights never are. */
  readonly skip?: (request: Request) => boolean | Promise<boolean>;
  /** The header fields of every limited response. Default `["triple", "draft-11"]`; `[]` for none. `Retry-After` is sent regardless. */
  readonly headers?: readonly HeaderStyle[];
  /** The form of `Retry-After`. Default `"seconds"`, which every client reads; `"http-date"` needs clocks that agree. */
  readonly retryAfter?: "seconds" | "http-date";
  /**
   * Changes the body of a refusal. Gets the problem document that would be sent, and returns the object to send. The
   * decision is null for a caller without a key.
   */
  readonly body?: (problem: Problem, decision: Decision | null, request: Request) => object;
  /** Sees every decision, before it is answered. What it throws fails the request. */
  readonly onDecision?: (decision: Decision, request: Request) => void;
  /**
   * What becomes of a request without a key: `"share"` (default) one bucket with all others like it, `"refuse"` it with
   * 401, or `"skip"` the limit.
   */
  readonly unidentified?: "share" | "refuse" | "skip";
  /**
   * True to give the tokens back once the outcome is known, such as for a login that succeeded. Asked once for each
   * allowed request, also when the client went away. What it throws counts as false.
   */
  readonly refundWhen?: (outcome: Outcome, request: Request) => boolean;
  /**
   * Bytes that stand for the caller's bucket in the draft-11 `RateLimit` field (`pk`). Off by default. Use a keyed hash:
   * an unkeyed one of a user's id can be guessed.
   */
  readonly partitionKey?: (key: Key) => Uint8Array;
  /** The wall clock for fields that tell an instant. Default `Date.now`. */
  readonly wallClock?: () => number;
}
