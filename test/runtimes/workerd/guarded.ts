// What a limiter does by itself on Workers: timeouts, circuit breaker, fallback, waiting.
import { env } from "cloudflare:workers";
import { createLimiter, createWaiter, MemoryStore, monotonicClock, perDay, perSecond, type AsyncStore, type Decision, type GuardOptions } from "sluice";
import { guard } from "sluice/store";
import { callsOf } from "../../../src/testing/store-calls.js";
import { storeOf } from "../../helpers/store-of.js";

const { ORIGIN } = env as { readonly ORIGIN: string };
const query = (request: Request, name: string): string => new URL(request.url).searchParams.get(name) ?? "";

const memory = new MemoryStore();

/** A store that answers at once, or never: as the key says. */
const slow = (options: GuardOptions): AsyncStore => (storeOf({
  sync: false,
  guard: guard(options),
  clock: monotonicClock,
  async consume(policy, key, cost) {
    if (key === "hangs") await fetch(`${ORIGIN}/hang`);
    if (key === "fails") throw new Error("refused connection");
    return callsOf(memory).consume(policy, key, cost);
  },
}));

const told = ({ allowed, reason, degraded, error, remaining }: Decision) => ({
  allowed, reason, degraded, remaining, code: (Object(error) as { code?: string }).code ?? null,
});

const hanging = createLimiter({ policy: { name: "hanging", capacity: 10, refill: perDay(10) }, store: slow({ breaker: false }), onStoreError: "allow" });

/** A store that hangs for one key. */
export async function hangingStore(request: Request) {
  const start = Date.now();
  const decision = await hanging.consume(query(request, "key"));
  return { ...told(decision), ms: Date.now() - start };
}

const local = createLimiter({ policy: { name: "local", capacity: 20, refill: perDay(20) }, store: slow({ breaker: false }) });

/** A store that fails, and hangs for some keys: the process grants its share. */
export async function atLocalShare(request: Request) {
  return told(await local.consume(query(request, "key")));
}

/** Each key is a bucket of its own; its first word says what the store does. */
const whole = slow({ timeoutMs: Infinity, breaker: { failures: 5, probeEveryMs: 1 } });
const byFirstWord: AsyncStore = storeOf({ ...whole, consume: (policy, key, cost) => callsOf(whole).consume(policy, key.split(" ")[0] as string, cost) });

const probed = createLimiter({
  policy: { name: "probed", capacity: 1_000, refill: perDay(1_000) },
  store: byFirstWord,
  onStoreError: "unavailable",
});

/** A store whose probe hangs, in a request that the client cancels. */
export async function probeStore(request: Request) {
  return told(await probed.consume(query(request, "key")));
}

const waiter = createWaiter(createLimiter({ policy: { name: "waiting", capacity: 5, refill: perSecond(100) } }));

/** Callers that wait for one key. With `then=hangs` the client has to cancel. */
export async function sharedWaiter(request: Request) {
  const decision = waiter.consume(query(request, "key"), Number(query(request, "cost") || 1));
  if (query(request, "then") === "hangs") await fetch(`${ORIGIN}/hang`);
  return { allowed: (await decision).allowed };
}
