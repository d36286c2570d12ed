import { expected } from "../../core/check.js";
import { BucketTable, type BucketStorage } from "./bucket-table.js";
import type { BucketCall } from "./call.js";

/** The part of a Durable Object's storage that is used here. */
interface ObjectStorage extends BucketStorage {
  getAlarm(): Promise<number | null>;
  setAlarm(at: number): Promise<void>;
  list(options: { readonly limit: number }): Promise<ReadonlyMap<string, unknown>>;
  deleteAll(): Promise<void>;
}

interface ObjectState {
  readonly storage: ObjectStorage;
}

/** A class of Durable Objects: `DurableObject` of `cloudflare:workers`, or your own class that extends it. */
export type DurableObjectClass = abstract new (state: never, env: never) => object;

/** The methods that {@link withBuckets} adds to a Durable Object. */
export interface BucketMethods {
  /** Does one call of a `DurableObjectStore`. Not for other callers: its form may change with each version. */
  sluice(call: BucketCall): Promise<readonly unknown[]>;
  /** Deletes the buckets that are full. When nothing else is stored, deletes the object's storage, too. */
  alarm(): Promise<void>;
}

// An alarm costs a request and a row.
const BETWEEN_ALARMS_MS = 60_000;
// Alarms have a latest year. One that is too early sets the next one.
const LONGEST_ALARM_MS = 30 * 86_400_000;

/**
 * Returns a class of Durable Objects that keep buckets. Export a class that extends it from your Worker, and name it
 * under `new_sqlite_classes` in the migrations.
 *
 * Each object deletes its full buckets by its alarm, at most once a minute. A class with an `alarm` of its own calls
 * `super.alarm()`, and schedules no alarm later than the one that is set.
 *
 * Throws a TypeError for anything but a class.
 * @experimental
 * @example
 * export class Buckets extends withBuckets(DurableObject) {}
 */
export function withBuckets<Base extends DurableObjectClass>(
  base: Base,
): new (...args: ConstructorParameters<Base>) => InstanceType<Base> & BucketMethods {
  if (typeof base !== "function") throw new TypeError(expected("base", "the class DurableObject of cloudflare:workers", base));
  const Parent = base as unknown as new (state: ObjectState, env: unknown) => object;

  class ObjectWithBuckets extends Parent implements BucketMethods {
    readonly #storage: ObjectStorage;
    readonly #table: BucketTable;
    /** When the alarm goes off; null without one, undefined while unknown. */
    #alarmAt: number | null | undefined;

    constructor(state: ObjectState, env: unknown) {
      super(state, env);
      this.#storage = state.storage;
      this.#table = new BucketTable(state.storage);
    }

    async sluice(call: BucketCall): Promise<readonly unknown[]> {
      const now = Date.now();
      const { answers, expiresAt } = this.#table.run(call, now);
      if (expiresAt !== null) await this.#sweepAt(expiresAt, now);
      return answers;
    }

    async alarm(): Promise<void> {
      this.#alarmAt = null;
      const hasValues = (await this.#storage.list({ limit: 1 })).size > 0;
      const now = Date.now();
      // No call comes between the two, because nothing waits.
      const next = this.#table.sweep(now);
      if (next !== null) return this.#sweepAt(next, now);
      if (hasValues || !this.#table.isAlone) return;
      this.#table.forget();
      await this.#storage.deleteAll();
    }

    async #sweepAt(at: number, now: number): Promise<void> {
      if (this.#alarmAt === undefined) this.#alarmAt = await this.#storage.getAlarm();
      const wanted = Math.min(Math.max(at, now + BETWEEN_ALARMS_MS), now + LONGEST_ALARM_MS);
      // An alarm that is early enough sets the next one itself.
      if (this.#alarmAt !== null && this.#alarmAt <= wanted + BETWEEN_ALARMS_MS) return;
      this.#alarmAt = wanted;
      await this.#storage.setAlarm(wanted);
    }
  }

  return ObjectWithBuckets as unknown as new (...args: ConstructorParameters<Base>) => InstanceType<Base> & BucketMethods;
}
