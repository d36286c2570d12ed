/**
 * openapi-fetch, with a `fetch` that waits as long as the server says.
 *
 *   const api = createApi<paths>("https://api.example.com");
 *
 * A call that is given up returns `{ error, response }`: the 429 and its body.
 */
import createClient, { type Client } from "openapi-fetch";
import { createFetch, type ClientOptions } from "sluice/client";

/** Makes a client of the paths that openapi-typescript wrote. `limits` are options of `createFetch`. */
export function createApi<Paths extends object>(baseUrl: string, limits: ClientOptions = {}): Client<Paths> {
  return createClient<Paths>({ baseUrl, fetch: createFetch({ giveUp: "return", ...limits }) });
}
