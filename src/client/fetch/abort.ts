type Act = () => void;

// One listener serves all calls of a signal: it may outlive thousands of them, and Node warns of the eleventh.
const actsOf = new WeakMap<AbortSignal, Set<{ deref(): Act | undefined }>>();
// Keeps an act for as long as somebody has the body that it would end.
const held = new WeakMap<object, Act>();

/** Calls `act` when the signal aborts. After the function that it returns was called: only for as long as `body` is still in use. */
export function onAbort(signal: AbortSignal, act: Act): (body?: object | null) => void {
  const acts = actsOf.get(signal) ?? listenTo(signal);
  const entry = { deref: () => act };
  acts.add(entry);
  return (body) => {
    acts.delete(entry);
    if (!body) return;
    held.set(body, act);
    // Looks at two for one that comes, so that those whose body is gone do not pile up.
    let looks = 2;
    for (const old of acts) {
      if (looks-- === 0) break;
      acts.delete(old);
      if (old.deref()) acts.add(old);
    }
    acts.add(new WeakRef(act));
  };
}

// By itself, so that the listener holds nothing of the first call.
function listenTo(signal: AbortSignal): Set<{ deref(): Act | undefined }> {
  const acts = new Set<{ deref(): Act | undefined }>();
  actsOf.set(signal, acts);
  signal.addEventListener("abort", () => acts.forEach((each) => each.deref()?.()), { once: true });
  return acts;
}
