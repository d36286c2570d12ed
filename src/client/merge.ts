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
    const flight = flights.get(key) ?? takeOff(key, send);
    return join(flight, signal, () => land(key, flight));
  };

  function takeOff(key: string, send: Parameters<Share>[2]): Flight {
    const stop = new AbortController();
    const flight: Flight = { outcome: send(stop.signal), stop, callers: 0, waiting: 0 };
    flights.set(key, flight);
    const landed = (): void => land(key, flight);
    flight.outcome.then(landed, landed);
    return flight;
  }

  // Another may be under way by then.
  function land(key: string, flight: Flight): void {
    if (flights.get(key) === flight) flights.delete(key);
  }
}

function join(flight: Flight, signal: AbortSignal | null, empty: () => void): Promise<Outcome> {
  flight.callers++;
  flight.waiting++;
  return new Promise((resolve, reject) => {
    let isWaiting = true;
    const leave = (): void => {
      const reason = abortReason(signal as AbortSignal);
      if (isWaiting) flight.waiting--;
      isWaiting = false;
      reject(reason);
      if (--flight.callers > 0) return;
      empty();
      flight.stop.abort(reason);
    };
    signal?.addEventListener("abort", leave, { once: true });
    const served = (outcome: Outcome): void => {
      if (!isWaiting) return;
      isWaiting = false;
      // The last one gets the original: a copy that nobody reads would keep the whole body.
      resolve(--flight.waiting > 0 ? copyOf(outcome) : outcome);
      // An abort still ends a body that is on its way.
      if (!("body" in outcome) || outcome.body === null) signal?.removeEventListener("abort", leave);
    };
    flight.outcome.then(served).catch((error: unknown) => {
      signal?.removeEventListener("abort", leave);
      reject(error);
    });
  });
}

function copyOf(outcome: Outcome): Outcome {
  return "reason" in outcome ? { ...outcome, response: outcome.response?.clone() ?? null } : outcome.clone();
}
