import type { Policy } from "../../core/policy.js";
import type { Store } from "../../port/store.js";
import { warnOnce } from "../../warnings/warnings.js";

// A stall of a server is rarely longer. An answer that comes after a client's own timeout is lost.
const LEAST_MS = 2_000;

interface ClientTimeout {
  /** The option with a right value, as it is written. */
  readonly option: string;
  readonly ms: number;
}

const timeouts = new WeakMap<object, ClientTimeout>();

const optionsIn = (value: unknown): Readonly<Record<string, unknown>> => Object(value) as Readonly<Record<string, unknown>>;

/** Remembers after how many milliseconds the client of a store gives up a call, where its options tell. */
export function noteClientTimeout(store: object, client: unknown): void {
  const { options: given, _options: ofNodeRedisCluster, connectionParameters, isCluster } = optionsIn(client);
  const options = optionsIn(given);
  // A cluster of ioredis passes these to its nodes. Its own `commandTimeout` bounds nothing.
  const ofNodes = options["redisOptions"];
  const isOfNodes = ofNodes !== undefined || isCluster === true;
  const ofIoredis = isOfNodes ? optionsIn(ofNodes) : options;
  const written = (option: string): string => (isOfNodes ? `redisOptions: { ${option}: 10_000 }` : `${option}: 10_000`);
  const told: ReadonlyArray<readonly [option: string, ms: unknown]> = [
    [written("commandTimeout"), ofIoredis["commandTimeout"]],
    [written("socketTimeout"), ofIoredis["socketTimeout"]],
    ["socketTimeout: 10_000", optionsIn(options["socket"])["socketTimeout"]],
    ["socketTimeout: 10_000", optionsIn(optionsIn(optionsIn(ofNodeRedisCluster)["defaults"])["socket"])["socketTimeout"]],
    ["query_timeout: 10_000", options["query_timeout"] ?? optionsIn(connectionParameters)["query_timeout"]],
  ];
  for (const [option, value] of told) {
    const ms = Number(value ?? 0);
    if (ms > 0 && ms < (timeouts.get(store)?.ms ?? Infinity)) timeouts.set(store, { option, ms });
  }
}

/** Warns of a client that gives up calls early, for a policy whose tokens in flight a lost answer keeps. */
export function checkClientTimeout({ name, inFlight }: Policy, store: Store): void {
  const found = timeouts.get(store);
  if (inFlight === undefined || found === undefined || found.ms >= LEAST_MS) return;
  warnOnce(
    "SLUICE_SHORT_CLIENT_TIMEOUT",
    `The client of policy "${name}" gives up a call after ${found.ms} ms. The answer is then lost, and its tokens in flight ` +
      `stay taken for ${inFlight.returns.staleAfterMs} ms. Write \`${found.option}\`: callers wait for ` +
      "`timeoutMs` only.",
  );
}
