// A limit in flight on Workers: a stream that lasts longer than `staleAfterMs` keeps its place.
import { env as bindings } from "cloudflare:workers";
import { createLimiter, whenDone } from "sluice";
import { DurableObjectStore, type BucketNamespace } from "sluice/durable-object";
import { rateLimit } from "sluice/web";
import type { ExecutionContext } from "./worker.js";

const query = (request: Request, name: string): string => new URL(request.url).searchParams.get(name) ?? "";

function make() {
  const store = new DurableObjectStore((bindings as unknown as { readonly LIMITS: BucketNamespace }).LIMITS, { timeoutMs: Infinity, breaker: false });
  const limiter = createLimiter({ policy: { name: "parallel", capacity: 1, returns: whenDone({ staleAfterMs: 1_000 }) }, store, onStoreError: "unavailable" });
  const stream = (request: Request, _env: unknown, _context: ExecutionContext): Response => {
    const { readable, writable } = new TransformStream<Uint8Array>();
    const writer = writable.getWriter();
    const end = Date.now() + Number(query(request, "ms"));
    const write = async (): Promise<void> => {
      for (; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 50))) await writer.write(new TextEncoder().encode("."));
      await writer.close();
    };
    write().catch(() => undefined); // the client left
    return new Response(readable);
  };
  const limited = rateLimit({ limiter, key: (request) => query(request, "key") })(stream);
  return { limiter, limited };
}
// Made when it is first asked for: not every Worker here has the binding.
let made: ReturnType<typeof make> | undefined;

/** A stream of so many milliseconds, which holds the one place of its key. */
export function streamed(request: Request, env: unknown, context: ExecutionContext) {
  return (made ??= make()).limited(request, env, context);
}

/** Takes the one place of a key, and never renews it. */
export async function heldByHand(request: Request) {
  const { allowed } = await (made ??= make()).limiter.consume(query(request, "key"));
  return { allowed };
}
