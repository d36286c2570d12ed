import type { Work } from "../../http/response/work.js";
import { connectionOf, type Connected } from "./disconnect.js";
import { endOnClose, endWithConnection, type ClosingResponse } from "./end-of-work.js";

/** The request and the response of Node, as @hono/node-server passes them on. Its WebSockets have no response. */
export interface NodeBindings {
  readonly incoming: Connected & { readonly method?: string };
  readonly outgoing?: ClosingResponse | undefined;
}

/** Finds them in `env`. Null on other platforms, where it has bindings of any name and any kind. */
export function bindingsOf(env: unknown): NodeBindings | null {
  const { incoming, outgoing } = Object(env) as Partial<NodeBindings>;
  // Every property of a stub of a Worker is a function.
  if (typeof incoming?.method !== "string" || connectionOf(incoming) === undefined) return null;
  return outgoing === undefined || typeof outgoing.writableEnded === "boolean" ? { incoming, outgoing } : null;
}

/** Ends the work of a request when Node's response has closed, or else its connection. */
export function endWithBindings(work: Work, { incoming, outgoing }: NodeBindings): void {
  if (outgoing === undefined) work.whenSettles(endWithConnection, incoming);
  else work.whenSettles(endOnClose, outgoing);
}
