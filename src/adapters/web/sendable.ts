import { expected } from "../../core/check.js";
import { processWide } from "../../platform.js";

/**
 * Returns `made`, a Response of the `respond` option, and remembers that its body is sent. Throws a TypeError or
 * RangeError for a Response that no server can send.
 *
 * The constructor of `Response` checks the same on most platforms. @hono/node-server and Fastify fail later, when they
 * send it.
 */
export function takeResponse(made: unknown): Response {
  if (!isResponse(made)) throw new TypeError(expected("respond()", "a Response", made));
  const { status } = made;
  // A network error has the status 0. After a 1xx the client waits for another response.
  if (!(status >= 200 && status <= 599)) throw new RangeError(expected("respond().status", "from 200 to 599", status));
  const body = made.body ?? null;
  if (body === null) return made;
  // A body that waits to be sent is neither used nor locked.
  const taken = processWide("taken", () => new WeakSet<object>());
  if (made.bodyUsed || body.locked || taken.has(body)) {
    throw new TypeError(
      "Expected `respond()` to be a Response with an unused body, got one that was read, locked or sent before. " +
      "Make a new Response for each request",
    );
  }
  taken.add(body);
  return made;
}

// Checked by shape, because @hono/node-server replaces the class `Response`.
function isResponse(value: unknown): value is Response {
  const { status, headers } = Object(value) as Partial<Response>;
  return typeof status === "number" && typeof headers?.get === "function";
}
