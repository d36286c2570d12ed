import { isRead, type Call } from "./call.js";
import type { RateLimitedFacts } from "./error.js";
import { onAbort } from "./abort.js";
import { abortReason, throwIfAborted } from "./sleep.js";

/** How a call ended: with a response, or with what its error is to tell. */
export type Outcome = Response | RateLimitedFacts;

/** Sends one request for all calls of one key that are under way at once. */
export type Share = (call: Call, send: (signal: AbortSignal | null) => Promise<Outcome>) => Promise<Outcome>;

interface Flight {
  /** Of the first caller. */
  readonly call: Call;
  readonly outcome: Promise<Outcome>;
  readonly stop: AbortController;
  /** Those who have not aborted. */
  callers: number;
  /** Those of them who have no outcome yet, by what resolves their promise. */
  readonly waiting: Set<unknown>;
}

/** Every caller gets a body of its own. What one aborts is no business of the others; what all abort is aborted. */
export function createShare(): Share {
  const flights = new Map<string, Flight>();
  return async (call, send) => {
    const { mergeKey, signal } = call;
    throwIfAborted(signal);
    if (mergeKey === null) {
      if (isRead(call.method)) return send(signal);
      // A write: what was asked for before it is no answer after it.
      const part = (): void => {
        for (const [key, { call: other }] of flights) if (other.origin === call.origin && other.identity === call.identity) flights.delete(key);
      };
      part();
      return send(signal).finally(part);
    }
    let flight = flights.get(mergeKey);
    if (!flight) {
      const stop = new AbortController();
      flight = { call, outcome: send(stop.signal), stop, callers: 0, waiting: new Set() };
      flights.set(mergeKey, flight);
    }
    const joined = flight;
    // Another one may have taken its place.
    return join(joined, signal, () => flights.get(mergeKey) === joined && flights.delete(mergeKey));
  };
}

function join(flight: Flight, signal: AbortSignal | null, land: () => unknown): Promise<Outcome> {
  flight.callers++;
  const { waiting } = flight;
  return new Promise((resolve, reject) => {
    waiting.add(resolve);
    const stay =
      signal &&
      onAbort(signal, () => {
        const reason = abortReason(signal);
        waiting.delete(resolve);
        reject(reason);
        if (--flight.callers > 0) return;
        land();
        flight.stop.abort(reason);
      });
    const serve = (outcome: Outcome): void => {
      land();
      if (!waiting.delete(resolve)) return;
      // The last one gets the original: a copy that nobody reads would keep the whole body.
      const own = waiting.size > 0 ? copyOf(outcome) : outcome;
      resolve(own);
      // An abort still ends a body that is on its way.
      stay?.("body" in own ? own.body : null);
    };
    flight.outcome.then(serve).catch((error: unknown) => {
      land();
      stay?.();
      reject(error);
    });
  });
}

function copyOf(outcome: Outcome): Outcome {
  return "clone" in outcome ? outcome.clone() : { ...outcome, response: outcome.response?.clone() ?? null };
}
