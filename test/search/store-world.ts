// A world of one key in one store: works that take, renew and give back over a network that loses, delays and repeats.
// The store's steps and the network are modelled. All arithmetic is that of src.
import type { Costs, Limit, Move, Policy } from "../../src/core/model.js";
import type { Decision } from "../../src/core/decision.js";
import { Accounts } from "./accounts.js";
import type { Step, World } from "./explore.js";
import { changeLaw, stepLaw, stateLaw } from "./laws.js";
import type { Real } from "./real.js";
import {
  at, decisionText, NEW, textOf, withWork, type Claim, type Happening, type Message, type StoreCall, type StoreState, type StoreWorld, type Work,
  type WorldFacts,
} from "./state.js";

/** Makes the {@link World} of a description. */
export function storeWorld(world: StoreWorld, real: Real): World<StoreState> {
  const { name, happens, instants, cost = 1, used = [0, cost], faults = 2, stepBackMs = 5_000 } = world;
  const policies = world.policies(real).map((options) => real.definePolicy(options));
  const [first] = policies as [Policy];
  const facts: WorldFacts = { real, policies, cost, instants };
  const inFlight = first.limits.findIndex(({ kind }) => kind.isInFlight);
  const staleAfterMs = first.inFlight?.returns.staleAfterMs ?? 0;
  const marks = new real.CallMarks("", false);
  marks.learn(0);
  const can = (what: Happening): boolean => happens.includes(what);
  const none = first.limits.map(() => new Map<number, number>());
  const accounts = new Accounts(facts);
  const start: StoreState = {
    time: 0, behindMs: 0, stepsBack: 0, records: new Map(), older: null, works: Array.from({ length: world.works }, () => NEW), net: [],
    faults: 0, version: 0, calls: null, ledger: { moments: [instants[0] as number], charged: none, filled: none, returned: none, held: [], isCredited: false, isDebited: false, forgotten: 0 },
  };

  const clock = ({ time, behindMs }: StoreState): number => (instants[time] as number) - behindMs;
  const policyOf = ({ version }: { readonly version: number }): Policy => policies[version] as Policy;

  return { name, start, next, nameOf, broken: (state) => stateLaw(facts, state, clock(state)) };

  function* next(state: StoreState): Generator<Step<StoreState>> {
    const faulty = state.faults < faults;
    const fault = { ...state, faults: state.faults + 1 };
    if (state.time + 1 < instants.length) yield passed({ ...state, time: state.time + 1 });
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
    const [asked, decision, claim] = charged(state, i);
    const broken = stepLaw(facts, { before: state.records, after: asked.records, policy: policyOf(state), decision, now: clock(state) });
    const since = instants[state.time] as number;
    const next = decision.allowed ? withWork(asked, i, { phase: "at work", decision, since, claim }) : asked;
    yield { event: decision.allowed ? event : `${event}, and is refused`, state: next, broken };
  }

  function* unheard(state: StoreState, i: number, event: string): Generator<Step<StoreState>> {
    const [asked] = charged(state, i);
    const held = asked.ledger.held.map((token) => (token.work === i ? { ...token, work: -1 } : token));
    yield { event, state: withWork({ ...asked, ledger: { ...asked.ledger, held } }, i, { phase: "over" }) };
  }

  function charged(state: StoreState, i: number): [StoreState, Decision, Claim | null] {
    const records = new Map(state.records);
    const { decision, changed } = real.consumeRecords(records, policyOf(state), cost, clock(state));
    if (!changed) return [state, decision, null];
    const written = called(state, records, { what: "consume", version: state.version, tokens: cost });
    if (!decision.allowed) return [written, decision, null];
    const [{ ledger, ...rest }, claim] = accounts.charged(written, clock(state), state.version);
    const held = inFlight < 0 ? ledger.held : [...ledger.held, { work: i, until: clock(state) + staleAfterMs }];
    return [{ ...rest, ledger: { ...ledger, held } }, decision, claim];
  }

  function called(state: StoreState, records: StoreState["records"], call: Omit<StoreCall, "before" | "now">): StoreState {
    return { ...state, records, older: state.records, calls: { ...call, before: state.calls, now: clock(state) } };
  }

  function passed(state: StoreState): Step<StoreState> {
    return { event: `it is ${instants[state.time]} ms`, state: accounts.passed(state) };
  }

  function* endings(state: StoreState, fault: StoreState, faulty: boolean, i: number): Generator<Step<StoreState>> {
    const settlements = used.map((costs) => settlementOf(state, i, costs));
    for (const [place, message] of settlements.entries()) {
      const event = `work ${i} settles ${JSON.stringify(used[place])}`;
      const over = withWork(state, i, { phase: "over" });
      yield settled(over, message, event);
      if (!faulty) continue;
      const late = withWork(fault, i, { phase: "over" });
      if (can("late calls")) yield { event: `${event}, and the call is held up`, state: { ...late, net: [...late.net, message] } };
      if (can("lost calls") && place === 0) yield { event: `${event}, and the call is lost`, state: late };
      // The store answers a second call with the same mark without a change.
      const isOnce = marks.markOf([{ what: "a", parts: [{ name: "key" }], once: true } as never]) !== undefined;
      if (can("calls sent again")) {
        const twice = `${event}, and the client sends the call again`;
        const { broken, state: once } = settled(late, message, twice);
        yield isOnce || broken !== undefined ? { event: twice, state: once, broken } : settled(once, message, twice, true);
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
    const { decision, renewals, claim } = state.works[i] as Work & { decision: Decision; claim: Claim };
    const policy = policyOf(claim);
    const spent = first.limits.map((_, place) => (place === inFlight ? 0 : at(costs, place)));
    const simple = spent.length === 1 ? (spent[0] as number) : spent;
    const changes = real.correction(decision, policy, cost, simple, clock(state) - decision.at);
    const heldAt = decision.at + (inFlight < 0 ? 0 : real.msAfter(renewals, first.inFlight?.returns as never));
    const origin = { at: decision.at, heldAt, since: real.refundableUntil(decision, policy, changes) };
    const unused = first.limits.map((_, place) => at(cost, place) - (spent[place] as number));
    return { what: "settle", work: i, version: claim.version, changes, origin, unused, claim, madeAt: clock(state) };
  }

  function settled(state: StoreState, message: Message, event: string, isAgain = false): Step<StoreState> {
    const { claim, unused, madeAt } = message as Required<Message>;
    const [next, broken] = accounts.givenBack(state, stored(state, message), clock(state), { claim, unused, madeAt, isAgain });
    const held = next.ledger.held.filter(({ work }) => work !== message.work);
    return { event, broken, state: { ...next, ledger: { ...next.ledger, held } } };
  }

  function stored(state: StoreState, { changes = 0, origin, version }: Message): StoreState {
    const records = new Map(state.records);
    real.adjustRecords(records, policyOf({ version }), changes, clock(state), origin);
    return called(state, records, { what: "adjust", version, tokens: changes, origin });
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
    const taken = tokens.length === 1 ? at(cost, 0) : tokens;
    const isHeld = real.renewRecords(records, policyOf({ version }), taken, clock(state), move);
    const held = state.ledger.held.map((token) => (token.work === i && isHeld ? { ...token, until: Math.max(token.until, move.to + staleAfterMs) } : token));
    const next = { ...called(state, records, { what: "renew", version, tokens: taken, move }), ledger: { ...state.ledger, held } };
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
    if (what === "settle") yield settled(state, message, `the settlement of work ${i} arrives`);
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
    if (can("debits") && !state.ledger.isDebited) {
      yield { event: "a debit of 1", state: accounts.debited(stored(state, change(1))) };
    }
    if (can("credits") && !state.ledger.isCredited) {
      const [credited, broken] = accounts.credited(state, stored(state, change(-1)), now);
      yield { event: "a credit of 1", state: credited, broken };
    }
    for (const forMs of can("blocks") ? [700, 0] : []) {
      const records = new Map(state.records);
      real.blockRecords(records, forMs, now);
      yield { event: forMs === 0 ? "the block ends" : `a block of ${forMs} ms`, state: called(state, records, { what: "block", version: state.version, forMs }) };
    }
    if (can("new numbers")) {
      const version = (state.version + 1) % policies.length;
      const broken = changeLaw(facts, state.records, policyOf({ version }), now);
      yield { event: `version ${version} of the policy`, state: { ...state, version }, broken };
    }
  }

  function* mishaps(fault: StoreState): Generator<Step<StoreState>> {
    if (can("resets")) yield { event: "a reset, or the store starts anew without its data", state: forgotten(fault, { ...called(fault, new Map(), { what: "reset", version: fault.version }), older: null }) };
    if (can("steps back")) yield { event: `the store's clock steps back by ${stepBackMs} ms`, state: forgotten(fault, { ...fault, behindMs: fault.behindMs + stepBackMs, stepsBack: fault.stepsBack + 1 }) };
    if (can("lost writes") && fault.older !== null) yield { event: "a failover loses the last write", state: forgotten(fault, { ...called(fault, fault.older, { what: "no call", version: 0 }), older: null }) };
  }

  function forgotten(before: StoreState, after: StoreState): StoreState {
    return accounts.forgotten(before, clock(before), after, clock(after));
  }

  // Works are alike: their order says nothing.
  function nameOf(state: StoreState): string {
    const { time, behindMs, records, older, works, net, faults: count, version, ledger } = state;
    const [sums, claimed] = accounts.namesOf(state);
    const messageText = ({ what, version: asked, changes, origin, move, claim, unused, madeAt }: Message): string =>
      JSON.stringify([what, asked, changes, origin, move, claimed(claim), unused, madeAt]);
    const all = works.map((work, i) => [
      work.phase, work.phase === "at work" ? decisionText(work.decision as Decision) : "", work.since, work.renewals, work.isDropped, claimed(work.claim),
      net.filter((message) => message.work === i).map(messageText).sort(),
      ledger.held.filter((token) => token.work === i).map(({ until }) => until),
    ].join());
    const unknown = ledger.held.filter(({ work }) => work < 0).map(({ until }) => until).sort();
    const kept = can("lost writes") && count < faults ? textOf(older ?? new Map()) : "";
    return [time, behindMs, textOf(records), kept, all.sort().join("/"), unknown, count, version, sums, ledger.isCredited, ledger.isDebited, inFlight < 0 ? 0 : ledger.forgotten].join("|");
  }
}
