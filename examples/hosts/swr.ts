/**
 * SWR, with the waits of sluice in place of its own retries.
 *
 *   <SWRConfig value={createConfig()}>
 *
 * A key that is given up has the `RateLimitedError` as its `error`, with the wait for the screen.
 */
import type { SWRConfiguration } from "swr";
import { createFetch, type ClientOptions } from "sluice/client";

/** Makes the value of `SWRConfig`. `limits` are options of `createFetch`. */
export function createConfig(limits: ClientOptions = {}): SWRConfiguration {
  const fetch = createFetch(limits);
  return {
    fetcher: async (url: string): Promise<unknown> => {
      const response = await fetch(url);
      if (!response.ok) throw new Error(`${url} answered ${response.status}`);
      return response.json();
    },
    shouldRetryOnError: false,
  };
}
