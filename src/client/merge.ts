import type { RateLimitedFacts } from "./error.js";
import { abortReason } from "./sleep.js";

/** How a call ended: with a response, or with what its error is to tell. */
export type Outcome = Response | RateLimitedFacts;

/** Sends one request for all calls of one key that are under way at once. */
export type Share = (key: string | null, signal: AbortSignal | null, send: (signal: AbortSignal | null) => Promise<Outcome>) => Promise<Outcome>;

interface Flight {
  readonly outcome: Promise<Outcome>;
  readonly stop: AbortController;
  /** Those who have not aborted. */
  callers: number;
  /** Those of them who have no outcome yet. */
  waiting: number;
}

/** Every caller gets a body of its own. What one aborts is no business of the others; what all abort is aborted. */
export function createShare(): Share {
  const flights = new Map<string, Flight>();
  return async (key, signal, send) => {
    if (signal?.aborted) throw abortReason(signal);
    if (key === null) return send(signal);
    const stop = new AbortController();
    const flight = flights.get(key) ?? { outcome: send(stop.signal), stop, callers: 0, waiting: 0 };
    flights.set(key, flight);
    // Another one may have taken its place.
    const land = (): unknown => flights.get(key) === flight && flights.delete(key);
    return join(flight, signal, land);
  };
}

function join(flight: Flight, signal: AbortSignal | null, land: () => unknown): Promise<Outcome> {
  flight.callers++;
  flight.waiting++;
  let isWaiting = true;
  return new Promise((resolve, reject) => {
    const waitNoMore = (): void => {
      flight.waiting -= Number(isWaiting);
      isWaiting = false;
    };
    const leave = (): void => {
      const reason = abortReason(signal as AbortSignal);
      waitNoMore();
      reject(reason);
      if (--flight.callers > 0) return;
      land();
      flight.stop.abort(reason);
    };
    const stay = (): void => signal?.removeEventListener("abort", leave);
    signal?.addEventListener("abort", leave, { once: true });
    const serve = (outcome: Outcome): void => {
      land();
      if (!isWaiting) return;
      waitNoMore();
      // The last one gets the original: a copy that nobody reads would keep the whole body.
      resolve(flight.waiting > 0 ? copyOf(outcome) : outcome);
      // An abort still ends a body that is on its way.
      if (!("body" in outcome && outcome.body)) stay();
    };
    flight.outcome.then(serve).catch((error: unknown) => {
      land();
      stay();
      reject(error);
    });
  });
}

function copyOf(outcome: Outcome): Outcome {
  return "clone" in outcome ? outcome.clone() : { ...outcome, response: outcome.response?.clone() };
}
