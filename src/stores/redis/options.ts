import type { Clock } from "../../core/clock.js";
import type { GuardOptions } from "../../port/guard-options.js";

/** The options of a {@link RedisStore}. */
export interface RedisStoreOptions extends GuardOptions {
  /** The beginning of every key. Default `"sluice"`. Services with the same prefix on one server share buckets. */
  readonly prefix?: string | undefined;
  /**
   * Milliseconds for which a refusal is repeated without a call to the server. 0 calls the server every time.
   * Default 1000.
   */
  readonly denyCacheMs?: number | undefined;
  /**
   * Whether the calls of one tick share a request to the server, with up to 128 buckets in each. Default true. No
   * effect on Cloudflare Workers and in edge runtimes, where requests share no work.
   */
  readonly batch?: boolean | undefined;
  /** Whether the client talks to a cluster. Default: detected from the client. */
  readonly cluster?: boolean | undefined;
  /**
   * For clusters older than Redis 7: the number of hash tags to spread keys over, from 1 to 256. Keys with one tag
   * share calls. 16 are enough for up to five masters. Each key begins with its tag, so a change of this number makes
   * all buckets full once. Default: no hash tags.
   */
  readonly spread?: number | undefined;
  /**
   * A function that returns milliseconds, for tests. Default: the server's clock, the only clock that several processes
   * share.
   */
  readonly clock?: Clock | undefined;
}
