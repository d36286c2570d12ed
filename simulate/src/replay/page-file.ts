import { open, stat, writeFile } from "node:fs/promises";
import { Misuse, WriteFailure, thrownText } from "../io.js";

/** How each page begins: no module and no log does. */
const PAGE_BEGINS = "<!doctype html>";

/**
 * Throws a {@link Misuse} for a page that would overwrite a file that is read, also by another name of the file. A
 * module reads more files than this command knows, so of all files only a page is written again.
 */
export async function checkPage(page: string, logs: readonly string[], policies: string | undefined): Promise<void> {
  const own = await identityOf(page);
  if (own === null) return; // a new file overwrites none
  const read = logs.map((log) => ["log", log] as const);
  const modules = policies === undefined ? [] : [["module", policies] as const];
  for (const [what, file] of [...read, ...modules]) {
    if ((await identityOf(file === "-" ? "/dev/stdin" : file)) === own)
      throw new Misuse(`Expected --html to be another file than the ${what}, got ${page}, which is ${file}`);
  }
  if (!(await isPage(page)))
    throw new Misuse(`Expected --html to be a new file, or a page that is written again, got ${page}, which is no page`);
}

/** What a file is under each of its names. Null for a file that is not there, and for a device or a folder. */
async function identityOf(file: string): Promise<string | null> {
  const found = await stat(file, { bigint: true }).catch(() => null);
  return found?.isFile() === true ? `${found.dev}:${found.ino}` : null;
}

/** Whether a file is empty, or begins as a page does. */
async function isPage(file: string): Promise<boolean> {
  const begin = Buffer.alloc(PAGE_BEGINS.length);
  const opened = await open(file).catch((error: unknown) => {
    throw new Misuse(`Cannot read ${file}: ${thrownText(error)}`);
  });
  try {
    const { bytesRead } = await opened.read(begin);
    return bytesRead === 0 || begin.toString().toLowerCase() === PAGE_BEGINS;
  } finally {
    await opened.close();
  }
}

/**
 * Writes the page. Throws a {@link Misuse} for a place that takes no file, and a {@link WriteFailure} for a full disk.
 */
export async function writePage(file: string, page: string): Promise<void> {
  try {
    await writeFile(file, page);
  } catch (error) {
    const isFull = ["ENOSPC", "EDQUOT", "EIO"].includes(String((error as { readonly code?: unknown }).code));
    throw new (isFull ? WriteFailure : Misuse)(`Cannot write ${file}: ${thrownText(error)}`);
  }
}
