// Measures a client on a server. Each function starts a server on the loopback, in virtual time.
import { createServer } from "node:http";
import { rateLimit } from "../../../src/adapters/node.ts";
import { createLimiter, MemoryStore } from "../../../src/index.ts";
import { listening, within } from "../drive.mjs";
import { restart, virtualNow } from "./virtual-time.mjs";

const DEADLINE_MS = 10_000;

/**
 * Sends requests to a server that calls `listener`. Returns the time of each request, the answer to the first call, and
 * all failures.
 */
async function ask(peer, listener, { method = "GET", times = 1 } = {}) {
  restart();
  const arrivals = [];
  const server = createServer((request, response) => {
    request.resume();
    // Node's `Date` field would have the real time.
    response.sendDate = false;
    response.setHeader("Date", new Date().toUTCString());
    arrivals.push(virtualNow());
    listener(request, response, arrivals.length);
  });
  return listening(server, async (port) => {
    const url = `http://127.0.0.1:${port}/inbox`;
    const call = peer.make();
    const calls = Promise.allSettled(Array.from({ length: times }, () => call(url, method)));
    const settled = await within(DEADLINE_MS, calls).catch((error) => {
      throw new Error(`${peer.name}: ${error.message}. Does \`waits\` fit the file that sets its timers?`);
    });
    const failures = settled.filter(({ status }) => status === "rejected").map(({ reason }) => reason);
    return { arrivals, answer: settled[0].value, failures };
  });
}

/** A server that refuses `refusals` times, with `status` and with `headers`, which are made again for each answer. */
export function refusing(peer, headers, { status = 429, refusals = 1, ...call } = {}) {
  return ask(peer, (_, response, count) => {
    const refused = count <= refusals;
    response.writeHead(refused ? status : 200, { "Content-Type": "application/json", "Content-Length": 2, ...(refused ? headers() : {}) });
    response.end("{}");
  }, call);
}

/** A server that closes the first connection without an answer. */
export function dropping(peer) {
  return ask(peer, (request, response, count) => {
    if (count === 1) request.socket.destroy();
    else response.end("{}");
  });
}

/**
 * A server with sluice: one token, and a new one every 3 seconds. Another program with the same key takes the token
 * before the client's first request. With `rival` it also takes every later token first, and the client never gets one.
 */
export async function onSluice(peer, { rival = false } = {}) {
  const limiter = createLimiter({ policy: { name: "inbox", capacity: 1, refill: { tokens: 1, everyMs: 3_000 } }, store: new MemoryStore({ clock: virtualNow }) });
  const key = "ada";
  const listener = rateLimit({ limiter, key: () => key, ...peer.server })((_, response) => response.end("{}"));
  const statuses = [];
  const outcome = await ask(peer, (request, response, count) => {
    if (count === 1 || rival) limiter.consume(key);
    listener(request, response);
    statuses.push(response.statusCode);
  });
  return { ...outcome, statuses };
}
