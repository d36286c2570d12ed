import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { Misuse, thrownText } from "../io.js";
import { LONGEST_LINE } from "./line-reader.js";

/** Tells how much was read: a number from 0 to 1, or undefined where the end is unknown. */
export type TellProgress = (part: number | undefined) => void;

/** A file of a log. */
export interface LogFile {
  readonly name: string;
  /** The lines as text without their ends, a part at a time. */
  readonly lines: AsyncIterator<readonly string[]>;
}

/**
 * Opens the files of a log. `"-"` is the standard input. Gzip is recognized by its first bytes, not by the name of the
 * file. Of a line longer than {@link LONGEST_LINE} only the beginning is given, so that memory stays bounded.
 *
 * Throws a {@link Misuse} for a file that cannot be opened. So do the lines of one that cannot be read.
 */
export async function openLog(
  files: readonly string[], stdin: Readable, tell: TellProgress = () => undefined,
): Promise<readonly LogFile[]> {
  if (files.indexOf("-") !== files.lastIndexOf("-")) throw new Misuse("Expected - (the standard input) once, got it twice");
  const sizes = await Promise.all(files.map(sizeOf));
  const all = sizes.reduce((sum, size) => sum + size, 0);
  let read = 0;
  return files.map((name) => ({
    name,
    lines: linesOf(name, stdin, (bytes) => {
      read += bytes;
      tell(all > 0 && Number.isFinite(all) ? Math.min(1, read / all) : undefined);
    }),
  }));
}

async function* linesOf(name: string, stdin: Readable, onBytes: (bytes: number) => void): AsyncGenerator<readonly string[]> {
  try {
    yield* splitLines(await decompressed(count(name === "-" ? stdin : createReadStream(name), onBytes)));
  } catch (error) {
    throw new Misuse(`Cannot read ${name}: ${thrownText(error)}`);
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
    throw new Misuse(`Cannot read ${file}: ${thrownText(error)}`);
  }
}

async function* count(source: AsyncIterable<Buffer | string>, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    onBytes(chunk.length);
    yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
  }
}

/**
 * Decompresses what begins with the two bytes of gzip (RFC 1952, section 2.3.1). A pipe may give one byte at a time.
 */
async function decompressed(source: AsyncGenerator<Buffer>): Promise<AsyncIterable<Buffer>> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 2) {
    const next = await source.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
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

async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly string[]> {
  let decoder: TextDecoder | undefined;
  let rest = "";
  for await (const chunk of chunks) {
    if (decoder === undefined && chunk.length === 0) continue;
    decoder ??= new TextDecoder(encodingOf(chunk));
    const text = decoder.decode(chunk, { stream: true });
    const lines: string[] = [];
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      const line = rest + text.slice(from, end);
      lines.push(line.charCodeAt(line.length - 1) === 13 ? line.slice(0, -1) : line);
      [rest, from] = ["", end + 1];
    }
    // What follows in a line that is already too long is dropped, up to the next end of a line.
    if (rest.length <= LONGEST_LINE) rest += text.slice(from);
    if (lines.length > 0) yield lines;
  }
  rest += decoder?.decode() ?? "";
  if (rest !== "") yield [rest];
}

/** Windows writes UTF-16. Without a byte order mark, each second byte of plain text is 0. */
function encodingOf([first, second]: Buffer): string {
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return "utf-16le";
  return (first === 0xfe && second === 0xff) || (first === 0 && second !== 0 && second !== undefined) ? "utf-16be" : "utf-8";
}
