/**
 * A limited server that Prometheus can read: `npx tsx examples/metrics/main.ts`, then look at /inbox and at /metrics.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import { pathToFileURL } from "node:url";
import { Registry } from "prom-client";
import { createObserver, MemoryStore, perSecond, type Store } from "sluice";
import { rateLimit } from "sluice/node";
import { measureIn, measureMemory } from "./prometheus.js";

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map([["Bearer token-of-ann", "ann"]]);

const signedIn = (request: IncomingMessage): string | undefined => users.get(request.headers.authorization ?? "");

/** Answers /metrics with all measurements, and limits all other paths. */
export function buildServer(store: Store = new MemoryStore(), userOf = signedIn, shadow = false): Server {
  const registry = new Registry();
  if (store instanceof MemoryStore) measureMemory(registry, store);
  const limited = rateLimit({
    policy: { name: "interactive", capacity: 5, refill: perSecond(1) },
    key: (request) => ["user", userOf(request)], // all callers that are not signed in share one bucket
    store,
    shadow,
    observe: createObserver(measureIn(registry)),
  });
  const inbox = limited((_, response) => void response.end("no news\n"));

  return createServer((request, response) => {
    if (request.url !== "/metrics") return void inbox(request, response);
    registry.metrics().then(
      (text) => response.setHeader("Content-Type", registry.contentType).end(text),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  buildServer().listen(3000, "127.0.0.1", () => console.log("http://127.0.0.1:3000/inbox and /metrics"));
}
