// A store over a system that sluice does not know: NATS JetStream's key-value buckets, which compare revisions.
import { createHash } from "node:crypto";
import type { KV, NatsError } from "nats";
import type { AsyncStore, Clock } from "sluice";
import { casStore, type CasBackend } from "sluice/cas";

// What the server answers when somebody else was faster.
const WRONG_LAST_REVISION = 10_071;

/** The two calls that `casStore` needs. */
export function natsBackend(bucket: KV): CasBackend<number> {
  return {
    async read(key) {
      const entry = await bucket.get(nameOf(key));
      // A deleted key has a revision, too, and is absent.
      return entry === null || entry.operation !== "PUT" ? null : { value: entry.string(), version: entry.revision };
    },
    async write(key, value, version) {
      try {
        if (version === null) await bucket.create(nameOf(key), value);
        else await bucket.update(nameOf(key), value, version);
        return true;
      } catch (error) {
        if ((error as NatsError).api_error?.err_code === WRONG_LAST_REVISION) return false;
        throw error; // nobody knows whether it was written: the decision must fail, not be made again
      }
    },
  };
}

/**
 * Buckets in NATS. They are kept as long as the stream keeps them: make it with a `ttl` of at least the longest time that one
 * of your limits takes to refill.
 */
export function natsStore(bucket: KV, options: { readonly clock?: Clock } = {}): AsyncStore {
  return casStore(natsBackend(bucket), options);
}

// NATS allows few kinds of characters in a key, and ends the connection of who sends one of 4 KiB.
function nameOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
