// Deno's signal reports only a disconnect after its first read: a gate whose limits may hold tokens reads it before it decides.
import { Hono } from "hono";
import { combine, createLimiter, definePolicy, MemoryStore } from "sluice";
import { rateLimit as onHono } from "sluice/hono";
import { rateLimit as onWeb } from "sluice/web";
import { expect, test } from "vitest";
import { CAPACITY, left, policy } from "./gate-servers.js";

/** A request with a signal like Deno's. */
class DenoRequest extends Request {
  #controller: AbortController | undefined;
  override get signal(): AbortSignal {
    return (this.#controller ??= new AbortController()).signal;
  }
  get isRead(): boolean {
    return this.#controller !== undefined;
  }
  leave(): void {
    this.#controller?.abort();
  }
}

type Serve = (options: object, handler: () => Response) => (request: Request) => Response | Promise<Response>;

const serve: Record<string, Serve> = {
  web: (options, handler) => onWeb(options as Parameters<typeof onWeb>[0])(handler),
  hono(options, handler) {
    const app = new Hono();
    app.use(onHono(options as Parameters<typeof onHono>[0]));
    app.get("/", handler);
    return (request) => app.fetch(request);
  },
};

const tier = definePolicy(policy);
const plain = { name: "plain", capacity: 10, refill: { tokens: 1, everyMs: 1_000 } };
const HOLDING: Record<string, (store: MemoryStore) => object> = {
  "a policy": (store) => ({ policy, store }),
  "a defined policy": (store) => ({ policy: tier, store }),
  "a function": (store) => ({ policy: () => tier, store }),
  "a limiter": (store) => ({ limiter: createLimiter({ policy, store }) }),
  "a combination": (store) => ({ limiter: combine({ other: createLimiter({ policy: plain, store }), user: createLimiter({ policy, store }) }) }),
};
const rows = Object.keys(serve).flatMap((adapter) => Object.keys(HOLDING).map((what) => [adapter, what] as const));

test.each(rows)("L21 · a client that left while `key` was asked gets its tokens back, and no handler runs: %s, %s", async (adapter, what) => {
  const store = new MemoryStore();
  const request = new DenoRequest("http://localhost/");
  const key = async (): Promise<unknown> => {
    request.leave();
    return what === "a combination" ? { other: "ann", user: "ann" } : "ann";
  };
  let began = 0;
  const handler = (): Response => new Response(String((began += 1)));
  await serve[adapter]?.({ ...HOLDING[what]?.(store), key }, handler)(request);
  expect([began, left(store)]).toEqual([0, CAPACITY]);
});

test.each(Object.keys(serve))("a policy without a limit in flight does not read the signal, which costs time: %s", async (adapter) => {
  const request = new DenoRequest("http://localhost/");
  await serve[adapter]?.({ policy: plain, key: () => "ann" }, () => new Response("hello"))(request);
  expect(request.isRead).toBe(false);
});
