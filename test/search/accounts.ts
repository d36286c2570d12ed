// The account that the laws L1 and L20 are checked against: what was taken, what was given back of it, and what a give-back
// may give at most. It reads what a record has spent, and uses none of the functions of src.
import type { Bucket, Limit, Policy } from "../../src/core/model.js";
import { at, plus, type Account, type Claim, type StoreState, type WorldFacts } from "./state.js";

/** Units that a record has spent at an instant. */
function spentUnits(record: Bucket | undefined, now: number): number {
  return record === undefined ? 0 : Math.max(0, record.spent - record.unitsPerMs * Math.max(0, now - record.at));
}

/** Whether tokens of a limit come back each so long after it was taken. */
export const isWindow = ({ returns }: Pick<Limit, "returns">): boolean => returns !== undefined && "afterMs" in returns;

/** Tokens that the record of a limit has spent. */
export function spentTokens(records: ReadonlyMap<string, Bucket>, { name, returns }: Limit, now: number): number {
  if (isWindow({ returns } as Limit)) {
    return [...records].reduce((sum, [each, { spent, at: date }]) => (each.startsWith(`^${name}.`) && date >= now ? sum + spent : sum), 0);
  }
  const record = records.get(name);
  return record === undefined ? 0 : spentUnits(record, now) / record.unitsPerToken;
}

/** The fastest refill of a limit in any version of a policy, in tokens per ms. */
const ratePerMs = (policies: readonly Policy[], i: number): number =>
  Math.max(...policies.map(({ limits }) => (limits[i] as Limit).unitsPerMs / (limits[i] as Limit).unitsPerToken));

/** The rates and quotas of a policy, with their places. */
export const counted = ({ limits }: Policy): Array<readonly [number, Limit]> =>
  [...limits.entries()].filter(([, { returns }]) => returns === undefined);

/**
 * The most that a window which ends now holds beyond what refills in it, what was filled from outside within it, and what
 * works from before it gave back since it began. A window begins with a moment.
 */
export function beyond({ policies }: WorldFacts, i: number, moments: readonly number[], now: number, ...[charged, filled, returned]: readonly Account[]): number {
  const perMs = ratePerMs(policies, i);
  let [most, sum] = [0, 0];
  for (let from = moments.length - 1; from >= 0; from--) {
    sum += (charged?.get(from) ?? 0) - (filled?.get(from) ?? 0);
    most = Math.max(most, sum - perMs * (now - (moments[from] as number)) - (returned?.get(from) ?? 0));
  }
  return most;
}

/** The accounts of a world: functions from state to state. `now` is the store's clock. */
export class Accounts {
  readonly #facts: WorldFacts;
  readonly #first: Policy;

  constructor(facts: WorldFacts) {
    this.#facts = facts;
    this.#first = facts.policies[0] as Policy;
  }

