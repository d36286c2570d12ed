/** A limited server that logs who is refused: `npx tsx examples/logging/main.ts`, then call /inbox more than 3 times a second. */
import { createServer, type Server } from "node:http";
import { pathToFileURL } from "node:url";
import { perSecond } from "sluice";
import { rateLimit } from "sluice/node";
import { createRefusalLog } from "./refusal-log.js";

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map([["Bearer token-of-ann", "ann"]]);

/** Answers all paths within a limit, and logs refusals. */
export function buildServer(write?: (line: string) => void): Server {
  const log = createRefusalLog({ secret: process.env["LOG_SECRET"] ?? "only for the demo", ...(write === undefined ? {} : { write }) });
  const limited = rateLimit({
    policy: { name: "interactive", capacity: 3, refill: perSecond(1) },
    key: (request) => ["user", users.get(request.headers.authorization ?? "")],
    onDecision: (decision, _, key) => log(decision, key),
  });
  const sweeps = setInterval(log.sweep, 60_000).unref();
  const server = createServer(limited((_, response) => void response.end("no news\n")));
  return server.once("close", () => (clearInterval(sweeps), log.end()));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  buildServer().listen(3000, "127.0.0.1", () => console.log("http://127.0.0.1:3000/inbox"));
}
