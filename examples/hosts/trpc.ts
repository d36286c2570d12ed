/**
 * tRPC, with a `fetch` that waits as long as the server says.
 *
 *   const api = createApi("https://api.example.com/trpc");
 *
 * A call that is given up throws a `TRPCClientError`. Its `cause` is the `RateLimitedError` with the wait. Queries are
 * repeated; mutations are sent once.
 */
import { createTRPCClient, httpBatchLink, type TRPCClient } from "@trpc/client";
import { createFetch, type ClientOptions } from "sluice/client";
import type { AppRouter } from "./trpc-router.js";

/** Makes a client of the router. `limits` are options of `createFetch`. */
export function createApi(url: string, limits: ClientOptions = {}): TRPCClient<AppRouter> {
  return createTRPCClient<AppRouter>({ links: [httpBatchLink({ url, fetch: createFetch(limits) })] });
}
