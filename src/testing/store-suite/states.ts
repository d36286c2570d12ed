import type { Bucket } from "../../core/bucket.js";
import type { Costs } from "../../core/limit.js";
import type { Reading } from "../../core/decision.js";
import type { Policy } from "../../core/policy.js";
import type { Origin } from "../../core/model.js";
import type { Store } from "../../port/store.js";
import { answerCall, type StoreAnswer } from "../../core/records.js";
import { callsOf } from "../store-calls.js";

/**
 * A call of a store about one key. `tokens` is the cost, the changes of `adjust`, or the milliseconds of `block`.
 */
export interface SuiteCall {
  readonly method: "consume" | "peek" | "adjust" | "renew" | "block" | "reset";
  readonly policy: Policy;
  readonly key: string;
  readonly tokens: Costs;
  /**
   * Of an `adjust` that settles: the instant of its decision, and of the last renewal. Of a `renew`: the instant whose
   * tokens move.
   */
  readonly at?: number | Origin | undefined;
  /** Of a `renew`: the instant to whose date they move. */
  readonly to?: number | undefined;
}

/** A call with the store's answer. */
export interface AnsweredCall {
  readonly call: SuiteCall;
  readonly answer: unknown;
}

/** One possible content of the store for one key: its records by name. */
export type PossibleState = ReadonlyMap<string, Bucket>;

/** The core's answer to `call` in `state`, and the state afterwards. */
export function apply(
  state: PossibleState, { method, policy, key, tokens, at, to }: SuiteCall, now: number,
): { answer: StoreAnswer; state: PossibleState } {
  const records = new Map(state);
  const move = { from: at as number, to: to as number };
  const call = { verb: method, parts: [{ policy, key, cost: tokens }], from: at, move } as const;
  const { answers: [answer], changed: [isChanged] } = answerCall(call, [records], now);
  // A renewal may answer nothing, too.
  return { answer: method === "renew" ? undefined : answer, state: isChanged ? records : state };
}

/** Messages show this many limits of a policy, and their costs. */
export const SHOWN_LIMITS = 9;

const texts = new WeakMap<PossibleState, string>();

/** A text that two states share if they hold the same buckets. */
export function stateText(state: PossibleState): string {
  let text = texts.get(state);
  if (text === undefined) {
    const records = [...state].map(
      ([name, { spent, at, unitsPerMs, unitsPerToken }]) => `${name} ${spent} ${at} ${unitsPerMs} ${unitsPerToken}`,
    );
    texts.set(state, (text = records.sort().join()));
  }
  return text;
}

/** Whether two states hold the same buckets. */
export function sameState(a: PossibleState, b: PossibleState): boolean {
  return a === b || (a.size === b.size && [...a].every(([name, bucket]) => agrees(bucket, b.get(name))));
}

/** Whether an answer is the wanted one: what {@link differences} says, but without texts, so that it is fast. */
export function agrees(got: unknown, wanted: unknown): boolean {
  if (Object.is(got, wanted)) return true;
  if (typeof got !== "object" || got === null || typeof wanted !== "object" || wanted === null) return false;
  const [a, b] = [got as Record<string, unknown>, wanted as Record<string, unknown>];
  for (const name of Object.keys(b)) if (!agrees(a[name], b[name])) return false;
  for (const name of Object.keys(a)) if (a[name] !== undefined && !Object.hasOwn(b, name)) return false;
  return true;
}

/** Milliseconds after `now` until every bucket of `state` is full. */
export function lifetimeMs(state: PossibleState, now: number): number {
  return Math.max(0, ...[...state.values()].map(({ spent, at, unitsPerMs }) => at - now + Math.ceil(spent / unitsPerMs)));
}

/**
 * Lists the differences between two decisions, such as `` `remaining` 6 instead of 7 ``. Empty if they are equal. Of
 * several limits it names the first that differs, and how many others do.
 */
export function differences(got: unknown, wanted: unknown): string[] {
  if (typeof wanted === "boolean") return got === wanted ? [] : [`${String(got)} instead of ${wanted}`];
  if (typeof got !== "object" || got === null) return [`${String(got)} instead of a decision`];
  const [a, b] = [got as Record<string, unknown>, wanted as Record<string, unknown>];
  const fields = [...new Set([...Object.keys(b), ...Object.keys(a)])];
  return fields.flatMap((field) => {
    if (field === "limits" && Array.isArray(a[field]) && Array.isArray(b[field])) return differentReadings(a[field], b[field]);
    return Object.is(a[field], b[field]) ? [] : [`\`${field}\` ${String(a[field])} instead of ${String(b[field])}`];
  });
}

function differentReadings(got: readonly unknown[], wanted: readonly Reading[]): string[] {
  if (got.length !== wanted.length) return [`${got.length} readings instead of ${wanted.length}`];
  const wrong = wanted.flatMap((reading, i) => {
    const texts = differences(got[i], reading);
    return texts.length === 0 ? [] : [`in \`limits[${i}]\` ${texts.join(" and ")}`];
  });
  const [first, ...others] = wrong;
  if (first === undefined) return [];
  return others.length === 0 ? [first] : [first, `and ${others.length} more of ${wanted.length} limits`];
}

/** The call as messages show it, such as `consume 3`, or `consume 1, 200` when the limits have different costs. */
export function describeCall({ method, tokens, at }: SuiteCall): string {
  if (method === "reset") return "reset";
  const since = at === undefined ? "" : ` from ${JSON.stringify(at)}`;
  if (typeof tokens === "number") return `${method} ${tokens}${method === "block" ? " ms" : ""}${since}`;
  const more = tokens.length - SHOWN_LIMITS;
  return `${method} ${tokens.slice(0, SHOWN_LIMITS).join(", ")}${more > 0 ? `, … (${more} more)` : ""}${since}`;
}

/** The key as messages show it: as JSON, and cut if it is long. */
export function quoteKey(key: string): string {
  const text = JSON.stringify(key);
  return text.length > 60 ? `${text.slice(0, 40)}… (${key.length} characters)` : text;
}

/** Makes one call. A case that needs another verb than `consume` is skipped for stores without it. */
export function callStore(store: Store, { method, policy, key, tokens, at, to }: SuiteCall): unknown {
  const calls = callsOf(store);
  if (method === "adjust") return calls.adjust(policy, key, tokens, at);
  if (method === "renew") return calls.renew(policy, key, tokens, { from: at as number, to: to as number });
  if (method === "block") return calls.block(policy, key, tokens as number);
  return method === "reset" ? calls.reset(policy, key) : calls[method](policy, key, tokens);
}
