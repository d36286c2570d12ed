// The sidebar: every page of the site, in the order of reading. A page of docs that is not here fails the build.

/** A page, by its path in the repository without `.md`, and its name here; or a part with pages. */
export interface Part {
  readonly text: string;
  readonly pages: ReadonlyArray<readonly [path: string, text: string]>;
  /** Whether the search of the site leaves its pages out. */
  readonly unsearched?: boolean;
}

const adapters = { express: "Express", fastify: "Fastify", hono: "Hono", nest: "NestJS", node: "Node", web: "Web, Bun, Deno, Workers, Next.js" };
const stores = { memory: "Memory", redis: "Redis", postgres: "Postgres", lease: "Leases", "durable-object": "Durable Objects", cas: "Any compare-and-set", sql: "SQLite, MySQL, any database" };
const moving = { "from-express-rate-limit": "express-rate-limit", "from-rate-limiter-flexible": "rate-limiter-flexible", "from-fastify-rate-limit": "@fastify/rate-limit", "from-hono-rate-limiter": "hono-rate-limiter", "from-nestjs-throttler": "@nestjs/throttler", "from-express-slow-down": "express-slow-down", "from-upstash-ratelimit": "@upstash/ratelimit", "from-effect": "effect", "from-bottleneck": "bottleneck, p-queue", "from-rc1": "From rc.1 to rc.2" };
const inFolder = (folder: string, names: Readonly<Record<string, string>>) => Object.entries(names).map(([name, text]) => [`docs/${folder}/${name}`, text] as const);

/** The parts that are written by hand. Examples and the API reference list themselves. */
export const PARTS: readonly Part[] = [
  { text: "Start", pages: [["docs/README", "Get started"], ["docs/guides/recipes", "Recipes"], ["docs/options", "Options"], ["docs/runtimes", "Runtimes"], ["docs/comparison", "Comparison"]] },
  { text: "Concepts", pages: [["docs/concepts", "Concepts"], ["docs/guides/choosing-numbers", "Choosing numbers"], ["docs/guides/rate-window-quota", "Rate, window or quota"], ["docs/guides/in-flight", "Concurrent requests"], ["docs/guides/choosing-a-key", "Choosing a key"]] },
  { text: "Adapters", pages: [...inFolder("adapters", adapters), ["docs/guides/frameworks-fullstack", "Nuxt, SvelteKit, React Router, Server Actions"], ["docs/guides/other-frameworks", "Koa, h3, Elysia, tRPC, BullMQ and others"], ["docs/guides/mcp", "MCP servers"]] },
  { text: "Stores", pages: [...inFolder("stores", stores), ["docs/guides/scaling", "Scaling"], ["docs/guides/outages", "Outages"]] },
  {
    text: "Client",
    pages: [
      ["docs/client", "The client"], ["docs/guides/client-hosts", "In other libraries"], ["docs/guides/client-vendors", "Services with limits"], ["docs/guides/client-apis", "List of APIs"], ["docs/guides/client-traffic", "Many calls at once"],
      ["docs/guides/client-in-other-languages", "In Swift and Kotlin"],
    ],
  },
  {
    text: "Guides",
    pages: inFolder("guides", {
      headers: "Header fields", "own-answers": "Custom error messages", "limiting-by-body": "Limits by the body", login: "A login", "several-limiters": "Several limiters", settling: "Settling",
      waiting: "Waiting", "fines-and-blocks": "Block, ban or fine", "llm-budgets": "LLM budgets", metrics: "Metrics", "who-is-limited": "Who is limited?", "one-file-of-limits": "One file of limits", "forty-services": "Forty services", "changing-limits": "Change a limit at run time", priority: "Priority (leave room)", adaptive: "Overload (adaptive limit)", "adaptive-figures": "Figures of the adaptive limit", "one-customers-limit": "Raise one customer's limit", "shadow-mode": "Shadow mode (dry run)", "testing-your-app": "Testing your app",
    }),
  },
  { text: "Runbooks", pages: inFolder("guides", { "runbook-store": "The store is slow or gone", "runbook-refused": "A customer is refused", "runbook-spray": "Somebody sprays keys" }) },
  { text: "Moving here", pages: [["docs/moving/README", "Which guide"], ...inFolder("moving", moving)] },
  { text: "Errors and warnings", pages: [["docs/guides/errors", "Errors"], ["docs/guides/warnings", "Warnings"]] },
  { text: "Security", pages: [["docs/security", "Threat model"], ["docs/guides/hardening", "Hardening"], ["docs/guides/proxies-and-cors", "Proxies and CORS"], ["SECURITY", "Report a vulnerability"]] },
  { text: "For authors", pages: [["docs/guides/writing-a-store", "Writing a store"], ["docs/guides/proving-a-store", "Proving a store"], ["docs/guides/writing-an-adapter", "Writing an adapter"]] },
  { text: "Project", pages: [["docs/performance", "Performance"], ["docs/versions", "Versions"], ["CHANGELOG", "Changelog"]] },
  { text: "For maintainers", unsearched: true, pages: [["CONTRIBUTING", "Contributing"], ["docs/decisions", "Decisions"], ["docs/proof", "Proof"], ["docs/arithmetic", "Arithmetic"], ["docs/stored-formats", "Stored formats"], ["docs/guides/client-comparison", "Client comparison"]] },
];

/** Pages that the search of the site leaves out. Their words are those of the guides, and a user acts on none of them. */
export const UNSEARCHED: readonly string[] = PARTS.filter(({ unsearched }) => unsearched).flatMap(({ pages }) => pages.map(([path]) => path));
