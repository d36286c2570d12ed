import type { Readable, Writable } from "node:stream";
import { inspect } from "node:util";

/** What the command reads and writes: the streams of the process, or those of a test. */
export interface CommandIo {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

/** A mistake in the arguments: its message is printed without a stack, and the exit code is 2. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}

/** A page that found no room: the message is printed without a stack, and the exit code is 1. */
export class WriteFailure extends Error {
  override readonly name = "WriteFailure";
}

/** The message of an error. A user's module may throw anything, also `undefined`. */
export function thrownText(error: unknown): string {
  const { message } = Object(error) as { readonly message?: unknown };
  return typeof message === "string" ? message : inspect(error);
}
