import type { Limit } from "../core/limit.js";
import type { Policy } from "../core/policy.js";
import { StoreError } from "./shared/store-error.js";
import { Snapshot, type StorePart } from "./shared/snapshot.js";

/** What the script is asked to do: consume, peek, refund or delete; several parts together or not at all. */
export interface StoreRequest {
  readonly what: "c" | "p" | "r" | "d";
  readonly parts: readonly StorePart[];
}

/** The script's keys and arguments; `now` is empty for the server's clock. See `redis-script.ts`. */
export function writeRequests(requests: readonly StoreRequest[], now: string): { keys: string[]; args: string[] } {
  const keys: string[] = [];
  const places = new Map<Policy, number>();
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
      if (place === undefined) places.set(policy, (place = places.size + 1));
      runs.push(String(place), String(tokens));
    }
  }
  const args = [now, String(places.size)];
  for (const { limits } of places.keys()) {
    args.push(String(limits.length));
    for (const { name, capacity, unitsPerMs, unitsPerToken, fullMs } of limits) {
      args.push(name, String(capacity), String(unitsPerMs), String(unitsPerToken), String(fullMs));
    }
  }
  args.push(...runs);
  return { keys, args };
}

function asksAlike(a: StoreRequest, b: StoreRequest): boolean {
  return (
    a.what === b.what &&
    a.parts.length === b.parts.length &&
    a.parts.every(({ policy, tokens }, i) => policy === b.parts[i]?.policy && tokens === b.parts[i]?.tokens)
  );
}

/** One entry for each request: its parts' snapshots, or the error that fails it alone. */
export function readReply(reply: unknown, requests: readonly StoreRequest[]): Array<Snapshot[] | Error> {
  const numbers = Array.isArray(reply) ? (reply as readonly unknown[]) : [];
  const now = Number(numbers[0]);
  let place = 1;
  const answers = requests.map(({ what, parts }) => {
    let foreign = "";
    const snapshots = parts.map(({ policy, name }) => {
      const fits = Number(numbers[place++]);
      if (fits < 0 && what !== "d") foreign = name;
      const buckets = policy.limits.map(({ unitsPerMs, unitsPerToken }: Limit) => {
        const spent = Number(numbers[place++]);
        const at = now + Number(numbers[place++]);
        return { spent, at, unitsPerMs, unitsPerToken };
      });
      return new Snapshot(now, buckets, fits === 1);
    });
    return foreign === "" ? snapshots : new StoreError("ERR_STORE_FOREIGN_VALUE", `Expected ${JSON.stringify(foreign)} to hold a bucket, got a value of something else`);
  });
  if (place !== numbers.length) throw new StoreError("ERR_STORE_REPLY", "The script's answer is not as long as the question");
  return answers;
}
