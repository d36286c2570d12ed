/**
 * A log of who is limited: at most one line for each key and minute, so that a flood of refusals is no flood of logs. The
 * key is behind a keyed hash: the log names no one, and with the secret you can look a caller up.
 */
import { createHmac } from "node:crypto";
import type { Decision } from "sluice";

const MINUTE_MS = 60_000;

export interface RefusalLogOptions {
  /** Keep it as you keep a password. With another secret the same caller has another hash. */
  readonly secret: string;
  /** Writes one line. Default: standard output. */
  readonly write?: (line: string) => void;
  /** The time in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
  /** The most keys that have a line in one minute. Refusals of all others are counted together. Default 10,000. */
  readonly mostKeys?: number;
}

/** The refusals of one key since its line. */
interface Counted {
  readonly policy: string;
  readonly at: number;
  more: number;
}

/** The hash of a key under which the log names a caller: the same for every process with the same secret. */
export function hashOf(key: unknown, secret: string): string {
  // For a limiter 42 and "42" are the same part of a key.
  const text = JSON.stringify(key, (_, part: unknown) => (typeof part === "number" || typeof part === "bigint" ? String(part) : part));
  return createHmac("sha256", secret).update(text).digest("hex").slice(0, 16);
}

/** Call it with each decision, `sweep` once a minute, and `end` before the process ends. */
export interface RefusalLog {
  (decision: Decision, key: unknown): void;
  /** Writes the counts of all keys whose minute is over. A key that is never refused again has no other line. */
  sweep(): void;
  /** Writes all counts. */
  end(): void;
}

/**
 * Makes the function to call with each decision. The first refusal of a key and policy in a minute is a line at once.
 * The next line of the key says in `more` how many refusals had none since then.
 */
export function createRefusalLog({ secret, write = console.log, now = Date.now, mostKeys = 10_000 }: RefusalLogOptions): RefusalLog {
  const counted = new Map<string, Counted>();
  let others = 0;
  let sweepAt = now() + MINUTE_MS;

  const log = (decision: Decision, key: unknown): void => {
    if (decision.allowed) return;
    const at = now();
    if (at >= sweepAt) sweep(at, MINUTE_MS);
    const { policy, reason, retryAfterMs } = decision;
    const hash = hashOf(key, secret);
    const id = `${policy} ${hash}`;
    const known = counted.get(id);
    if (known !== undefined && at - known.at < MINUTE_MS) return void (known.more += 1);
    if (known === undefined && counted.size >= mostKeys) return void (others += 1);
    write(JSON.stringify({ time: new Date(at).toISOString(), key: hash, policy, reason, retryAfterMs, ...(known?.more ? { more: known.more } : {}) }));
    counted.set(id, { policy, at, more: 0 });
  };
  return Object.assign(log, { sweep: () => sweep(now(), MINUTE_MS), end: () => sweep(now(), 0) });

  /** Forgets keys whose line is at least `ageMs` old, and says what they and all others left out. */
  function sweep(at: number, ageMs: number): void {
    sweepAt = at + MINUTE_MS;
    for (const [id, each] of counted) {
      if (at - each.at < ageMs) continue;
      counted.delete(id);
      if (each.more > 0) write(JSON.stringify({ time: new Date(at).toISOString(), key: id.slice(each.policy.length + 1), policy: each.policy, more: each.more }));
    }
    if (others > 0) write(JSON.stringify({ time: new Date(at).toISOString(), others }));
    others = 0;
  }
}
