// The nouns of the arithmetic: what a limit, a policy and a record are. Then read decision.ts and decide.ts.

/** The sustained rate: `tokens` refill every `everyMs` milliseconds, evenly and not in steps. */
export interface Refill {
  /** Whole tokens, at least 1. */
  readonly tokens: number;
  /** Whole milliseconds, at least 1. */
  readonly everyMs: number;
}

/** When a quota starts again. Made by `daily`, `weekly` or `monthly`. A copy, such as from JSON, lacks its calendar. */
export interface Renewal {
  readonly every: "day" | "week" | "month";
  /** The day of the week, or of the month. */
  readonly day?: string | number | undefined;
  /** The local time, such as `"06:00"`. */
  readonly at: string;
  /** The IANA time zone, such as `"Europe/Berlin"`. */
  readonly timeZone: string;
  /** Its calendar, as code. A copy lacks it. */
  readonly kindCode: KindCode;
}

/** When tokens in flight come back. Made by `whenDone`. A copy, such as from JSON, lacks its arithmetic. */
export interface Returns extends InFlightTimes {
  /** Its arithmetic, as code. A copy lacks it. */
  readonly kindCode: KindCode;
}

/** When the tokens of a window come back. Made by `afterMs`. A copy, such as from JSON, lacks its arithmetic. */
export interface ReturnsAfter extends Pick<Returns, "kindCode"> {
  /** Milliseconds after which each token comes back. */
  readonly afterMs: number;
}

/** The options of `whenDone`, with their defaults. */
export interface InFlightTimes {
  /** Milliseconds after which tokens come back by themselves, unless they are renewed. */
  readonly staleAfterMs: number;
  /** Milliseconds after which a refused caller may ask again. */
  readonly retryAfterMs: number;
  /** Milliseconds for which the tokens of one work are renewed at most. */
  readonly maxWorkMs: number;
}

/**
 * A checked limit, reduced to whole units so that no rate is ever rounded.
 *
 * A token is `unitsPerToken` units and every millisecond refills `unitsPerMs`: `refill` in lowest terms. A copy holds
 * what the user wrote: it lacks these and the other computed numbers.
 */
export type Limit = Rate | Quota | InFlight | SlidingWindow;

/** A checked rate. */
export interface Rate extends CheckedNumbers {
  /** The sustained rate, as the user wrote it. */
  readonly refill: Refill;
  readonly renews?: undefined;
  readonly returns?: undefined;
}

/** A checked quota: all of its units come back in the millisecond after a date. */
export interface Quota extends CheckedNumbers {
  /** When the quota starts again, as the user wrote it. */
  readonly renews: Renewal;
  readonly refill?: undefined;
  readonly returns?: undefined;
}

/** A checked limit in flight: its tokens come back one by one, at the latest at their dates. */
export interface InFlight extends CheckedNumbers {
  /** When the tokens come back, as the user wrote it. */
  readonly returns: Returns;
  readonly refill?: undefined;
  readonly renews?: undefined;
}

/** A checked window. */
export interface SlidingWindow extends CheckedNumbers {
  /** When each token comes back, as the user wrote it. */
  readonly returns: ReturnsAfter;
  readonly refill?: undefined;
  readonly renews?: undefined;
}

/** The numbers of a checked limit. */
interface CheckedNumbers {
  /** Unique within its policy. */
  readonly name: string;
  /** Whole tokens that the bucket can hold. */
  readonly capacity: number;
  /** Whole tokens that a request costs unless it says otherwise. */
  readonly cost: number;
  /** What the tokens count, as the user wrote it. Absent for requests. */
  readonly unit?: string;
  /** `p` of the arithmetic: units that refill each millisecond. 2^53 - 1 for a quota. */
  readonly unitsPerMs: number;
  /** `q` of the arithmetic: units in one token. 1 for a quota. */
  readonly unitsPerToken: number;
  /** `capacity * unitsPerToken`: the bucket's size in units, at most 2^53 - 1. */
  readonly size: number;
  /** Milliseconds from empty to full, rounded up. The longest period of a quota. 1 less than the length of a window. */
  readonly fullMs: number;
  /** The length of a quota's period without changes of the clock, in seconds: the longest one of months. */
  readonly windowSeconds?: number;
  /** @internal Limits of one name and numbers have the same dates and waits if this is equal. */
  readonly calendar?: string;
  /** @internal How its tokens come back. */
  readonly kind: Kind;
}

/** How the tokens of a limit come back. It is all that the arithmetic asks of a limit. */
export interface Kind {
  /** The instant from which tokens that are taken at `now` come back: evenly after it, or all of them. */
  dateOf(now: number): number;
  /** The instant from which given-back tokens would come: that of any amount if undefined, of none if null. */
  backTo(from: Instant): number | null | undefined;
  /** A refused caller is told to ask again after this long at most. */
  readonly retryAfterMs: number;
  /** Whether its tokens come back when work is done. */
  readonly isInFlight: boolean;
  /**
   * The arithmetic of records that keep their amounts apart, each with its date. Undefined for rates and quotas: all
   * amounts of a record join into one, which comes back from the latest of their instants.
   */
  readonly amounts: SeparateAmounts | undefined;
}

