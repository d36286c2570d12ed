/** Called when a signal aborts. */
type AbortHandler = () => void;

/** Refers to a handler; `deref` returns undefined after the handler was garbage-collected. */
interface HandlerRef {
  deref(): AbortHandler | undefined;
}

// Each signal gets one listener. A signal may serve thousands of calls, and Node warns at the eleventh listener.
const handlersBySignal = new WeakMap<AbortSignal, Set<HandlerRef>>();
// Keeps a handler alive while the response body that it would end is alive.
const handlerOfBody = new WeakMap<object, AbortHandler>();

/** Returns an aborted signal's reason. Returns an `AbortError` on platforms that keep no reason (React Native). */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? Object.defineProperty(new Error("Aborted"), "name", { value: "AbortError" });
}

/** Throws the signal's reason if the signal has aborted. */
export function throwIfAborted(signal: AbortSignal | null | undefined): void {
  if (signal?.aborted) throw abortReason(signal);
}

/**
 * Calls `handler` when the signal aborts.
 *
 * Call the returned function once the response is there. With a body, the handler stays until that body is
 * garbage-collected; without one, the handler is removed.
 */
export function onAbort(signal: AbortSignal, handler: AbortHandler): (body?: object | null) => void {
  const handlers = handlersBySignal.get(signal) ?? listen(signal);
  const pending: HandlerRef = { deref: () => handler };
  handlers.add(pending);
  return (body) => {
    handlers.delete(pending);
    if (!body) return;
    dropCollected(handlers);
    handlerOfBody.set(body, handler);
    handlers.add(globalThis.WeakRef ? new WeakRef(handler) : pending);
  };
}

// A function of its own: its closure must not hold the first call's handler.
function listen(signal: AbortSignal): Set<HandlerRef> {
  const handlers = new Set<HandlerRef>();
  handlersBySignal.set(signal, handlers);
  signal.addEventListener("abort", () => handlers.forEach((ref) => ref.deref()?.()), { once: true });
  return handlers;
}

// Checks the two oldest handlers for each one that is added, so handlers of collected bodies do not pile up.
function dropCollected(handlers: Set<HandlerRef>): void {
  for (let checks = 0; checks < 2; checks++) {
    const [oldest] = handlers;
    if (!oldest) return;
    handlers.delete(oldest);
    if (oldest.deref()) handlers.add(oldest);
  }
}
