// What people type into the search of the site, and the pages that answer it. Written before the headings were changed for it.

/** A question, and the addresses that answer it: a page, or a heading of a page. */
export type Question = readonly [typed: string, accepted: RegExp];

/** From the review of a newcomer's first hour. */
export const KNOWN: readonly Question[] = [
  ["100 requests per minute", /guides\/(?:recipes|choosing-numbers)|\/start\./],
  ["limit by IP", /recipes\.html#limit-by-ip|choosing-a-key/],
  ["trust proxy", /choosing-a-key|proxies-and-cors/],
  ["redis cluster", /stores\/redis/],
  ["per route limit", /recipes\.html#limit-one-route|adapters\/(?:express|fastify)/],
  ["unblock user", /recipes\.html#reset|one-file-of-limits|fines-and-blocks/],
  ["raise limit for one customer", /one-customers-limit/],
  ["who is limited", /who-is-limited/],
  ["daily quota", /recipes\.html#.*(?:dai|day)|rate-window-quota/],
  ["openai tokens per minute", /llm-budgets/],
  ["concurrent requests", /in-flight/],
  ["fake timers", /testing-your-app/],
  ["jest", /testing-your-app/],
  ["express-rate-limit migration", /from-express-rate-limit/],
  ["sliding window", /rate-window-quota/],
  ["brute force login", /recipes\.html#brute|guides\/login|limiting-by-body/],
  ["redis down", /outages|runbook-store/],
  ["custom error message", /own-answers/],
  ["headers draft-7", /guides\/headers/],
  ["graphql", /recipes\.html#graphql/],
  ["nestjs", /adapters\/nest|from-nestjs-throttler/],
  ["better-sqlite3", /stores\/sql|writing-a-store/],
  ["skip successful requests", /from-express-rate-limit|settling/],
  ["nginx log", /choosing-numbers/],
];

/** Made up by a person who had a job in mind, and had not looked at the headings. */
export const UNSEEN: readonly Question[] = [
  ["limit by api key", /choosing-a-key|recipes\.html#.*key/],
  ["429 retry after header", /guides\/headers|\/client\.html|\/concepts\.html/],
  ["rate limit websocket", /other-frameworks|recipes\.html#.*websocket/],
  ["free and paid plans", /choosing-a-key|one-customers-limit|recipes\.html#.*plan/],
  ["skip health check", /recipes|adapters\//],
  ["block an ip address", /fines-and-blocks/],
  ["prometheus metrics", /guides\/metrics/],
  ["reset at midnight", /rate-window-quota/],
  ["x-forwarded-for", /proxies-and-cors|choosing-a-key/],
  ["next.js middleware", /adapters\/web/],
  ["retry fetch on 429", /\/client\.html|client-hosts/],
  ["queue requests instead of rejecting", /guides\/waiting/],
];

/** What users ask for by name. Each finds its page first. */
export const BY_NAME: readonly Question[] = [
  ["sliding window", /recipes\.html#sliding-window|rate-window-quota/],
  ["fixed window", /recipes\.html#sliding-window|rate-window-quota/],
  ["skip successful requests", /settling\.html#skip-successful/],
  ["slow down", /\/waiting\.|from-express-slow-down/],
  ["concurrency", /\/in-flight\./],
  ["priority", /\/priority\./],
  ["carry over", /rate-window-quota\.html#.*carry/],
  ["ban", /fines-and-blocks/],
  ["allow list", /recipes\.html#.*allow-list/],
  ["adaptive", /guides\/adaptive|changing-limits\.html#adaptive/],
  ["elysia", /other-frameworks\.html#elysia/],
  ["nuxt", /frameworks-fullstack/],
  ["sveltekit", /frameworks-fullstack/],
  ["react router", /frameworks-fullstack/],
  ["server actions", /frameworks-fullstack/],
  ["trpc", /other-frameworks\.html#trpc|client-hosts/],
  ["better-auth", /other-frameworks\.html#better-auth/],
  ["bullmq", /other-frameworks\.html#bullmq/],
  ["mcp", /guides\/mcp/],
];
