/** Who calls most, and who is refused most, in the last minutes. The memory is bounded, however many callers there are. */
import type { DecisionEvent, Key, LimiterEvent } from "sluice";
import { HeavyHitters, mergeSummaries, type Summary } from "./heavy-hitters.js";

const MINUTE_MS = 60_000;

/** The counts of a caller: a limiter by its name, and a key of it. */
export interface CallerRow {
  readonly limiter: string;
  readonly key: Key;
  /** At most so many, and at least so many less by `requestsError`. */
  readonly requests: number;
  readonly requestsError: number;
  readonly refused: number;
  readonly refusedError: number;
}

/** What one process, or all of them, know. */
export interface CallerCounts {
  readonly requests: Summary;
  readonly refused: Summary;
}

/** Counts the callers of the last `minutes`, with at most `size` callers a minute. */
export class RecentCallers {
  readonly #minutes: { readonly at: number; readonly requests: HeavyHitters; readonly refused: HeavyHitters }[] = [];
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
      if (event.type === "decision" && key !== null) this.#add(JSON.stringify([limiter, key]), event);
    };
  }

  counts(): CallerCounts {
    this.#turn();
    return mergeCounts(this.#minutes);
  }

  #add(id: string, { outcome }: DecisionEvent): void {
    const { requests, refused } = this.#turn();
    requests.add(id);
    if (outcome !== "allowed") refused.add(id);
  }

  /** The sketches of this minute. Those that are too old are dropped. */
  #turn() {
    const at = Math.floor(this.#now() / MINUTE_MS);
    const last = this.#minutes.at(-1);
    if (last?.at === at) return last;
    const next = { at, requests: new HeavyHitters(this.#size), refused: new HeavyHitters(this.#size) };
    this.#minutes.push(next);
    while ((this.#minutes[0]?.at ?? at) <= at - this.#kept) this.#minutes.shift();
    return next;
  }
}

/** Counts of minutes or processes as one. */
export function mergeCounts(all: readonly { readonly requests: HeavyHitters | Summary; readonly refused: HeavyHitters | Summary }[]): CallerCounts {
  const summaryOf = (each: HeavyHitters | Summary): Summary => (each instanceof HeavyHitters ? each.summary() : each);
  return { requests: mergeSummaries(all.map((each) => summaryOf(each.requests))), refused: mergeSummaries(all.map((each) => summaryOf(each.refused))) };
}

/** The callers with the most requests or refusals, most first. */
export function rowsOf({ requests, refused }: CallerCounts, by: "requests" | "refused", most = 20): CallerRow[] {
  const [asked, turnedAway] = [requests, refused].map((summary) => {
    const known = new Map(summary.entries.map((each) => [each.id, each]));
    return (id: string) => known.get(id) ?? { count: summary.floor, error: summary.floor };
  }) as [Find, Find];
  return { requests, refused }[by].entries.slice(0, most).map(({ id }) => {
    const [limiter, key] = JSON.parse(id) as [string, Key];
    return { limiter, key, requests: asked(id).count, requestsError: asked(id).error, refused: turnedAway(id).count, refusedError: turnedAway(id).error };
  });
}

type Find = (id: string) => { readonly count: number; readonly error: number };
