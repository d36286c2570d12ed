// A world of one key in one store: works that take, renew and give back over a network that loses, delays and repeats.
// The store's steps and the network are modelled. All arithmetic is that of src.
import type { Bucket, Costs, Decision, Limit, Move, Policy } from "../../src/core/model.js";
import type { PolicyOptions } from "../../src/core/policy.js";
import type { Step, World } from "./explore.js";
import { changeLaw, stepLaw, stateLaw } from "./laws.js";
import type { Real } from "./real.js";
import { at, type Message, type StoreState, type Work, type WorldFacts } from "./state.js";

/** What can happen in a world beside calls, settlements and the passing of time. */
type Happening =
  | "renewals" | "crashes" | "lost calls" | "lost answers" | "calls sent again" | "late calls" | "settled twice"
  | "debits" | "credits" | "blocks" | "resets" | "new numbers" | "steps back" | "lost writes" | "restarts";

/** A small world. */
export interface StoreWorld {
  readonly name: string;
  /** The policy, and other versions of it. */
  policies(real: Real): readonly PolicyOptions[];
  /** What a call takes of each limit. Default: 1. */
  readonly cost?: Costs;
  /** What a work may turn out to have cost, in the limits that are no limits in flight. Default: 0 and `cost`. */
  readonly used?: readonly Costs[];
  readonly works: number;
  /** The instants of the world. */
  readonly instants: readonly number[];
  readonly happens: readonly Happening[];
  /** The most faults in one history: crashes, losses, delays, repeats, steps of the clock. Default: 2. */
  readonly faults?: number;
}

const NEW: Work = { phase: "new", decision: null, since: 0, renewals: 0, isDropped: false, wasFull: false };
const STEP_BACK_MS = 5_000;
const LESS_THAN_ONE = 1 - 1e-6;

