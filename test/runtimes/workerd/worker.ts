// The Worker under test. All limiters are made at module scope, as an application makes them, and every request is a caller
// of its own: the path names what it does, and the answer is a JSON document.
import { callOfClient, callOfTraffic } from "./clients.js";
import { atObjects, atOneObject, storedAt, suiteOfObjects } from "./durable.js";
import { atLocalShare, hangingStore, probeStore, sharedWaiter } from "./guarded.js";
import { heldByHand, streamed } from "./in-flight.js";
import { atBuckets, atCells, atPostgres, atUpstash, inTiers, refunded } from "./remote.js";

export { Buckets, Cell } from "./cells.js";
export { Limits } from "./durable.js";

/** What a Worker gets beside a request. */
export interface ExecutionContext {
  waitUntil(promise: Promise<unknown>): void;
}

type Route = (request: Request, env: Readonly<Record<string, string>>, context: ExecutionContext) => unknown;

const routes: Readonly<Record<string, Route>> = {
  "/local": atLocalShare,
  "/hanging": hangingStore,
  "/probe": probeStore,
  "/wait": sharedWaiter,
  "/cas": atCells,
  "/buckets": atBuckets,
  "/durable": atObjects,
  "/durable/together": atOneObject,
  "/durable/stored": storedAt,
  "/durable/suite": suiteOfObjects,
  "/streamed": streamed,
  "/held": heldByHand,
  "/redis": atUpstash,
  "/postgres": atPostgres,
  "/refunded": refunded,
  "/tiers": inTiers,
  "/client": callOfClient,
  "/traffic": callOfTraffic,
};

export default {
  async fetch(request: Request, env: Readonly<Record<string, string>>, context: ExecutionContext): Promise<Response> {
    const route = routes[new URL(request.url).pathname];
    if (route === undefined) return new Response("no such route", { status: 404 });
    const answer = await route(request, env, context);
    return answer instanceof Response ? answer : Response.json(answer);
  },
};
