// A store over a system that sluice does not know: NATS JetStream's key-value buckets, which compare revisions.
import { createHash } from "node:crypto";
import type { KV, NatsError } from "nats";
import type { AsyncStore } from "sluice";
import { casStore, type CasBackend, type CasStoreOptions } from "sluice/store";

// The server's error code when another process was faster.
const WRONG_LAST_REVISION = 10_071;

/** The two calls that `casStore` needs. */
export function natsBackend(bucket: KV): CasBackend<number> {
  return {
    async read(key) {
      const entry = await bucket.get(nameOf(key));
      // A deleted key also has a revision, and counts as absent.
      return entry === null || entry.operation !== "PUT" ? null : { value: entry.string(), version: entry.revision };
    },
    async write(key, value, version) {
      try {
        if (version === null) await bucket.create(nameOf(key), value);
        else await bucket.update(nameOf(key), value, version);
        return true;
      } catch (error) {
        if ((error as NatsError).api_error?.err_code === WRONG_LAST_REVISION) return false;
        throw error; // it is unknown whether the write happened: the decision must fail, not run again
      }
    },
  };
}

/**
 * Buckets in NATS. The stream decides how long it keeps them. Give it a `ttl` of at least the longest time that one of
 * your limits takes to refill.
 */
export function natsStore(bucket: KV, options: CasStoreOptions = {}): AsyncStore {
  return casStore(natsBackend(bucket), options);
}

// NATS allows few kinds of characters in a key, and closes the connection for a key of 4 KiB.
function nameOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
