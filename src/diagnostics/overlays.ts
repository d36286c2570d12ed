/** The options that decide which keys a limit takes. */
interface Keyed {
  readonly limiter?: unknown;
  readonly policy?: unknown;
  readonly key?: unknown;
}

const ONE_CURE = 'Write a `key` for this policy, such as `key: (request) => ["user", request.user?.id]`';
const NAMES_CURE = "Write a `key` with the names of the members, such as `key: (request) => ({ user: …, tenant: … })`";

/**
 * Throws a TypeError for `options` on top of `defaults` that take keys of another kind than the key of the defaults:
 * one key, or keys by the names of a combination.
 */
export function checkOverlay(defaults: object, options: object): void {
  const [base, own] = [defaults as Keyed, options as Keyed];
  const replaced =
    own.limiter !== undefined ? "limiter" : own.policy !== undefined && typeof own.policy !== "function" ? "policy" : null;
  const hasLimit = base.limiter !== undefined || base.policy !== undefined;
  if (replaced === null || own.key !== undefined || base.key === undefined || !hasLimit) return;
  const isByName = hasKeysByName(base.limiter);
  if (hasKeysByName(own.limiter) === isByName) return;
  const [got, cure] = isByName ? ["a combination", ONE_CURE] : ["a single key", NAMES_CURE];
  throw new TypeError(`Expected \`key\` beside \`${replaced}\`, got the one for ${got}. ${cure}`);
}

// Whether it is a combination, or a waiter over one. It leaves a key of a wrong kind as it is.
function hasKeysByName(limiter: unknown): boolean {
  const internals = (Object(limiter) as Record<symbol, Mapping | undefined>)[Symbol.for("sluice.limiter")];
  return internals?.mapKey?.("key", () => null) === "key";
}

interface Mapping {
  /** A limiter of one policy has none. */
  readonly mapKey?: (key: unknown, change: () => unknown) => unknown;
}
