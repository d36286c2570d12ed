import type { Readable, Writable } from "node:stream";

/** What a command reads and writes: those of the process, or those of a test. */
export interface CommandIo {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean };
}
