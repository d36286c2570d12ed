/**
 * A store over MongoDB. Make the client with `retryWrites: false`: a repeated write finds its own first write.
 *
 *   const client = new MongoClient(url, { retryWrites: false, w: "majority", timeoutMS: 5_000 });
 *   const buckets = client.db("app").collection<Bucket>("buckets");
 *   await buckets.createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 }); // MongoDB deletes what is full again
 *   const store = mongoStore(buckets, { sharedBy: 4 });
 */
import { MongoServerError, ObjectId, type Collection } from "mongodb";
import type { AsyncStore } from "sluice";
import { casStore, type CasStoreOptions } from "sluice/store";

export interface Bucket {
  readonly _id: string;
  readonly value: string;
  /** Another one for each write, so that no later document has the version of one that was deleted. */
  readonly version: ObjectId;
  readonly expiresAt: Date;
}

const DUPLICATE_KEY = 11_000;
const LAST_DATE = 8.64e15;

export function mongoStore(buckets: Collection<Bucket>, options?: CasStoreOptions): AsyncStore {
  return casStore<ObjectId>({
    async read(key) {
      const found = await buckets.findOne({ _id: key });
      return found && { value: found.value, version: found.version };
    },
    async write(key, value, version, ttlMs) {
      const next = { value, version: new ObjectId(), expiresAt: new Date(Math.min(Date.now() + ttlMs, LAST_DATE)) };
      if (version !== null) return (await buckets.updateOne({ _id: key, version }, { $set: next })).matchedCount === 1;
      try {
        await buckets.insertOne({ _id: key, ...next });
        return true;
      } catch (error) {
        if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return false; // another process was faster
        throw error; // it is unknown whether the write happened
      }
    },
  }, options);
}
