/**
 * TanStack Query, with the waits of sluice in place of its own retries.
 *
 *   const { queryClient, read, send } = createQueries();
 *   const { data, error } = useQuery(read<Inbox>("/inbox"));
 *
 * A query that is given up has the `RateLimitedError` as its `error`, with the wait for the screen.
 */
import { mutationOptions, QueryClient, queryOptions } from "@tanstack/react-query";
import { createFetch, type ClientOptions } from "sluice/client";

/** Makes a query client, and the options of queries and mutations. `limits` are options of `createFetch`. */
export function createQueries(limits: ClientOptions = {}) {
  const fetch = createFetch(limits);
  return {
    queryClient: new QueryClient({ defaultOptions: { queries: { retry: false } } }),
    // The signal ends the wait when no component needs the query anymore.
    read: <T>(url: string) => queryOptions({ queryKey: [url], queryFn: ({ signal }) => json<T>(fetch(url, { signal })) }),
    send: <T>(url: string) =>
      mutationOptions({ mutationFn: (body: object) => json<T>(fetch(url, { method: "POST", body: JSON.stringify(body) })) }),
  };
}

async function json<T>(answer: Promise<Response>): Promise<T> {
  const response = await answer;
  if (!response.ok) throw new Error(`Status ${response.status}`);
  return (await response.json()) as T;
}
