import type { Clock } from "../../core/clock.js";

/** The options of a {@link RedisStore}. */
export interface RedisStoreOptions {
  /** The beginning of every key. Default `"sluice"`. Services with the same prefix on one server share buckets. */
  readonly prefix?: string | undefined;
  /** Milliseconds for which a denial is repeated without asking the server. 0 asks every time. Default 1000. */
  readonly denyCacheMs?: number | undefined;
  /**
   * Whether calls of one tick share a request to the server, up to 128 buckets in each. Default true. Without effect on
   * Cloudflare Workers and in edge runtimes, where requests share no work.
   */
  readonly batch?: boolean | undefined;
  /** Whether the client talks to a cluster. Default: detected from the client. */
  readonly cluster?: boolean | undefined;
  /** Returns milliseconds, for tests. Default: the server's clock, the only clock that several processes share. */
  readonly clock?: Clock | undefined;
}
