import { createGate, type GateOptions, type MaybeKey, type Outcome, type RequestReader, type Verdict } from "sluice/http";
import type { AnyRespond, ChargeOptions, SharedOptions } from "../../src/http/options/options.js";
import { ManualClock } from "sluice/testing";
import { definePolicy, MemoryStore, perSecond, type Key, type Limiter, type OnStoreError, type Policy, type PolicyOptions, type Store, type Unlimited } from "sluice";
import { guard } from "sluice/store";

/** A request as plain data: what the gate's reader and the options' functions can see of it. */
export interface Ask {
  readonly method?: string;
  /** By lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly user?: MaybeKey;
  readonly cost?: number;
}

/** Reads an {@link Ask}. */
export const reader: RequestReader<Ask> = {
  method: (ask) => ask.method ?? "GET",
  header: (ask, name) => ask.headers?.[name],
};

/** Three tokens, one a second: small enough to empty by hand. */
export const SMALL = definePolicy({ name: "small", capacity: 3, refill: perSecond(1) });

/** Any options of a gate, valid together or not. */
export type AnyOptions = Partial<SharedOptions<Ask> & ChargeOptions<Ask>> & AnyRespond & {
  readonly policy?: PolicyOptions | Policy | ((ask: Ask) => Policy | Unlimited | Promise<Policy | Unlimited>);
  readonly store?: Store;
  readonly onStoreError?: OnStoreError;
  readonly shadow?: boolean | ((key: Key) => boolean);
  readonly limiter?: Limiter;
};

/** An answer with its header fields at hand. */
export interface Answer {
  readonly verdict: Verdict;
  /** 200 when the request went through. */
  readonly status: number;
  /** The names of the header fields, in order. */
  readonly names: readonly string[];
  /** The value of a field; undefined when it is absent. Throws when it occurs twice. */
  field(name: string): string | undefined;
  /** The same as a number; NaN when it is absent or anything but digits. */
  number(name: string): number;
  /** The body of a refusal. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Wraps a verdict. */
export function answerOf(verdict: Verdict): Answer {
  const fields = verdict.outcome === "skip" ? [] : verdict.fields;
  const names = fields.filter((_, i) => i % 2 === 0);
  const field = (name: string): string | undefined => {
    const places = names.flatMap((known, i) => (known.toLowerCase() === name.toLowerCase() ? [i] : []));
    if (places.length > 1) throw new Error(`${name} occurs ${places.length} times`);
    return places.length === 0 ? undefined : fields[(places[0] as number) * 2 + 1];
  };
  return {
    verdict,
    status: verdict.outcome === "refuse" ? verdict.status : 200,
    names,
    field,
    number: (name) => (/^\d+$/.test(field(name) ?? "") ? Number(field(name)) : Number.NaN),
    get body() {
      return JSON.parse(verdict.outcome === "refuse" ? verdict.body : "null") as Record<string, unknown>;
    },
  };
}

/** A synchronous gate, and its clock. */
export interface Opened {
  readonly clock: ManualClock;
  ask(request?: Ask): Answer;
}

/** A gate for {@link SMALL} and the user "ann", unless the options say otherwise. */
export function open(options: AnyOptions = {}, clock = new ManualClock()): Opened {
  const gate = gateOf(options, clock);
  return {
    clock,
    ask(request = {}) {
      const verdict = gate(request);
      if (verdict instanceof Promise) throw new Error("The gate answered later");
      return answerOf(verdict);
    },
  };
}

/** The same for a gate that may return a promise. */
export function openLater(options: AnyOptions, clock = new ManualClock()): { clock: ManualClock; ask(request?: Ask): Promise<Answer> } {
  const gate = gateOf(options, clock);
  return { clock, ask: async (request = {}) => answerOf(await gate(request)) };
}

function gateOf(options: AnyOptions, clock: ManualClock) {
  const limits = options.limiter === undefined ? { policy: SMALL, store: new MemoryStore({ clock: clock.now }) } : {};
  const all = { ...limits, key: userOf, cost: (ask: Ask) => ask.cost ?? 1, ...options } as unknown as GateOptions<Ask>;
  return createGate<Ask>(all, reader);
}

const userOf = (ask: Ask): MaybeKey => ("user" in ask ? ask.user : "ann");

/** Empties the bucket of {@link SMALL} and returns the first refusal. */
export function exhaust({ ask }: Opened, request: Ask = {}): Answer {
  for (let i = 0; i < 100; i++) {
    const answer = ask(request);
    if (answer.status !== 200) return answer;
  }
  throw new Error("Nothing was refused");
}

/** Tells the gate how an allowed request ended, as an adapter does. Resolves when its cost is settled. */
export async function end({ verdict }: Answer, outcome: Outcome = { status: 200, aborted: false }): Promise<void> {
  if (verdict.outcome !== "pass") throw new Error(`Expected an allowed request, got ${verdict.outcome}`);
  await verdict.work.end(outcome);
}

/** A store that is down: it throws, or rejects when it is asynchronous. */
export function brokenStore(sync: boolean): Store {
  const fail = (): never => {
    throw new Error("connection lost");
  };
  const clock = () => 0; // of the local shares
  return sync ? { sync, guard: guard(), clock, ask: fail } : { sync, guard: guard(), clock, ask: async () => fail() };
}
