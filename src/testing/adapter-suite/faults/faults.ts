import type { Store } from "../../../port/store.js";
import { ManualClock } from "../../manual-clock.js";
import { slowMemoryStore } from "../outages.js";

const throwError = (): never => {
  throw new Error("fault");
};
// Frameworks treat some values that are not Errors as success: undefined, false, "route".
const throwing = (value: unknown) => (): never => {
  throw value;
};

/** The faults of a function of the options, by name. */
export const FAULTS: Readonly<Record<string, () => unknown>> = {
  "throws an Error": throwError,
  "throws undefined": throwing(undefined),
  "throws false": throwing(false),
  'throws "route"': throwing("route"),
  'throws "router"': throwing("router"),
  "rejects with an Error": async () => throwError(),
  "rejects with undefined": async () => throwing(undefined)(),
  'rejects with "route"': async () => throwing("route")(),
  "never settles": () => new Promise(() => {}),
};

/**
 * Short, because one of the faults takes this long. Functions that answer later answer in the same turn of the event
 * loop.
 */
export const FAULT_TIMEOUT_MS = 20;

/** Both kinds of store: one that answers at once, which is the default, and one that answers later. */
export const STORE_KINDS: readonly (readonly [kind: string, options: () => { readonly store?: Store }])[] = [
  ["a synchronous store", () => ({})],
  ["an asynchronous store", () => ({ store: slowMemoryStore(new ManualClock(1_000_000).now) })],
];

/** Runs the fault that the request names in `X-Fault`, or else `right`. */
export function faultOr<T>(
  faults: Readonly<Record<string, () => unknown>>,
  request: { header(name: string): string | null | undefined },
  right: () => T,
): T {
  const fault = faults[request.header("x-fault") ?? ""];
  return fault === undefined ? right() : (fault() as T);
}
