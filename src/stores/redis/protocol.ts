import type { Bucket } from "../../core/bucket.js";
import type { Policy } from "../../core/policy.js";
import { withoutBraces } from "./slot.js";
import { portableKey } from "../shared/portable-key.js";
import { StoreError } from "../shared/store-error.js";
import { Snapshot, type StorePart } from "../shared/snapshot.js";

/** What the script is asked to do: consume, peek, refund, debit or delete; several parts together or not at all. */
export interface StoreRequest {
  readonly what: "c" | "p" | "r" | "b" | "d";
  readonly parts: readonly StorePart[];
}

/** A part with the caller's own key. Its name is made when it is needed, for many wait at a time and each would keep its own. */
export class Part implements StorePart {
  readonly prefix: string;
  readonly policy: Policy;
  readonly key: string;
  readonly tokens: number;

  constructor(prefix: string, policy: Policy, key: string, tokens: number) {
    this.prefix = prefix;
    this.policy = policy;
    this.key = key;
    this.tokens = tokens;
  }

  get name(): string {
    return `${this.prefix}${this.policy.name} ${PLAIN.test(this.key) ? this.key : withoutBraces(portableKey(this.key))}`;
  }
}

/** The script's keys and arguments; `now` is empty for the server's clock. See `redis-script.ts`. */
export function writeRequests(requests: readonly StoreRequest[], now: string): { keys: string[]; args: string[] } {
  const keys: string[] = [];
  const args = [now, ""];
  // Where in ARGV, which counts from 1, each policy stands.
  const places = new Map<Policy, string>();
  const runs: string[] = [];
  for (let i = 0; i < requests.length; ) {
    const first = requests[i] as StoreRequest;
    const start = i;
    // Most traffic asks alike but for its key, and says the rest once.
    do {
      for (const { name } of (requests[i] as StoreRequest).parts) keys.push(name);
      i++;
    } while (i < requests.length && asksAlike(first, requests[i] as StoreRequest));
    runs.push(first.what, String(i - start), String(first.parts.length));
    for (const { policy, tokens } of first.parts) {
      let place = places.get(policy);
      if (place === undefined) {
        place = String(args.length + 1);
        places.set(policy, place);
        args.push(String(policy.limits.length));
        for (const { name, capacity, unitsPerMs, unitsPerToken } of policy.limits) {
          args.push(name, String(capacity), String(unitsPerMs), String(unitsPerToken));
        }
      }
      runs.push(place, String(tokens));
    }
  }
  args[1] = String(args.length + 1);
  args.push(...runs);
  return { keys, args };
}

function asksAlike(a: StoreRequest, b: StoreRequest): boolean {
  if (a.what !== b.what || a.parts.length !== b.parts.length) return false;
  for (let i = 0; i < a.parts.length; i++) {
    const [one, other] = [a.parts[i] as StorePart, b.parts[i] as StorePart];
    if (one.policy !== other.policy || one.tokens !== other.tokens) return false;
  }
  return true;
}

/**
 * One entry for each request: its parts' snapshots, or the error that fails it alone, `"ERR_STORE_FOREIGN_VALUE"`. Throws a
 * StoreError with `"ERR_STORE_REPLY"` for what the script would not say.
 */
export function readReply(reply: unknown, requests: readonly StoreRequest[]): Array<Snapshot[] | Error> {
  const reader = new Reader(Array.isArray(reply) ? reply : []);
  const answers = requests.map((request) => reader.answer(request));
  if (!reader.isDone) throw new StoreError("ERR_STORE_REPLY", "The script's answer is not as long as the question");
  return answers;
}

class Reader {
  readonly #said: readonly unknown[];
  readonly #now: number;
  #place = 1;

  constructor(said: readonly unknown[]) {
    this.#said = said;
    this.#now = wholeOf(said[0]);
  }

  get isDone(): boolean {
    return this.#place === this.#said.length;
  }

  answer({ what, parts }: StoreRequest): Snapshot[] | Error {
    let foreign: string | null = null;
    const snapshots = parts.map((part) => {
      let fits = true;
      const buckets = part.policy.limits.map(({ unitsPerMs, unitsPerToken }): Bucket => {
        const entry = this.#said[this.#place++];
        if (entry === null) foreign = part.name;
        const ahead = Array.isArray(entry);
        const number = entry === null ? -1 : wholeOf(ahead ? entry[0] : entry);
        // A part that is refused says -1 minus what is spent.
        fits = number >= 0;
        return { spent: fits ? number : -1 - number, at: ahead ? this.#now + wholeOf(entry[1]) : this.#now, unitsPerMs, unitsPerToken };
      });
      return new Snapshot(this.#now, buckets, fits);
    });
    // To be deleted, a value may be anybody's.
    return foreign === null || what === "d" ? snapshots : foreignValue(foreign);
  }
}

function foreignValue(name: string): StoreError {
  return new StoreError("ERR_STORE_FOREIGN_VALUE", `Expected ${JSON.stringify(name)} to hold a bucket, got a value of something else`);
}

// The script writes the greatest numbers as text, and some clients can be told to answer strings for all of them.
function wholeOf(entry: unknown): number {
  const number = typeof entry === "string" ? Number(entry) : entry;
  if (!Number.isInteger(number)) throw new StoreError("ERR_STORE_REPLY", `Expected a whole number in the script's answer, got ${typeof entry}`);
  return number as number;
}

// Keys that stay as they are, which most are: ASCII without braces.
const PLAIN = /^[ -z|~]*$/;
