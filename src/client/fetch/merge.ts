import { abortReason, onAbort, throwIfAborted } from "./abort.js";
import { isReadMethod, type ClientCall } from "./call.js";
import type { RateLimitedFacts } from "./error.js";

/** How a call ended: a response, or the facts of its error. */
export type CallResult = Response | RateLimitedFacts;

/** Sends a call, or joins it to a pending request with the same `mergeKey`. */
export type Merger = (call: ClientCall, send: (signal: AbortSignal | null) => Promise<CallResult>) => Promise<CallResult>;

/** A pending request and the calls that share it. */
interface SharedRequest {
  /** The first call. */
  readonly call: ClientCall;
  readonly result: Promise<CallResult>;
  readonly stop: AbortController;
  /** Calls that have not aborted. */
  active: number;
  /** The `resolve` of each active call that has no result yet. */
  readonly waiting: Set<unknown>;
}

/**
 * Creates a merger. Each call gets a body of its own. When a call aborts, the other calls go on. When all calls have
 * aborted, the request is aborted.
 */
export function createMerger(): Merger {
  const pending = new Map<string, SharedRequest>();
  return async (call, send) => {
    const { mergeKey, signal } = call;
    throwIfAborted(signal);
    if (mergeKey === null) {
      if (isReadMethod(call.method)) return send(signal);
      // A read after a write must not get a response from before the write.
      const endSharing = (): void => {
        for (const [key, { call: other }] of pending) {
          if (other.origin === call.origin && other.identity === call.identity) pending.delete(key);
        }
      };
      endSharing();
      return send(signal).finally(endSharing);
    }
    let shared = pending.get(mergeKey);
    if (!shared) {
      const stop = new AbortController();
      shared = { call, result: send(stop.signal), stop, active: 0, waiting: new Set() };
      pending.set(mergeKey, shared);
    }
    const joined = shared;
    // After a write, a newer request may be pending under this key. That one stays.
    return joinRequest(joined, signal, () => pending.get(mergeKey) === joined && pending.delete(mergeKey));
  };
}

function joinRequest(shared: SharedRequest, signal: AbortSignal | null, close: () => unknown): Promise<CallResult> {
  shared.active++;
  const { waiting } = shared;
  return new Promise((resolve, reject) => {
    waiting.add(resolve);
    const release =
      signal &&
      onAbort(signal, () => {
        const reason = abortReason(signal);
        waiting.delete(resolve);
        reject(reason);
        if (--shared.active > 0) return;
        close();
        shared.stop.abort(reason);
      });
    const deliver = (result: CallResult): void => {
      close();
      if (!waiting.delete(resolve)) return;
      // The last call gets the original: an unread copy would keep the whole body in memory.
      const own = waiting.size > 0 ? cloneResult(result) : result;
      resolve(own);
      // An abort still ends a body that is arriving.
      release?.("body" in own ? own.body : null);
    };
    shared.result.then(deliver).catch((error: unknown) => {
      close();
      release?.();
      reject(error);
    });
  });
}

function cloneResult(result: CallResult): CallResult {
  return "clone" in result ? result.clone() : { ...result, response: result.response?.clone() ?? null };
}
