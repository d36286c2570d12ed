/**
 * A store on Cloudflare's Durable Objects, and the class of these objects.
 *
 * Experimental: names, defaults and the form of the stored rows may change in a minor version.
 * @module sluice/durable-object
 * @experimental
 */
import { checkOptions, expected } from "../../core/check.js";
import { readClock, sharedClock, type Clock } from "../../core/clock.js";
import type { Policy } from "../../core/policy.js";
import { guard, GUARD_OPTIONS, guardOptionsOf } from "../../guard/guard.js";
import type { GuardOptions } from "../../port/guard-options.js";
import { STORE_VERBS, type Charge, type StoreAnswer, type StoreCall } from "../../core/records.js";
import { LIMIT_KINDS, type AsyncStore, type Guard } from "../../port/store.js";
import { bucketName } from "../shared/bucket-name.js";
import { checkCharges, checkOnePart } from "../shared/charges.js";
import type { BucketPart } from "./call.js";
import type { BucketMethods } from "./with-buckets.js";

export { StoreError, type StoreErrorCode } from "../shared/store-error.js";
export { withBuckets, type BucketMethods } from "./with-buckets.js";

/** A namespace of Durable Objects: a binding such as `env.BUCKETS`. */
export interface BucketNamespace {
  /** The id of the object of this name. */
  idFromName(name: string): object;
  /** What calls the object. */
  get(id: never): object;
}

/** The options of a {@link DurableObjectStore}. */
export interface DurableObjectStoreOptions extends GuardOptions {
  /**
   * The name of one object that keeps all buckets of the store, so that charges can be made together. It decides about
   * 1,000 requests per second. Default: an object for each bucket.
   */
  readonly object?: string | undefined;
  /** Returns milliseconds, for tests. Default: the clock of the objects. */
  readonly clock?: Clock | undefined;
}

/**
 * Keeps buckets in Durable Objects with SQLite storage. The object decides, atomically and by its own clock.
 *
 * By default each pair of policy and key has an object of its own, near its first caller. A granted request writes one
 * row; a refusal and a peek write none.
 * @experimental
 * @example
 * const store = new DurableObjectStore(env.BUCKETS, { timeoutMs: 1_000 });
 * const limiter = createLimiter({ policy: { capacity: 30, refill: perSecond(5) }, store });
 * const decision = await limiter.consume(["user", "42"]);
 */
export class DurableObjectStore implements AsyncStore {
  readonly sync = false;
  readonly clock: Clock | "server";
  readonly kinds = LIMIT_KINDS;
  readonly verbs = STORE_VERBS;
  /** Whether one call can have several parts: with `object` alone. */
  readonly together: boolean;
  readonly guard: Guard;

  readonly #namespace: BucketNamespace;
  readonly #object: string | undefined;
  readonly #texts = new WeakMap<Policy, string>();

  /** Sends nothing yet. Throws a TypeError or RangeError that names the wrong argument. */
  constructor(namespace: BucketNamespace, options: DurableObjectStoreOptions = {}) {
    const { idFromName, get } = Object(namespace) as Partial<BucketNamespace>;
    if (typeof idFromName !== "function" || typeof get !== "function") {
      throw new TypeError(
        `${expected("namespace", "a binding such as env.BUCKETS", namespace)}. ` +
          `Bind the class under \`durable_objects\` in wrangler.jsonc`,
      );
    }
    const own = checkOptions(options, ["object", "clock", ...GUARD_OPTIONS]);
    const { object, clock } = own;
    if (object !== undefined && (typeof object !== "string" || object === "")) {
      throw new TypeError(expected("object", "a non-empty string", object));
    }
    this.clock = sharedClock(clock);
    this.guard = guard(guardOptionsOf(own));
    this.#namespace = namespace;
    this.#object = object;
    // One step changes one object.
    this.together = object !== undefined;
  }

  async ask(call: StoreCall): Promise<readonly StoreAnswer[]> {
    const { verb, parts, from, move } = call;
    if (!this.together) checkOnePart(call);
    if (parts.length > 1) checkCharges(parts);
    const asked = parts.map((part) => this.#part(part));
    const id = this.#namespace.idFromName(this.#object ?? (asked[0] as BucketPart).name);
    // The stub belongs to the request that made it, so no two calls share one (law L15).
    const stub = this.#namespace.get(id as never) as BucketMethods;
    const now = this.clock === "server" ? undefined : readClock(this.clock);
    return stub.sluice({ verb, parts: asked, now, from, move }) as Promise<readonly StoreAnswer[]>;
  }

  #part({ policy, key, cost }: Charge): BucketPart {
    const name = bucketName(policy, key);
    let text = this.#texts.get(policy);
    if (text === undefined) this.#texts.set(policy, (text = JSON.stringify(policy)));
    return { name, policy: text, amount: cost };
  }
}
