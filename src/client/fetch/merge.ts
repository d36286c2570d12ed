import { abortReason, onAbort, throwIfAborted } from "./abort.js";
import { isReadMethod, type ClientCall } from "./call.js";
import type { RateLimitedFacts } from "./error.js";
import type { WaitInfo } from "./options.js";

/** How a call ended: a response, or the facts of its error. */
export type CallResult = Response | RateLimitedFacts;

/** Whether a call was given up: then these are the facts of its error. */
export function isGivenUp(result: CallResult): result is RateLimitedFacts {
  return Object.hasOwn(result, "reason");
}

type OnWait = (wait: WaitInfo) => void;

/** Sends a call, or joins it to a pending request with the same `mergeKey`. */
export type Merger = (
  call: ClientCall, send: (signal: AbortSignal | null, onWait: OnWait) => Promise<CallResult>,
) => Promise<CallResult>;

/** A pending request and the calls that share it. */
interface SharedRequest {
  /** The first call. */
  readonly call: ClientCall;
  /** Null only until it is sent. */
  result: Promise<CallResult> | null;
  readonly stop: AbortController;
  /** Calls that have not aborted. */
  active: number;
  /** The `onWait` of each active call that has no result yet, by the call's own `resolve`. */
  readonly waiting: Map<unknown, OnWait>;
  /** The last wait that began. */
  wait: WaitInfo | null;
}

/**
 * Creates a merger. Each call gets a body of its own. When a call aborts, the other calls go on. When all calls have
 * aborted, the request is aborted.
 */
export function createMerger(): Merger {
  const pending = new Map<string, SharedRequest>();
  return async (call, send) => {
    const { mergeKey, signal, time } = call;
    const onWait = (wait: WaitInfo): void => {
      const told = Promise.resolve(wait).then((each) => signal?.aborted || call.onWait(each));
      // oxlint-disable-next-line no-console -- a failing screen must not fail the call, and must not be silent
      told.catch(console.error);
    };
    throwIfAborted(signal);
    if (mergeKey === null) {
      if (isReadMethod(call.method)) return send(signal, onWait);
      // A read after a write must not get a response from before the write.
      const endSharing = (): void =>
        pending.forEach(
          ({ call: other }, key) => other.origin === call.origin && other.identity === call.identity && pending.delete(key),
        );
      endSharing();
      return send(signal, onWait).finally(endSharing);
    }
    const known = pending.get(mergeKey);
    const shared: SharedRequest = known ?? {
      call, stop: new AbortController(), active: 0, waiting: new Map(), wait: null, result: null,
    };
    if (!known) {
      pending.set(mergeKey, shared);
      // `send` may report a wait before it returns.
      shared.result = send(shared.stop.signal, (wait) => {
        shared.wait = wait;
        for (const tell of shared.waiting.values()) tell(wait);
      });
    }
    const { wait } = shared;
    // The rest of a wait that began before this call joined.
    const leftMs = Number(wait?.retryAt) - time.wallNow();
    if (leftMs > 0) onWait({ ...(wait as WaitInfo), waitMs: leftMs });
    // After a write, a newer request may be pending under this key. That one stays.
    return joinRequest(shared, signal, onWait, () => pending.get(mergeKey) === shared && pending.delete(mergeKey));
  };
}

function joinRequest(
  shared: SharedRequest, signal: AbortSignal | null, onWait: OnWait, close: () => unknown,
): Promise<CallResult> {
  shared.active++;
  const { waiting } = shared;
  return new Promise((resolve, reject) => {
    waiting.set(resolve, onWait);
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
      release?.((own as Partial<Response>).body);
    };
    shared.result?.then(deliver).catch((error: unknown) => {
      close();
      release?.();
      reject(error);
    });
  });
}

function cloneResult(result: CallResult): CallResult {
  if (!isGivenUp(result)) return result.clone();
  // A mock of a 429 needs no `clone`.
  return { ...result, response: (result.response as Partial<Response> | null)?.clone?.() ?? result.response };
}
