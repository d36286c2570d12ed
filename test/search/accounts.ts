// The account that the laws L1 and L20 are checked against: what was taken, what was given back of it, and what a give-back
// may give at most. It reads what a record has spent, and uses none of the functions of src.
import type { Bucket, Limit, Policy } from "../../src/core/model.js";
import { at, plus, type Account, type Claim, type StoreState, type WorldFacts } from "./state.js";

/** Units that a record has spent at an instant. */
function spentUnits(record: Bucket | undefined, now: number): number {
  return record === undefined ? 0 : Math.max(0, record.spent - record.unitsPerMs * Math.max(0, now - record.at));
}

/** Tokens that the record of a limit has spent. */
export function spentTokens(records: ReadonlyMap<string, Bucket>, { name }: Limit, now: number): number {
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
 * Tokens that are spent now if exactly these were charged, in the fastest bucket that the rate allows: the most of all windows
 * that end now. A window begins with a moment. What was filled within it comes off.
 */
export function owed({ policies }: WorldFacts, i: number, moments: readonly number[], now: number, ...[charged, filled, debited]: readonly Account[]): number {
  const perMs = ratePerMs(policies, i);
  let [most, sum] = [0, 0];
  for (let from = moments.length - 1; from >= 0; from--) {
    sum += (charged?.get(from) ?? 0) + (debited?.get(from) ?? 0) - (filled?.get(from) ?? 0);
    most = Math.max(most, sum - perMs * (now - (moments[from] as number)));
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
    const spent = limits.map(({ name, unitsPerToken }) => Math.round(spentTokens(state.records, { name } as Limit, now) * unitsPerToken));
    const none = limits.map(() => 0);
    return [{ ...state, ledger: { ...state.ledger, charged } }, { version, at: now, places, spent, others: none }];
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
    let { charged, rounded, twice } = after.ledger;
    for (const [i, limit] of counted(policy)) {
      const [tokens, part] = [given[i] as number, 1 - 1 / limit.unitsPerToken];
      const most = isAgain ? 0 : Math.min(unused[i] as number, Math.ceil(leftOf(claim, i, limit, madeAt) - NEARLY), leftOf(claim, i, limit, now) + part);
      const law = limit.renews === undefined ? "L1" : "L20";
      if (tokens > most + NEARLY) return [after, `${law}: ${tokens} tokens of "${limit.name}" are given back, and at most ${most} may be`];
      const less = plus(charged[i] as Account, claim.places[i] as number, -tokens);
      if (limit.renews === undefined) {
        const tooMuch = tokens - (this.#spent(after, i, charged[i] as Account) - this.#spent(after, i, less));
        // What other numbers refilled faster, the process of an older version does not know.
        const faster = (ratePerMs(this.#facts.policies, i) - limit.unitsPerMs / limit.unitsPerToken) * (now - claim.at);
        const byRounding = Math.min(tooMuch, part + faster);
        if (tooMuch - byRounding > (claim.others[i] as number) + NEARLY) return [after, `L1: a give-back of ${tokens} tokens of "${limit.name}" gives ${tooMuch} too much`];
        rounded = rounded.with(i, (rounded[i] as number) + byRounding);
        twice = twice.with(i, (twice[i] as number) + tooMuch - byRounding);
      }
      charged = charged.with(i, less);
    }
    return [this.#overlapped({ ...after, ledger: { ...after.ledger, charged, rounded, twice } }, given), undefined];
  }

  #spent({ ledger }: StoreState, i: number, charged: Account): number {
    return owed(this.#facts, i, ledger.moments, ledger.moments.at(-1) as number, charged, ledger.filled[i] as Account, ledger.debited[i] as Account);
  }

  /** Enters a debit. */
  debited(before: StoreState, after: StoreState, now: number): StoreState {
    const debited = this.#moved(before, now, after, now);
    return { ...debited, ledger: { ...debited.ledger, isDebited: true } };
  }

  /** Enters a credit of one token. Returns the law that it breaks, if any. */
  credited(before: StoreState, after: StoreState, now: number): [StoreState, string | undefined] {
    const given = this.#given(before, after, now);
    const moved = this.#moved(before, now, after, now);
    const credited = { ...moved, ledger: { ...moved.ledger, isCredited: true } };
    return [this.#overlapped(credited, given), given.some((tokens) => tokens > 1 + NEARLY) ? `L1: a credit of 1 gives back ${given}` : undefined];
  }

  /** Enters a reset, a loss of data or a step of the clock: it gives back everything, and no work knows. */
  forgotten(before: StoreState, then: number, after: StoreState, now: number): StoreState {
    const all = this.#first.limits.map(({ refill }, i) => (refill === undefined ? 0 : Math.max(...this.#facts.policies.map(({ limits }) => (limits[i] as Limit).capacity))));
    const moved = this.#moved(before, then, after, now);
    const forgotten = { ...moved, ledger: { ...moved.ledger, forgotten: moved.ledger.forgotten + 1 } };
    return withClaims(forgotten, (claim) => ({ ...claim, others: all }));
  }

  /** Enters that time has passed. What was given too much is at most what is spent. */
  passed(state: StoreState): StoreState {
    const { ledger } = state;
    const moments = [...ledger.moments, this.#facts.instants[state.time] as number];
    let { rounded, twice } = ledger;
    for (const [i, { refill }] of counted(this.#first)) {
      if (refill === undefined) continue;
      const most = this.#spent({ ...state, ledger: { ...ledger, moments } }, i, ledger.charged[i] as Account);
      twice = twice.with(i, Math.min(twice[i] as number, most));
      rounded = rounded.with(i, Math.min(rounded[i] as number, most - (twice[i] as number)));
    }
    return { ...state, ledger: { ...ledger, moments, rounded, twice } };
  }

  // What tokens an event took from the buckets and put into them, by the records. After it a moment begins.
  #moved(before: StoreState, then: number, after: StoreState, now: number): StoreState {
    const { limits } = this.#first;
    const moved = this.#changes(before, then, after, now);
    const entered = (accounts: readonly Account[], sign: number): Account[] =>
      accounts.map((account, i) => plus(account, this.#placeOf(limits[i] as Limit, after, now), Math.max(0, sign * (moved[i] as number))));
    const { filled, debited, moments } = after.ledger;
    return { ...after, ledger: { ...after.ledger, filled: entered(filled, 1), debited: entered(debited, -1), moments: [...moments, moments.at(-1) as number] } };
  }

  /**
   * A text that is equal for ledgers that the laws cannot tell apart, and one for each claim. Of what was charged before all
   * claims, what is owed says everything.
   */
  namesOf({ ledger, works, net }: StoreState): readonly [ledger: string, nameOf: (claim: Claim | null | undefined) => string] {
    const { moments, charged, filled, debited } = ledger;
    const claims = [...works, ...net].map(({ claim }) => claim).filter((claim) => !!claim);
    const first = this.#first.limits.map((_, i) => Math.min(moments.length, ...claims.map(({ places }) => places[i] as number)));
    const parts = this.#first.limits.map((limit, i) => {
      const accounts = [charged[i], filled[i], debited[i]] as [Account, Account, Account];
      if (limit.refill === undefined) return accounts.map(accountText).join("/");
      const [old, begin] = [moments.slice(0, first[i]), moments[first[i] as number] ?? (moments.at(-1) as number)];
      const owing = [accounts, accounts.slice(0, 2)].map((these) => fraction(owed(this.#facts, i, old, begin, ...these)));
      const kept = [...moments.entries()].slice(first[i]).map(([place, at]) => [at, ...accounts.map((account) => fraction(account.get(place) ?? 0))]);
      return [begin, owing, kept].join(";");
    });
    const nameOf = (claim: Claim | null | undefined): string => {
      if (!claim) return "";
      const places = claim.places.map((place, i) => (this.#first.limits[i]?.refill === undefined ? place : place - (first[i] as number)));
      return [claim.version, claim.at, places, claim.spent, claim.others.map(fraction)].join(":");
    };
    return [[...parts, ledger.rounded.map(fraction), ledger.twice.map(fraction)].join("|"), nameOf];
  }

  // Give-backs overlap: each knows nothing of the others that come while its work is not over.
  #overlapped(state: StoreState, given: readonly number[]): StoreState {
    const mostOf = ({ refill, capacity }: Limit): number => (refill === undefined ? 0 : capacity);
    if (given.every((tokens) => tokens <= 0)) return state;
    return withClaims(state, (claim) => ({ ...claim, others: claim.others.map((tokens, i) => Math.min(mostOf(this.#first.limits[i] as Limit), tokens + (given[i] as number))) }));
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

const NEARLY = 1e-9;

// Tokens of a claim that have not refilled by themselves. All of them, where tokens do not refill evenly.
function leftOf({ spent, at: since }: Claim, i: number, { refill, unitsPerMs, unitsPerToken }: Limit, now: number): number {
  return refill === undefined ? Infinity : Math.max(0, (spent[i] as number) - unitsPerMs * Math.max(0, now - since)) / unitsPerToken;
}

function withClaims(state: StoreState, change: (claim: Claim) => Claim): StoreState {
  const changed = <Holder extends { readonly claim?: Claim | null }>(holder: Holder): Holder =>
    holder.claim ? { ...holder, claim: change(holder.claim) } : holder;
  return { ...state, works: state.works.map(changed), net: state.net.map(changed) };
}

const fraction = (tokens: number): number => Math.round(tokens * 1e9);
const accountText = (account: Account): string => [...account].filter(([, tokens]) => tokens !== 0).sort(([a], [b]) => a - b).join(";");
