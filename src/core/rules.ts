// Imports nothing: limits, buckets and policies refer to these types.
/** All tokens in one millisecond: `p` of a record whose tokens come back together, after its date. */
export const ALL_UNITS: number = Number.MAX_SAFE_INTEGER;

/** When a quota starts again. Made by `daily`, `weekly` or `monthly`. A copy, such as from JSON, lacks its calendar. */
export interface Renewal {
  readonly every: "day" | "week" | "month";
  /** The day of the week, or of the month. */
  readonly day?: string | number | undefined;
  /** The local time, such as `"06:00"`. */
  readonly at: string;
  /** The IANA time zone, such as `"Europe/Berlin"`. */
  readonly zone: string;
  /** @internal */
  readonly rule: QuotaRule;
}

/** When tokens in flight come back. Made by `whenDone`. A copy, such as from JSON, lacks its arithmetic. */
export interface Returns extends InFlightTimes {
  /** @internal */
  readonly rule: InFlightRule;
}

/** The members of a bucket that a rule reads and writes. */
interface DatedRecord {
  spent: number;
  at: number;
  unitsPerMs: number;
  unitsPerToken: number;
  dates?: readonly number[] | undefined;
}

/** The members of a policy that a rule reads. */
export interface DatedPolicy {
  readonly name: string;
  readonly limits: readonly DatedLimit[];
  readonly inFlight?: InFlightRule | undefined;
}

/** The members of a limit that a rule reads. */
export interface DatedLimit {
  readonly name: string;
  readonly size: number;
  readonly rule?: LimitRule | undefined;
}

/** The members of a decision that a rule reads. */
export interface HeldDecision {
  readonly allowed: boolean;
  readonly at: number;
  readonly cost: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly shadow?: object;
}

/** Tokens of each limit of a policy: one number for all, or a list. */
type TokensOfLimits = number | readonly number[];

/** The arithmetic of a limit that is not a rate: a value with its own code, which policies of rates do not load. */
export type LimitRule = QuotaRule | InFlightRule;

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
}

/** What quotas and limits in flight have in common: their tokens are dated, and come back after their date. */
interface DatedRule {
  /** `p` and `q` of the arithmetic: all tokens in one millisecond. */
  readonly tokens: number;
  readonly everyMs: number;
  /** The option of a limit that has the rule. */
  readonly field: "renews" | "returns";
  readonly kind: "quota" | "in-flight";
  /** The members that it adds to a limit. */
  readonly facts: RuleFacts;
  /** Milliseconds from `now` to the record's date, after `units` more are taken. */
  lagAt(record: DatedRecord, now: number, units: number): number;
  /** The part of `units` that a record takes. What was taken at `from` is given back to its own date only. */
  unitsFor(record: DatedRecord, now: number, units: number, from: number | undefined): number;
  /** The last millisecond of tokens that are taken at `now`. */
  dateOf(now: number): number;
  /**
   * The six numbers of one limit that a server needs to choose dates by its own clock: the date of the tokens that are
   * given back, or 0; `fullMs`, negative for a limit in flight; and four more: those of `datesNear`, or for a limit in
   * flight those that `in-flight/lua.ts` names.
   */
  numbersOf(part: DatedPart, position: number, now: number): readonly number[];
  /** Whether a server's clock that shows `now` is within a period of this process's, which shows `here`. */
  isNear(now: number, here: number): boolean;
  /** A rate in place of the limit in an outage. Undefined when the limit stays what it is. */
  evenly?(capacity: number): { capacity: number; unitsPerMs: number; unitsPerToken: number };
  /** Whether the store's clock must count from 1970, as `Date.now` does. */
  readonly needsDates: boolean;
  /** The part of the script for Redis. */
  readonly lua: string;
  /** What does the same for all rules of a policy. */
  readonly work: DatedWork;
}

/** What needs all limits of a policy. Policies of rates alone load none of it. */
export interface DatedWork {
  /** The tokens of a part of a request to Redis, and the numbers of its rules. `now` is empty for the server's. */
  tokensOf(what: string, part: DatedPart, now: string): TokensOfLimits;
  /** Six numbers for each limit of the parts: those of its rule, or zeros. */
  numbersOf(parts: readonly DatedPart[], now: number): readonly number[];
  /** What is wrong with this process's clock if a server's shows `now`. Undefined when it is right to a period. */
  clockFault(parts: readonly DatedPart[], now: number): string | undefined;
  /** The options of a MemoryStore that is made for the policy. */
  storeOptions(policy: DatedPolicy): { readonly clock: () => number } | undefined;
  /** Throws for a store that does not count the limits, for a bucket, and for limits in flight with other times. */
  checkStore(store: object, policy: DatedPolicy): void;
  /** The parts of the script for Redis, with those that the policy needs. */
  hooksWith(hooks: string, policy: DatedPolicy): string;
}

/** The arithmetic of a quota: `at` of a record is the last millisecond of its period, and all tokens then come back. */
export interface QuotaRule extends DatedRule {
  dateAfter(date: number, renewals: number): number; // at most 100 renewals after a date
  readonly field: "renews";
  readonly inFlight?: undefined;
  /** First millisecond of the period before that of `now`; last of that period, of the period of `now`, of the next. */
  datesNear(now: number): readonly number[];
}

