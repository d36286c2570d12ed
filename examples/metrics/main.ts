/**
 * A limited server that Prometheus can read: `npx tsx examples/metrics/main.ts`, then look at /inbox and at /metrics.
 */
import { createServer, type Server } from "node:http";
import { pathToFileURL } from "node:url";
import { Registry } from "prom-client";
import { createObserver, perSecond } from "sluice";
import { rateLimit } from "sluice/node";
import { measureIn } from "./prometheus.js";

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map([["Bearer token-of-ann", "ann"]]);

/** Answers /metrics with all measurements, and limits all other paths. */
export function buildServer(): Server {
  const registry = new Registry();
  const limited = rateLimit({
    policy: { name: "interactive", capacity: 3, refill: perSecond(1) },
    key: (request) => ["user", users.get(request.headers.authorization ?? "")], // all callers that are not signed in share one bucket
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