/** What the arithmetic does with a record whose amounts stay apart. */
export interface SeparateAmounts {
  /** Units that are still spent at `now`. */
  spentAt(bucket: Bucket, now: number): number;
  /** Brings the record to `now`. Then takes `units` with this date, or gives them back to it: to none if it is null. */
  changeUnits(bucket: Bucket, limit: Limit, now: number, units: number, date: number | null | undefined): void;
  /** Milliseconds from `now` until `units` have come back. */
  msUntil(bucket: Bucket, limit: Limit, now: number, units: number): number;
  /** Moves tokens in flight to a later date. Those that are not at the date of `from` stay where they are. */
  move?(bucket: Bucket, limit: Limit, now: number, tokens: number, move: Move): void;
  /** Reads the record of the limit, and writes it, among all records of a key. */
  read(records: ReadonlyMap<string, Bucket>, limit: Limit, bucket: Bucket): void;
  write(records: Map<string, Bucket>, limit: Limit, bucket: Bucket): void;
}

/**
 * What makes a limit a quota, a window or a limit in flight. It carries its own code: policies of rates load none of
 * it. Only `daily`, `weekly`, `monthly`, `afterMs` and `whenDone` make one, and its inside is for sluice alone.
 */
export interface KindCode {
  readonly field: "renews" | "returns";
  /** @internal Its name among the kinds of limits that a store keeps. */
  readonly of: "quota" | "in-flight" | "window";
  /** @internal */
  readonly kind: Kind;
  /** @internal The members that it adds to a limit. */
  readonly numbers: Required<Pick<CheckedNumbers, "calendar" | "fullMs" | "windowSeconds">>;
  /** @internal What other rooms do for limits with dates, and for works that hold tokens: see `port/kind-rules.ts`. */
  readonly dateRules: object;
  /** @internal */
  readonly holdRules?: object;
  /** @internal Where a store in memory keeps records with several amounts. */
  readonly table?: object;
}

/** When given-back tokens were taken: the instant of a decision, or an {@link Origin}. Undefined: unknown. */
export type Instant = number | Origin | undefined;

/** When tokens that are given back were taken. */
export interface Origin {
  /** The instant of the decision that took them. A quota gives them back to its period only. Absent: to any. */
  readonly at?: number | undefined;
  /** The instant at which tokens in flight were taken, or to which they were renewed last. */
  readonly heldAt?: number | undefined;
  /**
   * The instant until which a rate can take back everything: one for all limits, or a list with one for each. What has
   * refilled since then is taken off, so that a give-back that comes late gives back less (law L1). Absent: unknown.
   */
  readonly since?: number | readonly number[] | undefined;
  /** @internal Takes only what is there, to the last unit. */
  readonly withoutDebt?: true;
}

/** The instants of a renewal: tokens in flight of the date of `from` move to the date of `to`. */
export interface Move {
  readonly from: number;
  readonly to: number;
}

/**
 * A checked, frozen policy, made by {@link definePolicy}. It is plain data: {@link definePolicy} accepts a copy made by
 * `structuredClone`, JSON or RPC. A copy of a quota, of a window or of a limit in flight lacks its code: write
 * `renews: monthly(limit.renews)`, `returns: afterMs(limit.returns)` or `returns: whenDone(limit.returns)` first.
 */
export interface Policy {
  /** Unique among the policies of one store. */
  readonly name: string;
  /** One or more limits, in the order they were written. */
  readonly limits: readonly [Limit, ...Limit[]];
  /** The smallest capacity among the limits. A request that costs more can never succeed. */
  readonly maxCost: number;
  /** The default cost of a request: the `cost` of each limit. */
  readonly ownCosts: Costs;
  /** @internal What makes its first limit that is no rate. Undefined for a policy of rates alone. */
  readonly kindCode?: KindCode | undefined;
  /** @internal Its first limit in flight. Undefined for a policy without one. */
  readonly inFlight?: InFlight | undefined;
}

/**
 * A charge in tokens: one number for every limit of a policy, or one for each limit, in the policy's order. Always one
 * number for a policy of one limit.
 */
export type Costs = number | readonly number[];

/**
 * The record of one token bucket: the units that were spent and have not refilled yet.
 *
 * A full bucket, a bucket with nothing spent and a missing record are the same state (law L4). Amounts are whole units:
 * a token is `unitsPerToken` units and each millisecond refills `unitsPerMs`. The record keeps both numbers, because a
 * policy's numbers can change (law L14).
 */
export interface Bucket {
  /** Units spent and not refilled at `at`. */
  spent: number;
  /** The instant of `spent`, in whole milliseconds of the store's clock. */
  at: number;
  /** `p` of the limit that wrote the record. */
  unitsPerMs: number;
  /** `q` of the limit that wrote the record. */
  unitsPerToken: number;
  /**
   * The amounts that are kept apart, earliest first. Then `spent` sums up the tokens, and `at` is the last date. Limit
   * in flight: date, tokens, date, tokens and so on. Window: last date, tokens, first date, last date and so on.
   */
  dates?: number[] | undefined;
}