  /** Enters the tokens that a grant took, and returns what it may get back. */
  charged(state: StoreState, now: number, version: number): [StoreState, Claim] {
    const { limits } = this.#facts.policies[version] as Policy;
    const places = limits.map((limit) => this.#placeOf(limit, state, now));
    const charged = state.ledger.charged.map((account, i) => plus(account, places[i] as number, at(this.#facts.cost, i)));
    const spent = limits.map((limit) => Math.round(spentTokens(state.records, limit, now) * limit.unitsPerToken));
    return [{ ...state, ledger: { ...state.ledger, charged } }, { version, at: now, places, spent }];
  }

  /**
   * Enters what a settlement gave back: `after` is the state with its records. Returns the law that it breaks, if any. L1 and
   * L20 say that it gives back at most the tokens that have not come back by themselves, rounded up to whole ones when it is
   * made, and less than one too much when it comes. One for which `isAgain` is true gives nothing.
   */
  givenBack(before: StoreState, after: StoreState, now: number, call: GivenBack): [StoreState, string | undefined] {
    const { claim, unused, madeAt, isAgain = false } = call;
    const policy = this.#facts.policies[claim.version] as Policy;
    const given = this.#given(before, after, now);
    let { charged, returned } = after.ledger;
    for (const [i, limit] of counted(policy)) {
      const [tokens, part, place] = [given[i] as number, 1 - 1 / limit.unitsPerToken, claim.places[i] as number];
      const most = isAgain ? 0 : Math.min(unused[i] as number, Math.ceil(leftOf(claim, i, limit, madeAt) - NEARLY), leftOf(claim, i, limit, now) + part);
      const law = limit.renews === undefined ? "L1" : "L20";
      if (tokens > most + NEARLY) return [after, `${law}: ${tokens} tokens of "${limit.name}" are given back, and at most ${most} may be`];
      charged = charged.with(i, plus(charged[i] as Account, place, -tokens));
      if (limit.renews !== undefined) continue;
      // In each window that began after the charge, this work was under way when it began.
      for (let from = place + 1; from < after.ledger.moments.length; from++) returned = returned.with(i, plus(returned[i] as Account, from, tokens));
    }
    // L22: what is given back comes from the amount of the take, so it is at most what was not used, and no token of others.
    for (const [i, limit] of policy.limits.entries()) {
      if (!isWindow(limit)) continue;
      const [tokens, most] = [given[i] as number, isAgain ? 0 : (unused[i] as number)];
      if (tokens > most) return [after, `L22: ${tokens} tokens of "${limit.name}" are given back, and at most ${most} may be`];
      charged = charged.with(i, plus(charged[i] as Account, claim.places[i] as number, -tokens));
    }
    return [{ ...after, ledger: { ...after.ledger, charged, returned } }, undefined];
  }

  /** Enters a debit, which counts in no window. */
  debited(state: StoreState): StoreState {
    return { ...state, ledger: { ...state.ledger, isDebited: true } };
  }

  /** Enters a credit of one token. Returns the law that it breaks, if any. */
  credited(before: StoreState, after: StoreState, now: number): [StoreState, string | undefined] {
    const given = this.#given(before, after, now);
    const moved = this.#moved(before, now, after, now);
    const credited = { ...moved, ledger: { ...moved.ledger, isCredited: true } };
    return [credited, given.some((tokens) => tokens > 1 + NEARLY) ? `L1: a credit of 1 gives back ${given}` : undefined];
  }

  /** Enters a reset, a loss of data or a step of the clock: it gives back everything. */
  forgotten(before: StoreState, then: number, after: StoreState, now: number): StoreState {
    const moved = this.#moved(before, then, after, now);
    return { ...moved, ledger: { ...moved.ledger, forgotten: moved.ledger.forgotten + 1 } };
  }

  /** Enters that time has passed. */
  passed(state: StoreState): StoreState {
    const { ledger } = state;
    return { ...state, ledger: { ...ledger, moments: [...ledger.moments, this.#facts.instants[state.time] as number] } };
  }

  // What tokens an event put into the buckets, by the records. After it a moment begins.
  #moved(before: StoreState, then: number, after: StoreState, now: number): StoreState {
    const { limits } = this.#first;
    const moved = this.#changes(before, then, after, now);
    const { filled, moments } = after.ledger;
    const entered = filled.map((account, i) => plus(account, this.#placeOf(limits[i] as Limit, after, now), Math.max(0, moved[i] as number)));
    return { ...after, ledger: { ...after.ledger, filled: entered, moments: [...moments, moments.at(-1) as number] } };
  }

  /**
   * A text that is equal for ledgers that the laws cannot tell apart, and one for each claim. Of windows that began before all
   * claims, the one that holds most says everything.
   */
  namesOf({ ledger, works, net }: StoreState): readonly [ledger: string, nameOf: (claim: Claim | null | undefined) => string] {
    const { moments, charged, filled, returned } = ledger;
    const claims = [...works, ...net].map(({ claim }) => claim).filter((claim) => !!claim);
    const first = this.#first.limits.map((_, i) => Math.min(moments.length, ...claims.map(({ places }) => places[i] as number)));
    const parts = this.#first.limits.map((limit, i) => {
      const accounts = [charged[i], filled[i], returned[i]] as [Account, Account, Account];
      if (isWindow(limit)) return accounts.map((account) => accountText(inStretch(account, moments, limit))).join("/");
      if (limit.refill === undefined) return accounts.map(accountText).join("/");
      const [old, begin] = [moments.slice(0, first[i]), moments[first[i] as number] ?? (moments.at(-1) as number)];
      const kept = [...moments.entries()].slice(first[i]).map(([place, at]) => [at, ...accounts.map((account) => fraction(account.get(place) ?? 0))]);
      return [begin, fraction(beyond(this.#facts, i, old, begin, ...accounts)), kept].join(";");
    });
    const nameOf = (claim: Claim | null | undefined): string => {
      if (!claim) return "";
      const places = claim.places.map((place, i) => {
        const limit = this.#first.limits[i] as Limit;
        if (isWindow(limit)) return moments[place];
        return limit.refill === undefined ? place : place - (first[i] as number);
      });
      return [claim.version, claim.at, places, claim.spent].join(":");
    };
    return [parts.join("|"), nameOf];
  }

  // Other numbers may take a part of a unit, which is no give-back.
  #given(before: StoreState, after: StoreState, now: number): number[] {
    return this.#changes(before, now, after, now).map((tokens) => Math.max(0, tokens));
  }

  // Tokens that are there in addition.
  #changes({ records }: StoreState, then: number, after: StoreState, now: number): number[] {
    return this.#first.limits.map((limit) => spentTokens(records, limit, then) - spentTokens(after.records, limit, now));
  }

  // A quota counts by its periods, and a rate by moments.
  #placeOf({ kind, renews }: Limit, { ledger }: StoreState, now: number): number {
    return renews === undefined ? ledger.moments.length - 1 : kind.dateOf(now);
  }
}

/** A settlement that has come to the store. */
interface GivenBack {
  readonly claim: Claim;
  /** Tokens that were taken and not used. */
  readonly unused: readonly number[];
  readonly madeAt: number;
  readonly isAgain?: boolean;
}

/** The tokens of an account that the stretch of a window up to now contains, by their instants. */
export function inStretch(account: Account, moments: readonly number[], { fullMs }: Limit): Account {
  const now = moments.at(-1) as number;
  let found: Account = new Map();
  for (const [moment, tokens] of account) {
    const instant = moments[moment] as number;
    if (instant >= now - fullMs) found = plus(found, instant, tokens);
  }
  return found;
}

const NEARLY = 1e-9;

// Tokens of a claim that have not refilled by themselves. All of them, where tokens do not refill evenly.
function leftOf({ spent, at: since }: Claim, i: number, { refill, unitsPerMs, unitsPerToken }: Limit, now: number): number {
  return refill === undefined ? Infinity : Math.max(0, (spent[i] as number) - unitsPerMs * Math.max(0, now - since)) / unitsPerToken;
}

const fraction = (tokens: number): number => Math.round(tokens * 1e9);
const accountText = (account: Account): string => [...account].filter(([, tokens]) => tokens !== 0).sort(([a], [b]) => a - b).join(";");
