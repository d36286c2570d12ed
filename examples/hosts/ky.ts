/**
 * ky, with the waits of sluice in place of its own retries.
 *
 *   const http = createHttp({ prefixUrl: "https://api.example.com" });
 *
 * A call that is given up throws ky's `HTTPError` of the status 429. ky's `timeout` would count the wait, too, so each
 * attempt gets a timeout instead.
 */
import ky, { type KyInstance, type Options } from "ky";
import { createFetch, type ClientOptions } from "sluice/client";

/** Makes a ky. `limits` are options of `createFetch`. */
export function createHttp(options: Options = {}, limits: ClientOptions = {}): KyInstance {
  const fetch = createFetch({ giveUp: "return", attemptTimeoutMs: 10_000, retryStatuses: [408, 500, 502, 503, 504], ...limits });
  return ky.create({ ...options, fetch, retry: 0, timeout: false });
}
