/** Members by which the arguments of a framework are known. */
interface CallMembers {
  readonly addHook?: unknown;
  readonly app?: unknown;
  readonly headers?: { readonly get?: unknown };
  readonly limiter?: unknown;
  readonly policy?: unknown;
  readonly raw?: unknown;
  readonly req?: { readonly raw?: unknown };
  readonly server?: unknown;
  readonly socket?: unknown;
  readonly url?: unknown;
}

const FASTIFY_CURE = "Write `await app.register(rateLimit, { policy, key })`";

/**
 * Says what to import instead, when a framework calls with these arguments what another adapter made. It is the rest of
 * a sentence, and empty for unknown arguments.
 */
export function cureForCall(args: readonly unknown[]): string {
  const { policy, limiter } = Object(args[0]) as CallMembers;
  const name = frameworkOf(args);
  if (name !== undefined) return `. ${name[0]} called it: import { rateLimit } from "sluice/${name[1]}"`;
  return policy === undefined && limiter === undefined ? "" : `. ${FASTIFY_CURE}`;
}

/** Throws a TypeError when `rateLimit` got a request in place of options: it was mounted without a call. */
export function checkCall(args: readonly unknown[]): void {
  const [name, entry] = frameworkOf(args) ?? [];
  const isOptions = ["policy", "limiter"].some((each) => Object.hasOwn(Object(args[0]) as object, each));
  if (name === undefined || isOptions) return;
  const cure =
    entry === "fastify"
      ? `${FASTIFY_CURE}, from "sluice/fastify"`
      : `Write \`rateLimit({ policy, key })\`, from "sluice/${entry}"`;
  throw new TypeError(`Expected \`rateLimit\` to be called with options, got a call of ${name}. ${cure}`);
}

/** The framework that calls with these arguments, and the name of its entry. */
function frameworkOf([first, , next]: readonly unknown[]): readonly [name: string, entry: string] | undefined {
  const { addHook, app, headers, raw, req, server, socket, url } = Object(first) as CallMembers;
  if (req?.raw !== undefined) return ["Hono", "hono"];
  if (typeof addHook === "function" || (raw !== undefined && server !== undefined)) return ["Fastify", "fastify"];
  if (headers !== undefined && (typeof app === "function" || typeof next === "function")) return ["Express", "express"];
  if (typeof headers?.get === "function" && typeof url === "string") return ["A web-standard server", "web"];
  return headers !== undefined && socket !== undefined ? ["Node's server", "node"] : undefined;
}
