import { gateChecks } from "#diagnostics";
import { expected } from "../core/check.js";

/**
 * The error when a framework calls what another adapter made. It is thrown under every condition, because such a
 * request would otherwise hang.
 */
export function misplaced(name: string, what: string, args: readonly unknown[]): TypeError {
  const cure = gateChecks ? gateChecks.cureForCall(args) : "";
  return new TypeError(expected(name, what, args[0]) + cure);
}

/** Appears in the compile error of a call of {@link rateLimit}. */
export type InEntryOfFramework = "import rateLimit from sluice/express, sluice/fastify, sluice/hono, sluice/node or sluice/web";

/**
 * Is in the entry of your framework: `sluice/express`, `sluice/fastify`, `sluice/hono`, `sluice/node` or `sluice/web`.
 *
 * This one throws a TypeError that says so. With the second parameter, `app.use(rateLimit)` does not compile.
 * @deprecated Import `rateLimit` from `sluice/express`, `sluice/fastify`, `sluice/hono`, `sluice/node` or `sluice/web`.
 */
export function rateLimit(_options: InEntryOfFramework, _none?: never): never {
  throw new TypeError(
    "Expected `rateLimit` from the entry of a framework, got that of sluice. Import it from sluice/express, " +
    "/fastify, /hono, /node or /web",
  );
}
