/** Nitro 2, Nuxt 3 and 4, as `server/utils/rate-limit.ts`. In `server/middleware`: `export default defineEventHandler(rateLimit({ … }))`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createGate, type AdapterOptions } from "sluice/http";
import { answerOnNode, nodeReader } from "sluice/node";

/** What this file uses of the `H3Event` of h3 1. `_handled` tells h3 to send nothing. */
export interface NitroEvent {
  readonly node: { readonly req: IncomingMessage; readonly res: ServerResponse };
  _handled: boolean;
}

export function rateLimit<Event extends NitroEvent>(options: AdapterOptions<Event, [event: Event, response: ServerResponse]>): (event: Event) => Promise<void> {
  const gate = createGate<Event>(options, {
    method: ({ node }) => node.req.method ?? "GET",
    header: ({ node }, name) => node.req.headers[name],
    onDisconnect: ({ node }, leave) => nodeReader.onDisconnect(node.req, leave),
  });
  return async (event) => {
    const verdict = await gate(event);
    if (verdict.outcome === "refuse") event._handled = true;
    answerOnNode(verdict, event, event.node.res);
  };
}

/**
 * Whether `useFetch` or `event.$fetch` of the application made this request, and no client. Nitro gives it the context of the
 * request that it belongs to.
 */
export function isInnerCall({ node }: NitroEvent): boolean {
  const { __unenv__: outer } = node.req as { readonly __unenv__?: { readonly nitro?: unknown } };
  return outer?.nitro !== undefined;
}
