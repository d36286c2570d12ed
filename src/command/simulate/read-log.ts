import type { Readable } from "node:stream";
import { readerFor, type LogEntry, type LogFields, type ReadEntry } from "../log/formats.js";
import { InOrder } from "../log/in-order.js";
import { readLines, type TellProgress } from "../log/lines.js";

/** What was read of a log. */
export interface LogSummary {
  readonly requests: number;
  readonly callers: number;
  /** The times of the first and the last request, in ms since 1970. 0 without one. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Lines that are no requests, and the first five of them with their numbers. */
  readonly unreadable: {
    readonly count: number;
    readonly first: ReadonlyArray<{ readonly line: number; readonly text: string }>;
  };
  readonly withoutKey: number;
  /** Lines that came more than `windowMs` after younger ones. */
  readonly late: number;
  readonly windowMs: number;
}

/** Where a log is, and how it is read. */
export interface LogSource {
  readonly files: readonly string[];
  readonly stdin: Readable;
  readonly fields: LogFields;
  readonly windowMs: number;
}

const MOST_SHOWN = 5;

/** Reads a log to its end, and gives on its requests in the order of their times. */
export async function readLog(
  { files, stdin, fields, windowMs }: LogSource,
  give: (entry: LogEntry) => void,
  tell?: TellProgress,
): Promise<LogSummary> {
  let [line, requests, withoutKey, unreadable, firstAt, lastAt] = [0, 0, 0, 0, 0, 0];
  const first: { line: number; text: string }[] = [];
  const callers = new Map<string, string>();
  let read: ReadEntry | null = null;
  const ordered = new InOrder(windowMs, (entry) => {
    if (requests === 0) firstAt = entry.at;
    lastAt = entry.at;
    requests += 1;
    give(entry);
  });
  const onLine = (text: string): void => {
    line += 1;
    if (text.trim() === "") return;
    read ??= readerFor(text, fields);
    const entry = read(text);
    if (entry === null) {
      unreadable += 1;
      if (first.length < MOST_SHOWN) first.push({ line, text: flatText(text.slice(0, 200)) });
    } else if (entry.key === "") withoutKey += 1;
    else {
      entry.key = callers.get(entry.key) ?? known(callers, entry.key);
      ordered.add(entry);
    }
  };
  await readLines(files, stdin, onLine, tell);
  ordered.end();
  return {
    requests,
    callers: callers.size,
    firstAt,
    lastAt,
    unreadable: { count: unreadable, first },
    withoutKey,
    late: ordered.late,
    windowMs,
  };
}

function known(callers: Map<string, string>, key: string): string {
  const own = flatText(key);
  callers.set(own, own);
  return own;
}

// V8 keeps a part of a text as a reference to the whole: a key would keep the 64 kB that were read with it.
function flatText(text: string): string {
  return Buffer.from(text).toString();
}