/** The arithmetic of tokens in flight: a record has one date for each sixteenth of `staleAfterMs`. */
export interface InFlightRule extends DatedRule {
  readonly field: "returns";
  readonly inFlight: true;
  /** The tokens whose dates are not over at `now`. */
  spentAt(record: DatedRecord, now: number): number;
  /** Sets the waits of a decision on this limit alone, which took `units` more than the record shows. */
  setWaits(decision: HeldDecision, record: DatedRecord, limit: DatedLimit, units: number): void;
  /** Moves up to `tokens` to a later date. Those that are not at the date of `from` stay where they are. */
  renew(record: DatedRecord, now: number, tokens: number, move: Move): void;
  /** The milliseconds of `whenDone`. */
  readonly times: InFlightTimes;
  /** Renews the tokens of a decision until {@link stop}. Does nothing for a refusal. */
  keep(work: HeldWork): void;
  /** Ends the renewal of a decision's tokens. Returns when they were taken; undefined if nothing renewed them. */
  stop(decision: HeldDecision): Origin | Promise<Origin> | undefined;
  /** Calls `settle` in the background once `store` is available. Until then `settle` calls `later` again. */
  later(settle: (isInBackground: true) => unknown, store: object): void;
  /** Gives back the tokens in flight of a decision that came too late for its caller. */
  giveBackLate(work: Omit<HeldWork, "call">): void;
  /** Reads a record that {@link scatter} wrote. */
  gather(records: ReadonlyMap<string, DatedRecord>, limit: DatedLimit): DatedRecord;
  /** Writes a record as one plain record for each date, under names that no other limit has. */
  scatter(records: Map<string, DatedRecord>, name: string, record: DatedRecord): void;
  /** Where a memory store keeps such records. */
  makeTable(maxKeys: number): HeldTable;
}

/** Work that holds tokens in flight. */
export interface HeldWork {
  /** Where the tokens were taken: the limiter's store, or the one that decided in its place. */
  readonly store: HoldingStore;
  readonly policy: DatedPolicy;
  /** The encoded key. */
  readonly key: string;
  readonly decision: HeldDecision;
  /** Says whether its tokens may be renewed now, and hears that they have come back. */
  readonly life?: { isWanted(staleAfterMs: number): boolean; lapsed(): void } | undefined;
  /** Makes a call that the library makes by itself: see `inBackground` of the store's guard. */
  call<T>(send: () => T | Promise<T>): T | Promise<T>;
}

/** The methods of a store that keeps limits in flight. */
interface HoldingStore {
  adjust?(policy: DatedPolicy, key: string, changes: TokensOfLimits, from?: number | Origin): unknown;
  renew?(policy: DatedPolicy, key: string, tokens: TokensOfLimits, move: Move): unknown;
}

/** The instants of a renewal: tokens of the date of `from` move to the date of `to`. */
export interface Move {
  readonly from: number;
  readonly to: number;
}

/** The options of `whenDone`, with their defaults. */
export interface InFlightTimes {
  /** Milliseconds after which tokens come back by themselves, unless they are renewed. */
  readonly staleAfterMs: number;
  /** Milliseconds after which a refused caller may ask again. */
  readonly retryMs: number;
  /** Milliseconds for which the tokens of one work are renewed at most. */
  readonly longestMs: number;
}

/** Keeps the records of limits in flight, by the two halves of a fingerprint and the limit's name. */
export interface HeldTable {
  /** How many records are kept. */
  readonly size: number;
  /** Busy records that were removed because the table was full. */
  readonly evictedBusy: number;
  get(key: KeyHalves, stored: LimitOf, out: DatedRecord): void;
  put(key: KeyHalves, stored: LimitOf, record: DatedRecord, now: number): void;
  /** Forgets a record of a key, or with null those of all limits. */
  delete(key: KeyHalves, stored: LimitOf | null): void;
}

/** The fingerprint of a key. */
export interface KeyHalves {
  readonly high: number;
  readonly low: number;
}

/** A limit of a record. */
export interface LimitOf {
  readonly limit: DatedLimit;
}

/** The members that a rule adds to a limit. */
export interface RuleFacts {
  /** Limits of one name have the same dates if this is equal. */
  readonly calendar: string;
  /** The longest time until a date, in milliseconds. A record further ahead is impossible. */
  readonly fullMs: number;
  /** The length of a period without changes of the clock, in seconds: the longest one of months. */
  readonly windowSeconds: number;
}

/** A part of a request to a server. */
export interface DatedPart {
  readonly policy: DatedPolicy;
  readonly tokens: TokensOfLimits;
  /** When the tokens that are given back were taken. */
  readonly from?: number | Origin | undefined;
  /** Tokens in flight to move to the date of `to`. */
  readonly moved?: TokensOfLimits | undefined;
  readonly to?: number | undefined;
}

/** The instant at which tokens of `limit` were taken, for a record that gives them back. */
export function takenAt({ rule }: DatedLimit, from: number | Origin | undefined): number | undefined {
  return typeof from === "object" ? from[rule?.inFlight ? "heldAt" : "at"] : from;
}

/** The instant since which a limit that is a rate refills what is given back. */
export function sinceAt(from: number | Origin | undefined, position: number): number | undefined {
  const since = typeof from === "object" ? from.since : undefined;
  return typeof since === "object" ? since[position] : since;
}

/**
 * The six numbers of a rate, as {@link DatedRule} has them: the instant of {@link sinceAt}, 0, 1 if it is known,
 * three 0.
 */
export function rateNumbers({ from }: DatedPart, position: number): readonly number[] {
  const since = sinceAt(from, position);
  return since === undefined ? [0, 0, 0, 0, 0, 0] : [since, 0, 1, 0, 0, 0];
}
