/**
 * The example server: `npm start`, or `npm start -- --framework express --store redis`.
 *
 * Next, read service.ts (the responses), the file of your framework (the limits) and store.ts (the buckets).
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { ConfigError, readFailing, readPolicies, readTelling, readTimeout, type Failing, type Policies } from "./config.js";
import { addLivePage } from "./demo/live.js";
import { RequestLog } from "./log.js";
import type { BuildServer } from "./service.js";
import { makeStop } from "./shutdown.js";
import { openStore, type OpenStore } from "./store.js";

const USAGE = `npm start -- [--framework node|express|fastify|hono] [--store memory|redis|postgres] [--config <file.json>]
             [--on-store-error local|allow|unavailable] [--store-timeout <milliseconds>|off]

  PORT, HOST       where to listen: 3000 and 127.0.0.1 by default; port 0 takes any free one
  SLUICE_CONFIG    a file such as examples/server/config.example.json, if --config is not given
  SLUICE_<POLICY>_CAPACITY, SLUICE_<POLICY>_TOKENS, SLUICE_<POLICY>_EVERY_MS
                   one number of a policy: INTERACTIVE, BULK, LOGIN_CODE or REPORTS
  SLUICE_HEADERS   the header fields that tell the limits: triple, draft-7, draft-11 and x-ratelimit, with
                   commas in between, or none; triple,draft-11 by default
  SLUICE_RETRY_AFTER
                   seconds, which is the default, or http-date
  SLUICE_REDIS_URL, SLUICE_POSTGRES_URL
                   the store's server: redis://127.0.0.1:6379 and postgres://postgres@127.0.0.1:5432/postgres by default`;

// Only the chosen framework is loaded.
const FRAMEWORKS: Record<string, () => Promise<{ buildServer: BuildServer }>> = {
  node: () => import("./node.js"),
  express: () => import("./express.js"),
  fastify: () => import("./fastify.js"),
  hono: () => import("./hono.js"),
};

try {
  await main();
} catch (error) {
  // Wrong settings throw a ConfigError here, or a RangeError of the library for a policy. All other errors are bugs.
  if (!(error instanceof ConfigError || error instanceof RangeError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

async function main(): Promise<void> {
  const { framework, store, config, help, ...given } = readArguments();
  if (help) return console.log(USAGE);
  const load = Object.hasOwn(FRAMEWORKS, framework) ? FRAMEWORKS[framework] : undefined;
  if (load === undefined) {
    throw new ConfigError(`Expected \`--framework\` to be ${Object.keys(FRAMEWORKS).join(", ")}, got ${JSON.stringify(framework)}`);
  }
  const port = readPort(process.env["PORT"]);
  const policies = readPolicies(process.env, config);
  const failing = readFailing(given["on-store-error"]);
  const timeout = readTimeout(given["store-timeout"]);

  const log = new RequestLog();
  const opened = await openStore(store, process.env, { ...timeout, onError: ({ message }) => log.write({ event: "store_error", message }) });
  try {
    await serve(load, opened, { policies, failing }, log, { port, title: `${framework}, ${store}` });
  } catch (error) {
    await opened.close(); // otherwise its connections would keep the process alive
    throw error;
  }
}

async function serve(
  load: () => Promise<{ buildServer: BuildServer }>,
  { store, close, setOutage }: OpenStore,
  settings: { readonly policies: Policies; readonly failing: Failing },
  log: RequestLog,
  { port, title }: { port: number; title: string },
): Promise<void> {
  const { buildServer } = await load();
  const setup = { ...settings, store, telling: readTelling(process.env), onDecision: log.onDecision };
  const server = await buildServer(setup);
  const host = process.env["HOST"] ?? "127.0.0.1";
  addLivePage(server, { ...setup, setOutage, host, storeName: title.split(", ")[1] ?? "" });
  log.follow(server);
  const stop = makeStop(server);
  // A reader such as `| head` may close the output. The server goes on without it.
  for (const output of [process.stdout, process.stderr]) output.on("error", () => undefined);

  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw new ConfigError(`Cannot listen: ${(error as Error).message}. Set PORT to another port, or to 0 for any free one.`);
  }
  let ended: Promise<unknown> | undefined;
  console.log(greeting(title, server.address() as AddressInfo, settings.policies));

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      // The last request is answered before the store closes. Then the process ends by itself, with exit code 0.
      void (ended ??= stop().then(close));
      log.write({ event: "stopping", signal });
    });
  }
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        framework: { type: "string", default: "node" },
        store: { type: "string", default: "memory" },
        config: { type: "string" },
        "on-store-error": { type: "string" },
        "store-timeout": { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    return values;
  } catch (error) {
    throw new ConfigError(`${(error as Error).message} (--help lists the options)`);
  }
}

function readPort(text = "3000"): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new ConfigError(`Expected \`PORT\` to be a whole number from 0 to 65535, got ${JSON.stringify(text)}`);
}

function greeting(title: string, { address, family, port }: AddressInfo, { interactive, bulk }: Policies): string {
  const url = `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
  return `sluice example (${title}) on ${url}

A rate limiter for JavaScript servers. A refused caller learns exactly how long to wait.

Open ${url} in a browser to see it work. Or, in a second terminal:

One request, and the fields that say what is left. RateLimit-Reset is when the bucket is full.
In RateLimit, t is longer, so that r requests in t seconds are never above the rate:
  curl -i ${url}/inbox -H 'Authorization: Bearer alice'
More at once than the ${interactive.maxCost} that a user may burst: 200s, then 429s:
  curl -s -o /dev/null -w '%{http_code}\\n' '${url}/inbox?[1-${interactive.maxCost + 2}]' -H 'Authorization: Bearer bob'
A smaller budget, of ${bulk.maxCost}, for heavier work; repeat it to see the whole 429:
  curl -i -X POST ${url}/exports -H 'X-Device-Id: my-phone'
Three slow reports at once, where two may run; the third is told when to ask again:
  curl -iZ --parallel-immediate -X POST '${url}/reports?[1-3]' -H 'Authorization: Bearer carol'
The store fails: one request within this process's share, then a 503. The last part lets it answer again:
  curl -sw '\\n' -X PUT ${url}/live/outage -d '{"isOut":true}' --next -siw '\\n' -X POST '${url}/exports?[1-2]' -H 'X-Device-Id: my-watch' --next -s -X PUT ${url}/live/outage -d '{"isOut":false}'
A caller whom nobody knows:
  curl -i ${url}/inbox
`;
}
