/**
 * The base class of every error that sluice throws at run time. Misuse is a TypeError or a RangeError instead.
 *
 * `code` is stable; the message is not. `instanceof` also recognizes errors of another copy of this package, such as
 * the CommonJS copy beside the ES module.
 * @example
 * try {
 *   await limiter.peek("user:42");
 * } catch (error) {
 *   if (error instanceof SluiceError) console.warn(error.code);
 * }
 */
export class SluiceError<Code extends string = string> extends Error {
  /** The class's name, safe from minifiers. Becomes the error's `name`. */
  static readonly kind: string = "SluiceError";
  /** The class's `kind`. A field, because a frozen `Error.prototype` forbids to assign it. */
  override name = (this.constructor as typeof SluiceError).kind;
  /** Says what failed. Stable across versions; starts with `ERR_`. */
  declare readonly code: Code;

  /** Made by sluice and by stores. */
  constructor(code: Code, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
    Object.defineProperty(this, Symbol.for("sluice.error"), { value: true });
  }

  /** Whether `value` is an error of this class, from any copy of the package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (super[Symbol.hasInstance](value)) return true;
    const error = Object(value) as { readonly name?: unknown };
    // A subclass defined by an application inherits `kind`. It must not match instances of its base class.
    return Symbol.for("sluice.error") in error && Object.hasOwn(this, "kind") && [error.name, "SluiceError"].includes(this.kind);
  }
}