/** Makes the {@link World} of a description. */
export function storeWorld(world: StoreWorld, real: Real): World<StoreState> {
  const { name, instants, happens, cost = 1, used = [0, cost], faults = 2 } = world;
  const policies = world.policies(real).map((options) => real.definePolicy(options));
  const [first] = policies as [Policy];
  const facts: WorldFacts = { real, policies, cost, instants };
  const inFlight = first.limits.findIndex(({ returns }) => returns !== undefined);
  const staleAfterMs = first.limits[inFlight]?.returns?.staleAfterMs ?? 0;
  const marks = new real.CallMarks("", false);
  marks.learn(0);
  const can = (what: Happening): boolean => happens.includes(what);
  const none = instants.map(() => first.limits.map(() => 0));
  const start: StoreState = {
    time: 0, behindMs: 0, records: new Map(), older: null, works: Array.from({ length: world.works }, () => NEW), net: [],
    faults: 0, version: 0, ledger: { charged: none, filled: none, held: [], credited: 0, isCredited: false, debited: 0, forgotten: 0 },
  };

  const clock = ({ time, behindMs }: StoreState): number => (instants[time] as number) - behindMs;
  const policyOf = ({ version }: { readonly version: number }): Policy => policies[version] as Policy;

  return { name, start, next, nameOf, broken: (state) => stateLaw(facts, state, clock(state)) };

  function* next(state: StoreState): Generator<Step<StoreState>> {
    const faulty = state.faults < faults;
    const fault = { ...state, faults: state.faults + 1 };
    if (state.time + 1 < instants.length) yield { event: `it is ${instants[state.time + 1]} ms`, state: { ...state, time: state.time + 1 } };
    for (const [i, work] of state.works.entries()) {
      if (work.phase === "new") {
        yield* answered(state, i, `work ${i} asks`);
        if (faulty && can("lost answers")) yield* unheard(fault, i, `work ${i} asks, and its answer is lost`);
        if (faulty && can("calls sent again")) {
          for (const { state: twice } of unheard(fault, i, "")) {
            yield* answered({ ...twice, works: state.works }, i, `work ${i} asks, its answer is lost, and the client sends the call again`);
          }
        }
        if (faulty && can("late calls")) {
          const gone = withWork(fault, i, { phase: "over" });
          yield { event: `the call of work ${i} is held up`, state: { ...gone, net: [...gone.net, { what: "call", work: i, version: state.version }] } };
        }
      }
      if (work.phase === "at work") yield* endings(state, fault, faulty, i);
    }
    for (const [place, message] of state.net.entries()) yield* arrivals({ ...state, net: state.net.filter((_, i) => i !== place) }, message);
    yield* operations(state);
    if (faulty) yield* mishaps(fault);
  }

  // The store decides, and the work hears of it.
  function* answered(state: StoreState, i: number, event: string): Generator<Step<StoreState>> {
    const [asked, decision] = charged(state, i);
    const broken = stepLaw(facts, { before: state.records, after: asked.records, policy: policyOf(state), decision, now: clock(state) });
    const since = instants[state.time] as number;
    const next = decision.allowed ? withWork(asked, i, { phase: "at work", decision, since }) : asked;
    yield { event: decision.allowed ? event : `${event}, and is refused`, state: next, broken };
  }

  function* unheard(state: StoreState, i: number, event: string): Generator<Step<StoreState>> {
    const [asked] = charged(state, i);
    const held = asked.ledger.held.map((token) => (token.work === i ? { ...token, work: -1 } : token));
    yield { event, state: withWork({ ...asked, ledger: { ...asked.ledger, held } }, i, { phase: "over" }) };
  }

  function charged(state: StoreState, i: number): [StoreState, Decision] {
    const records = new Map(state.records);
    const { decision, changed } = real.consumeRecords(records, policyOf(state), cost, clock(state));
    if (!changed) return [state, decision];
    const written = { ...state, records, older: state.records };
    if (!decision.allowed) return [written, decision];
    const { ledger } = state;
    const more = plus(ledger.charged, state.time, (limit) => at(cost, limit));
    const held = inFlight < 0 ? ledger.held : [...ledger.held, { work: i, until: clock(state) + staleAfterMs }];
    return [{ ...written, ledger: { ...ledger, charged: more, held } }, decision];
  }

  function* endings(state: StoreState, fault: StoreState, faulty: boolean, i: number): Generator<Step<StoreState>> {
    const settlements = used.map((costs) => settlementOf(state, i, costs));
    for (const [place, message] of settlements.entries()) {
      const event = `work ${i} settles ${JSON.stringify(used[place])}`;
      const over = withWork(state, i, { phase: "over" });
      yield { event, state: settled(over, message) };
      if (!faulty) continue;
      const late = withWork(fault, i, { phase: "over" });
      if (can("late calls")) yield { event: `${event}, and the call is held up`, state: { ...late, net: [...late.net, message] } };
      if (can("lost calls") && place === 0) yield { event: `${event}, and the call is lost`, state: late };
      // The store answers a second call with the same mark without a change.
      const isOnce = marks.markOf([{ what: "a", parts: [{ name: "key" }], once: true } as never]) !== undefined;
      if (can("calls sent again")) {
        const once = settled(late, message);
        yield { event: `${event}, and the client sends the call again`, state: isOnce ? once : stored(once, message) };
      }
    }
    const renewal = can("renewals") ? renewalOf(state, i) : null;
    if (renewal !== null) {
      yield* renewed(state, renewal, true, `work ${i} renews`);
      if (faulty && can("lost answers")) yield* renewed(fault, renewal, false, `work ${i} renews, and the answer is lost`);
      if (faulty && can("late calls") && !state.net.some(({ what, work }) => what === "renew" && work === i)) {
        yield { event: `the renewal of work ${i} is held up`, state: { ...fault, net: [...state.net, renewal] } };
      }
    }
    if (faulty && can("crashes")) yield { event: `the process of work ${i} ends`, state: withWork(fault, i, { phase: "over" }) };
  }

  function settlementOf(state: StoreState, i: number, costs: Costs): Message {
    const { decision, renewals, wasFull } = state.works[i] as Work & { decision: Decision };
    const policy = policyOf(state);
    const spent = first.limits.map((_, place) => (place === inFlight ? 0 : at(costs, place)));
    const simple = spent.length === 1 ? (spent[0] as number) : spent;
    const changes = real.correction(decision, policy, cost, simple, clock(state) - decision.at);
    const heldAt = decision.at + (inFlight < 0 ? 0 : real.msAfter(renewals, first.limits[inFlight]?.returns as never));
    const origin = { at: decision.at, heldAt, since: real.refundableUntil(decision, policy, changes) };
    return { what: "settle", work: i, version: state.version, changes, origin, decision, wasFull };
  }

  // What is given back was never charged. A token that is given back whole, and was there in part, is filled in part. So
  // is what is given back to a bucket that was made full since (the exception of L1).
  function settled(state: StoreState, message: Message): StoreState {
    const next = stored(state, message);
    const { ledger } = next;
    const { decision, changes = 0, wasFull } = message as Message & { decision: Decision };
    const stated = (limit: number): number => Math.max(0, -at(changes, limit));
    const left = (limit: number): number => Math.min(stated(limit), unrefilled(decision, limit, clock(state) - decision.at));
    const charges = plus(ledger.charged, placeOf(decision.at, state), (limit) => -left(limit));
    const rounded = (limit: number): number => Math.min(stated(limit) - left(limit), LESS_THAN_ONE);
    const filled = plus(ledger.filled, state.time, (limit) => (wasFull ? stated(limit) : rounded(limit)));
    // Beside another give-back, what was rounded up may be there again later (the same exception).
    const isAlone = !next.works.some(({ phase }, i) => phase === "at work" && i !== message.work) && next.net.length === 0;
    const credited = ledger.credited + (isAlone ? 0 : Math.ceil(Math.max(...first.limits.map((_, limit) => rounded(limit)))));
    return { ...next, ledger: { ...ledger, charged: charges, filled, credited, held: ledger.held.filter(({ work }) => work !== message.work) } };
  }

  // The part of a charge that has not refilled by itself. All of it, where tokens do not refill evenly.
  function unrefilled(decision: Decision, place: number, ageMs: number): number {
    const { refill, unitsPerMs, unitsPerToken } = first.limits[place] as Limit;
    const { resetMs } = (decision.limits ?? [decision])[place] as { readonly resetMs: number };
    return refill === undefined ? Infinity : Math.max(0, ((resetMs - Math.max(0, ageMs)) * unitsPerMs) / unitsPerToken);
  }

  function stored(state: StoreState, { changes = 0, origin, version, work }: Message): StoreState {
    const records = new Map(state.records);
    real.adjustRecords(records, policyOf({ version }), changes, clock(state), origin);
    const next = { ...state, records, older: state.records };
    return first.limits.some((_, place) => at(changes, place) < 0) ? filledUp(next, work) : next;
  }

  // A bucket that is full now owes nothing to the works that took from it before.
  function filledUp(state: StoreState, except: number): StoreState {
    const full = (real.peekRecords(new Map(state.records), policyOf(state), 0, clock(state)));
    if ((full.limits ?? [full]).every(({ resetMs, inFlight: flies }) => resetMs > 0 || flies)) return state;
    return {
      ...state,
      works: state.works.map((work, i) => (work.phase === "at work" && i !== except ? { ...work, wasFull: true } : work)),
      net: state.net.map((message) => (message.work === except || message.what !== "settle" ? message : { ...message, wasFull: true })),
    };
  }

  function renewalOf(state: StoreState, i: number): Message | null {
    const { decision, renewals, since, isDropped } = state.works[i] as Work & { decision: Decision };
    const { returns, fullMs } = first.limits[inFlight] as Limit & { returns: never };
    const isDue = !isDropped && real.renewalState(renewals, (instants[state.time] as number) - since, returns, fullMs) === "due";
    return isDue ? { what: "renew", work: i, version: state.version, move: real.moveAfter(decision.at, renewals, returns) } : null;
  }

  function* renewed(state: StoreState, message: Message, isHeard: boolean, event: string): Generator<Step<StoreState>> {
    const { work: i, version, move } = message as Message & { move: Move };
    const records = new Map(state.records);
    const tokens = first.limits.map((_, place) => (place === inFlight ? at(cost, place) : 0));
    const isHeld = real.renewRecords(records, policyOf({ version }), tokens.length === 1 ? at(cost, 0) : tokens, clock(state), move);
    const held = state.ledger.held.map((token) => (token.work === i && isHeld ? { ...token, until: Math.max(token.until, move.to + staleAfterMs) } : token));
    const next = { ...state, records, older: state.records, ledger: { ...state.ledger, held } };
    const work = state.works[i] as Work;
    if (!isHeard || work.phase !== "at work") return yield { event, state: next };
    const known = isHeld ? { renewals: Math.max(work.renewals, renewalsAt(message, work)) } : { isDropped: true };
    yield { event: isHeld ? event : `${event}, too late`, state: withWork(next, i, known) };
  }

  function renewalsAt({ move }: Message, { decision, renewals }: Work): number {
    let count = renewals;
    const { returns } = first.limits[inFlight] as Limit & { returns: never };
    while ((decision as Decision).at + real.msAfter(count, returns) < (move as Move).to) count++;
    return count;
  }

  function* arrivals(state: StoreState, message: Message): Generator<Step<StoreState>> {
    const { what, work: i } = message;
    if (what === "settle") yield { event: `the settlement of work ${i} arrives`, state: settled(state, message) };
    if (what === "renew") yield* renewed(state, message, true, `the renewal of work ${i} arrives`);
    if (what !== "call") return;
    const [asked, decision] = charged({ ...state, version: message.version }, i);
    const arrived = { ...asked, version: state.version };
    if (!decision.allowed || inFlight < 0) return yield { event: `the call of work ${i} arrives`, state: arrived };
    // Its caller was answered without it, so its process gives back the tokens in flight.
    const held = first.limits.map((_, place) => (place === inFlight ? -at(cost, place) : 0));
    const back: Message = { what: "settle", work: i, version: message.version, changes: held.length === 1 ? (held[0] as number) : held, origin: { at: decision.at, heldAt: decision.at } };
    const released = stored(arrived, back);
    const left = released.ledger.held.filter(({ work }) => work !== i);
    yield { event: `the call of work ${i} arrives, and its tokens in flight are given back`, state: { ...released, ledger: { ...released.ledger, held: left } } };
    const unknown = arrived.ledger.held.map((token) => (token.work === i ? { ...token, work: -1 } : token));
    yield { event: `the call of work ${i} arrives, and nobody hears the answer`, state: { ...arrived, ledger: { ...arrived.ledger, held: unknown } } };
  }

  function* operations(state: StoreState): Generator<Step<StoreState>> {
    const now = clock(state);
    const change = (tokens: number): Message => {
      const each = first.limits.map((_, place) => (place === inFlight ? 0 : tokens));
      return { what: "settle", work: -1, version: state.version, changes: each.length === 1 ? tokens : each, ...(tokens < 0 ? { origin: { since: now } } : {}) };
    };
    if (can("debits") && state.ledger.debited === 0) {
      const debited = stored(state, change(1));
      yield { event: "a debit of 1", state: { ...debited, ledger: { ...debited.ledger, debited: 1 } } };
    }
    if (can("credits") && !state.ledger.isCredited) {
      const credited = stored(state, change(-1));
      yield { event: "a credit of 1", state: { ...credited, ledger: { ...credited.ledger, credited: credited.ledger.credited + 1, isCredited: true } } };
    }
    if (can("resets")) yield { event: "a reset", state: forgotten({ ...state, records: new Map() }) };
    for (const forMs of can("blocks") ? [700, 0] : []) {
      const records = new Map(state.records);
      real.blockRecords(records, forMs, now);
      yield { event: forMs === 0 ? "the block ends" : `a block of ${forMs} ms`, state: { ...state, records, older: state.records } };
    }
    if (can("new numbers")) {
      const version = (state.version + 1) % policies.length;
      const broken = changeLaw(facts, state.records, [policyOf(state), policyOf({ version })], now);
      yield { event: `version ${version} of the policy`, state: { ...state, version }, broken };
    }
  }

  function* mishaps(fault: StoreState): Generator<Step<StoreState>> {
    if (can("steps back")) yield { event: `the store's clock steps back by ${STEP_BACK_MS} ms`, state: forgotten({ ...fault, behindMs: fault.behindMs + STEP_BACK_MS }) };
    if (can("restarts")) yield { event: "the store starts anew without its data", state: forgotten({ ...fault, records: new Map(), older: null }) };
    if (can("lost writes") && fault.older !== null) yield { event: "a failover loses the last write", state: forgotten({ ...fault, records: fault.older, older: null }) };
  }

  function fill(state: StoreState, tokens: (limit: number) => number): StoreState {
    return { ...state, ledger: { ...state.ledger, filled: plus(state.ledger.filled, state.time, tokens) } };
  }

  // A bucket may be full from now on: one capacity more, once for each time.
  function forgotten(state: StoreState): StoreState {
    const filled = fill(filledUp(state, -1), (place) => Math.max(...policies.map(({ limits }) => limits[place]?.capacity ?? 0)));
    return { ...filled, ledger: { ...filled.ledger, forgotten: filled.ledger.forgotten + 1 } };
  }

  function placeOf(instant: number, { time, behindMs }: StoreState): number {
    const place = instants.indexOf(instant + behindMs);
    return place < 0 ? time : place;
  }

  // Works are alike: their order says nothing.
  function nameOf({ time, behindMs, records, older, works, net, faults: count, version, ledger }: StoreState): string {
    const all = works.map((work, i) => [
      work.phase, work.phase === "at work" ? decisionText(work.decision as Decision) : "", work.since, work.renewals, work.isDropped, work.wasFull,
      net.filter((message) => message.work === i).map(messageText).sort(),
      ledger.held.filter((token) => token.work === i).map(({ until }) => until),
    ].join());
    const unknown = ledger.held.filter(({ work }) => work < 0).map(({ until }) => until).sort();
    const kept = can("lost writes") && count < faults ? textOf(older ?? new Map()) : "";
    return [time, behindMs, textOf(records), kept, all.sort().join("/"), unknown, count, version, ledger.charged, ledger.filled, ledger.credited, ledger.isCredited, ledger.debited, ledger.forgotten].join("|");
  }
}

function withWork(state: StoreState, i: number, change: Partial<Work>): StoreState {
  // What a work that is over knew says nothing more.
  const next = change.phase === "over" ? { ...NEW, phase: "over" as const } : { ...(state.works[i] as Work), ...change };
  return { ...state, works: state.works.map((work, place) => (place === i ? next : work)) };
}

function plus(list: readonly (readonly number[])[], instant: number, tokens: (limit: number) => number): readonly (readonly number[])[] {
  return list.map((limits, time) => (time === instant ? limits.map((sum, limit) => sum + tokens(limit)) : limits));
}

const textOf = (records: ReadonlyMap<string, Bucket>): string =>
  [...records].map(([name, { spent, at: instant, unitsPerMs, dates }]) => `${name}:${spent},${instant},${unitsPerMs},${dates ?? ""}`).sort().join(";");
const decisionText = ({ at: instant, limits, resetMs }: Decision): string => `${instant}:${limits === null ? resetMs : limits.map((reading) => reading.resetMs)}`;
const messageText = ({ what, version, changes, origin, move, wasFull }: Message): string => JSON.stringify([what, version, changes, origin, move, wasFull]);
