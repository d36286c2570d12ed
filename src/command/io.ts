import type { Writable } from "node:stream";
import { inspect } from "node:util";

/** What the command writes to: the streams of the process, or those of a test. */
export interface CommandIo {
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** How far the command has come with a change. Absent before it begins. */
  change?: "begun" | "done";
}

/** A mistake in the arguments of a command: its message is printed without a stack, and the exit code is 2. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

/** What the command needs did not answer: the message is printed without a stack, and the exit code is 1. */
export class StoreFailure extends Error {
  override readonly name = "StoreFailure";
}

/** Follows the failure of a change that may have been made. */
export const MAY_BE_DONE = "It may have been done. Look before you repeat it";

/** The message of an error. A user's module may throw anything, also `undefined`. */
export function thrownText(error: unknown): string {
  try {
    const { message } = Object(error) as { readonly message?: unknown };
    return typeof message === "string" ? message : inspect(error);
  } catch {
    return "it threw a value that cannot be read"; // a proxy, or a getter that throws
  }
}

/** Why a store failed: the error of the connection behind a timeout, if it is known. */
export function reasonText(error: unknown): string {
  const { cause } = Object(error) as { readonly cause?: unknown };
  if (cause === undefined) return thrownText(error);
  // An error of several addresses has no message of its own.
  const { errors } = Object(cause) as { readonly errors?: readonly unknown[] };
  return thrownText(cause) || (Array.isArray(errors) ? thrownText(errors[0]) : thrownText(error));
}
