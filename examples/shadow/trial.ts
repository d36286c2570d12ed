// Smaller numbers on trial behind the enforced ones. They refuse no request, and count the requests that they would
// refuse. When the counts look right, they are enforced for one caller after another.
import { MemoryStore, perSecond, type Key, type Store } from "sluice";
import { rateLimit } from "sluice/web";

/** A service, and the results of its trial. */
export interface Trial {
  readonly fetch: (request: Request) => Promise<Response>;
  /** The number of requests that the trial saw, and the number that it would have refused, by caller. */
  report(): { readonly seen: number; readonly refused: ReadonlyMap<string, number> };
  /** Enforces the numbers on trial for one caller, from the next request on. */
  enforceFor(user: string): void;
}

interface TrialOptions {
  /** The signed-in user, as your authentication verified it. */
  readonly userOf: (request: Request) => string;
  readonly store?: Store;
}

/** Allows each user 10 requests at once, and tries 4. */
export function serviceOnTrial(answer: (request: Request) => Response, { userOf, store = new MemoryStore() }: TrialOptions): Trial {
  const refused = new Map<string, number>(); // in production: your own store, or a bounded map
  const enforced = new Set<Key>();
  let seen = 0;

  const inForce = rateLimit({
    policy: { name: "api", capacity: 10, refill: perSecond(2) },
    key: userOf,
    store,
  });
  const onTrial = rateLimit({
    policy: { name: "api-smaller", capacity: 4, refill: perSecond(2) }, // another name, so separate buckets
    key: userOf,
    shadow: (user) => !enforced.has(user),
    store,
    onDecision: (decision, request) => {
      seen += 1;
      if (!decision.allowed || decision.shadow === undefined) return;
      refused.set(userOf(request), (refused.get(userOf(request)) ?? 0) + 1);
    },
  });

  const handle = inForce(onTrial(answer));
  return { fetch: async (request) => handle(request), report: () => ({ seen, refused }), enforceFor: (user) => void enforced.add(user) };
}
