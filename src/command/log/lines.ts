import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { Misuse } from "../misuse.js";

/** A longer line is not a request. It is given as an empty one, so that memory stays bounded. */
const LONGEST_LINE = 1_000_000;

/** Tells how much was read: a number from 0 to 1, or undefined where the end is unknown. */
export type TellProgress = (part: number | undefined) => void;

/**
 * Calls `onLine` with each line of the files, in their order, as text without its end. `"-"` is the standard input.
 * Gzip is recognized by its first bytes, not by the name of the file.
 *
 * Throws a {@link Misuse} for a file that cannot be opened.
 */
export async function readLines(
  files: readonly string[],
  stdin: Readable,
  onLine: (line: string) => void,
  tell: TellProgress = () => undefined,
): Promise<void> {
  const sizes = await Promise.all(files.map(sizeOf));
  const all = sizes.reduce((sum, size) => sum + size, 0);
  let before = 0;
  for (const [i, file] of files.entries()) {
    let read = 0;
    const raw = file === "-" ? stdin : createReadStream(file);
    const counted = count(raw, (bytes) => {
      read += bytes;
      tell(all > 0 && Number.isFinite(all) ? (before + read) / all : undefined);
    });
    try {
      await splitLines(await decompressed(counted), onLine);
    } catch (error) {
      if (error instanceof Misuse) throw error;
      throw new Misuse(`Cannot read ${file}: ${(error as Error).message}`);
    }
    before += sizes[i] as number;
  }
}

async function sizeOf(file: string): Promise<number> {
  if (file === "-") return Infinity;
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw new Misuse(`Expected a file, got the directory ${file}`);
    return found.size;
  } catch (error) {
    if (error instanceof Misuse) throw error;
    throw new Misuse(`Cannot read ${file}: ${(error as Error).message}`);
  }
}

async function* count(source: AsyncIterable<Buffer | string>, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    onBytes(chunk.length);
    yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
  }
}

/** Decompresses what begins with the two bytes of gzip (RFC 1952, section 2.3.1). */
async function decompressed(source: AsyncGenerator<Buffer>): Promise<AsyncIterable<Buffer>> {
  const first = await source.next();
  const head = first.done === true ? Buffer.alloc(0) : first.value;
  const whole = startingWith(head, source);
  if (head[0] !== 0x1f || head[1] !== 0x8b) return whole;
  const gunzip = createGunzip();
  void feed(whole, gunzip);
  return gunzip;
}

async function feed(source: AsyncIterable<Buffer>, gunzip: ReturnType<typeof createGunzip>): Promise<void> {
  try {
    for await (const chunk of source) {
      if (!gunzip.write(chunk)) await new Promise((resolve) => gunzip.once("drain", resolve));
    }
    gunzip.end();
  } catch (error) {
    gunzip.destroy(error as Error);
  }
}

async function* startingWith(head: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  yield* rest;
}

async function splitLines(chunks: AsyncIterable<Buffer>, onLine: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    const text = rest + decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      onLine(text.slice(from, text.charCodeAt(end - 1) === 13 ? end - 1 : end));
      from = end + 1;
    }
    rest = text.length - from > LONGEST_LINE ? "" : text.slice(from);
  }
  if (rest !== "") onLine(rest);
}
