/** Who calls most, and who is refused most, in the last minutes. The memory is bounded, however many callers there are. */
import { createHash } from "node:crypto";
import type { DecisionEvent, Key, LimiterEvent } from "sluice";
import { HeavyHitters, mergeSummaries, type Summary } from "./heavy-hitters.js";

const MINUTE_MS = 60_000;
/** The most characters of a key that are kept. A caller may send a key of 16 kB. */
const LONGEST_KEY = 256;

/** At most `count`, and at least `count - error`. */
export interface Count {
  readonly count: number;
  readonly error: number;
}

/** The counts of a caller: a limiter by its name, and a key of it. */
export interface CallerRow {
  readonly limiter: string;
  /** Its parts are texts: `42` and `"42"` are one bucket. */
  readonly key: Key;
  /** Only for a key of more than 256 characters: `key` is then its beginning, and this tells it from others. */
  readonly digest?: string;
  readonly requests: Count;
  readonly refused: Count;
  /** What would have been refused without shadow mode. */
  readonly onTrial: Count;
}

/** What one process, or all of them, know. */
export type CallerCounts = Readonly<Record<Kind, Summary>>;
type Kind = (typeof KINDS)[number];
const KINDS = ["requests", "refused", "onTrial"] as const;

type Minute = { readonly at: number } & Readonly<Record<Kind, HeavyHitters>>;

/** Counts the callers of the last `minutes`, with at most `size` callers a minute. */
export class RecentCallers {
  #minutes: readonly Minute[] = [];
  readonly #kept: number;
  readonly #size: number;
  readonly #now: () => number;

  constructor({ minutes = 5, size = 500, now = Date.now }: { readonly minutes?: number; readonly size?: number; readonly now?: () => number } = {}) {
    this.#kept = minutes;
    this.#size = size;
    this.#now = now;
  }

  /** A listener for `createObserver`, for the limiter of this name. */
  listener(limiter: string): (event: LimiterEvent, key: Key | null) => void {
    return (event, key) => {
      if (event.type === "decision" && key !== null) this.#add(idOf(limiter, key), event);
    };
  }

  counts(): CallerCounts {
    this.#turn();
    return mergeCounts(this.#minutes.map(({ requests, refused, onTrial }) => ({ requests: requests.summary(), refused: refused.summary(), onTrial: onTrial.summary() })));
  }

  #add(id: string, { outcome }: DecisionEvent): void {
    const { requests, refused, onTrial } = this.#turn();
    requests.add(id);
    if (outcome === "shadow_refused") onTrial.add(id);
    // The whole service is overloaded: its callers did nothing wrong.
    else if (outcome !== "allowed" && outcome !== "overloaded") refused.add(id);
  }

  /** The sketches of this minute. Those that are too old are dropped. */
  #turn(): Minute {
    const at = Math.floor(this.#now() / MINUTE_MS);
    const last = this.#minutes.at(-1);
    if (last?.at === at) return last;
    const sketch = (): HeavyHitters => new HeavyHitters(this.#size);
    const next = { at, requests: sketch(), refused: sketch(), onTrial: sketch() };
    // After a step back of the clock some lie in the future. They pass by their number.
    this.#minutes = [...this.#minutes.filter((each) => each.at > at - this.#kept), next].slice(-this.#kept);
    return next;
  }
}

/** Counts of minutes or processes as one. */
export function mergeCounts(all: readonly CallerCounts[]): CallerCounts {
  const merged = (kind: Kind): Summary => mergeSummaries(all.map((each) => each[kind]));
  return { requests: merged("requests"), refused: merged("refused"), onTrial: merged("onTrial") };
}

/** The callers with the most requests or refusals, most first. */
export function rowsOf(counts: CallerCounts, by: Kind, most = 20): CallerRow[] {
  const [requests, refused, onTrial] = KINDS.map((kind) => {
    const { entries, floor } = counts[kind];
    const known = new Map(entries.map((each) => [each.id, each]));
    return (id: string): Count => {
      const { count, error } = known.get(id) ?? { count: floor, error: floor };
      return { count, error };
    };
  }) as [Find, Find, Find];
  return counts[by].entries.slice(0, most).map(({ id }) => {
    const [limiter, key, digest] = JSON.parse(id) as [string, Key, string?];
    return { limiter, key, ...(digest === undefined ? {} : { digest }), requests: requests(id), refused: refused(id), onTrial: onTrial(id) };
  });
}

type Find = (id: string) => Count;

/** The callers with the most requests, refusals and refusals on trial, each once. */
export function busiestCallers(counts: CallerCounts): CallerRow[] {
  const rows = KINDS.flatMap((kind) => rowsOf(counts, kind)).map((row) => [JSON.stringify([row.limiter, row.key, row.digest]), row] as const);
  return [...new Map(rows).values()];
}

/** One text for each bucket of a limiter. A long key is cut, with a digest that tells it from others. */
function idOf(limiter: string, key: Key): string {
  const parts = typeof key === "string" ? key : key.map(String);
  const length = typeof parts === "string" ? parts.length : parts.reduce((sum, part) => sum + part.length, 0);
  if (length <= LONGEST_KEY) return JSON.stringify([limiter, parts]);
  const text = JSON.stringify(parts);
  const digest = createHash("sha256").update(text).digest("base64url");
  return JSON.stringify([limiter, typeof parts === "string" ? parts.slice(0, LONGEST_KEY) : text.slice(0, LONGEST_KEY), digest]);
}
