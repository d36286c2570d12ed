// Buckets in memcached, through the `memcached` package: it has `gets` and `cas`, which not every client has.
import { createHash } from "node:crypto";
import type Memcached from "memcached";
import { casStore, type CasStoreOptions } from "sluice/store";

export function memcachedStore(client: Memcached, options: CasStoreOptions = {}) {
  return casStore<string>(
    {
      read: (key) =>
        new Promise((resolve, reject) => {
          const name = nameOf(key);
          client.gets(name, (error, found) => (error ? reject(error) : resolve(found ? { value: found[name], version: found.cas } : null)));
        }),
      write: (key, value, version, ttlMs) =>
        new Promise((resolve, reject) => {
          const done = (error: { notStored?: boolean } | undefined, isWritten: boolean) =>
            error?.notStored ? resolve(false) : error ? reject(error) : resolve(isWritten);
          if (version === null) client.add(nameOf(key), value, lifetimeOf(ttlMs), done);
          else client.cas(nameOf(key), value, version, lifetimeOf(ttlMs), done);
        }),
    },
    options,
  );
}

/** memcached allows 250 bytes, and no spaces. */
const nameOf = (key: string) => createHash("sha256").update(key).digest("hex");

/** Whole seconds. Its clock ticks once a second, so one more. More than 30 days are a date; a date after 2^31 - 1 means never. */
export function lifetimeOf(ttlMs: number, now = Date.now()): number {
  const seconds = Math.ceil(ttlMs / 1_000) + 1;
  if (seconds <= 30 * 24 * 3_600) return seconds;
  const date = Math.ceil(now / 1_000) + seconds;
  return date < 2 ** 31 ? date : 0;
}
