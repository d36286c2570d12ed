import type { LogEntry } from "./entry.js";

/** Requests in the order of their times, of which a part is known at a time. */
export interface OrderedSource {
  /** The next request that is known. */
  readonly next: LogEntry | undefined;
  /** Takes the next one. */
  take(): void;
  /** Reads on. Resolves to false at the end. */
  more(): Promise<boolean>;
}

/**
 * Gives on the requests of all sources, in the order of their times. Of one time, those of the first source come first.
 * A shell names access.log before access.log.1, and several servers write at the same time.
 */
export async function mergeByTime(sources: readonly OrderedSource[], give: (entry: LogEntry) => void): Promise<void> {
  let open = sources;
  for (;;) {
    for (const source of open) {
      while (source.next === undefined && (await source.more()));
    }
    open = open.filter(({ next }) => next !== undefined);
    const [first, until] = earliest(open);
    if (first === undefined) return;
    for (let { next } = first; next !== undefined && next.at <= until; { next } = first) {
      first.take();
      give(next);
    }
  }
}

/** The source with the earliest request, and the time of the earliest one of all others. */
function earliest(sources: readonly OrderedSource[]): [first: OrderedSource | undefined, until: number] {
  let first: OrderedSource | undefined;
  let [at, until] = [Infinity, Infinity];
  for (const source of sources) {
    const next = (source.next as LogEntry).at;
    if (first === undefined || next < at) [first, until, at] = [source, at, next];
    else if (next < until) until = next;
  }
  return [first, until];
}
