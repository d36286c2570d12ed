// A limit that finds its own number measures the answers to the requests that it admits. Only limiters of
// `sluice/adaptive` carry this among their internals: a gate asks for it, and all others pay one look.

/** What a gate asks of a limiter whose refusal says that the service is overloaded. */
export interface Overload {
  /** The code of its 503, which is also what its text says of the service. */
  readonly code: string;
  /** Returns what hears of the answer, or undefined for a refusal. `request` is the object that the gate got. */
  (charge: DecidedCharge, request: unknown): AnswerWatch | undefined;
}

/** What a gate has decided. */
export interface DecidedCharge {
  readonly key: unknown;
  readonly decision: { readonly allowed: boolean; readonly capacity: number; readonly remaining: number };
}

/**
 * Hears of the answer to one request: a response of Node, which it watches for its first byte; a web-standard response
 * that is about to be sent; or the status with which the work has ended, 499 for a client that left. The first counts.
 */
export type AnswerWatch = (answer: object) => void;

interface HasOverload {
  readonly overload?: Overload;
}

/** Returns the {@link Overload} among the internals of a limiter. Undefined for most limiters. */
export function overloadOf(limiter: object): Overload | undefined {
  return (limiter as Readonly<Record<symbol, HasOverload | undefined>>)[Symbol.for("sluice.limiter")]?.overload;
}
