import { defineEventHandler, getRequestURL, type H3Event } from "h3-v1";

/** What Nitro adds to the event. Nuxt's `useFetch` calls it on the server. */
interface NitroFetch {
  $fetch(path: string): Promise<unknown>;
}

export default defineEventHandler((event) => (event as H3Event & NitroFetch).$fetch(`/inbox${getRequestURL(event).search}`));
