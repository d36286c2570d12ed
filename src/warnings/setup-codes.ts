// `docs/guides/warnings.md` is written from these comments. The first paragraph says what the mistake does to callers,
// the others when it is found and what to do.

/** The codes of checks of your setup. Production builds leave them out. */
export const SETUP_CODES = [
  /**
   * Callers get half of the limit.
   *
   * **When:** one request took tokens twice from one bucket: the same key, policy name and store. Usually a middleware
   * is mounted on the application and again on a router.
   *
   * **What to do:** mount it once. Give a second policy another name, and to charge some requests more, use `cost`.
   * **False alarm:** your code passes one request object to the handler several times, such as in a test.
   */
  "SLUICE_COUNTED_TWICE",
  /**
   * Callers without a value share one bucket, and one of them can use it up.
   *
   * **When:** a key, or a part of it, is or ends in `undefined`, `null`, `NaN` or `[object Object]`, such as
   * `user:undefined`. `[object Promise]` is a forgotten `await`.
   *
   * **What to do:** write a tuple, `["user", request.user?.id]`, and no template. With a missing part, the option
   * [`unidentified`](choosing-a-key.md#callers-without-a-key) decides. **False alarm:** a user's name is one of these
   * words.
   */
  "SLUICE_KEY_HAS_NO_VALUE",
  /**
   * All callers behind a proxy share one bucket, or a caller gets a new bucket with each new address.
   *
   * **When:** the key is the address of a proxy: the request's `X-Forwarded-For` or `Forwarded` does not contain it. Or
   * it is a whole IPv6 address, of which each customer has at least 2^64. The message says which.
   *
   * **What to do:** [choose another key](choosing-a-key.md#the-signed-in-user), or configure [which proxies to
   * trust](choosing-a-key.md#which-proxies-to-trust) and write `addressKey(request.ip)`. Never read the field yourself:
   * the caller writes its first entry. **False alarm:** there is no proxy, and a caller sends the field. **Not
   * detected:** the address of a second proxy, which the first one wrote into the field.
   */
  "SLUICE_KEY_IS_ADDRESS",
  /**
   * Nothing is limited: a caller makes up a new bucket for each request, or takes another caller's.
   *
   * **When:** a key is the text of `X-Forwarded-For` or `Forwarded`, which callers write. A single address counts only
   * where the framework finds another one.
   *
   * **What to do:** name your proxies to the framework, and use the address that it finds: `addressKey(request.ip)`
   * ([proxies](choosing-a-key.md#which-proxies-to-trust)). Without a framework, take the last address in the field.
   * **False alarm:** a platform in front of the server removes what callers send.
   */
  "SLUICE_KEY_IS_HEADER",
  /**
   * One caller spends the tokens of another.
   *
   * **When:** `key` returned a list that the caller sent, such as `request.query.client` for
   * `?client[]=user&client[]=42`. It is the key of user 42.
   *
   * **What to do:** write the first part yourself: `["client", String(request.query.client)]`. **False alarm:** the
   * list has the same parts as your tuple.
   */
  "SLUICE_KEY_IS_LIST",
  /**
   * Nothing is limited.
   *
   * **When:** 100 limiters with one policy name and numbers were made within a minute, such as one in each request.
   * Each has a memory store with full buckets. Limiters made together, with their own `clock`, or in tests of Vitest,
   * Jest, `node --test` or with `NODE_ENV=test` do not count.
   *
   * **What to do:** make the limiter once, beside the server: each key has its own bucket. For free and paid users,
   * [pick the policy](choosing-a-key.md#tiers). **False alarm:** tests of another runner make an app each.
   */
  "SLUICE_LIMITER_PER_REQUEST",
  /**
   * Callers get a multiple of the limit.
   *
   * **When:** this process is a worker of `node:cluster` or of PM2's cluster mode, and a limiter keeps its buckets in
   * memory.
   *
   * **What to do:** use a [shared store](scaling.md). Or divide the numbers by the number of workers, or send each
   * caller to the same worker. Then silence the code.
   */
  "SLUICE_MEMORY_IN_CLUSTER",
  /**
   * Callers get a multiple of the limit.
   *
   * **When:** a limiter keeps its buckets in memory on a platform that starts instances as it needs them, such as AWS
   * Lambda or Cloud Run. Or the platform counts the processes, and this is not the first one: PM2 in fork mode, Heroku,
   * Cloud Foundry, a StatefulSet of Kubernetes. Not given while `CI` is set. **Not detected:** a Deployment of
   * Kubernetes, and the first process of any service.
   *
   * **What to do:** use a [shared store](scaling.md). If there is one instance, silence the code.
   */
  "SLUICE_MEMORY_NOT_SHARED",
  /**
   * More work runs at once than the limit in flight says, or less.
   *
   * **When:** tokens of a [limit in flight](in-flight.md) came back after `staleAfterMs` without a settlement. The next
   * `consume` under the policy notices it.
   *
   * **What to do:** write `run(limiter, key, work)`. With `consume` alone, call `limiter.settle(key, decision, 0)` in a
   * `finally`, with the decision itself and not a copy.
   */
  "SLUICE_NOT_SETTLED",
  /**
   * Memory and metrics grow with your customers.
   *
   * **When:** one store has seen 1,000 policy names, such as one for each tenant. Of further names, two limiters with
   * different numbers go unnoticed.
   *
   * **What to do:** put the tenant into the key. For tenants with different numbers, give each request a policy of the
   * same name ([tiers](choosing-a-key.md#tiers)).
   */
  "SLUICE_POLICY_NAMES",
  /**
   * A deployment or a crash gives every caller a new quota.
   *
   * **When:** `NODE_ENV` is `production`, and a [quota](rate-window-quota.md) is counted in the memory of this process,
   * or in an unlogged table of Postgres.
   *
   * **What to do:** pass a `store` that lasts, such as `RedisStore`. For Postgres, run
   * `ALTER TABLE "sluice" SET LOGGED`, or use `postgresSchema(table, { logged: true })`.
   */
  "SLUICE_QUOTA_IN_MEMORY",
  /**
   * Each call to the store fails, and `onStoreError` decides.
   *
   * **When:** a client of node-redis is not connected. Other clients connect by themselves.
   *
   * **What to do:** write `await client.connect()` before the server listens. **False alarm:** the client was closed
   * before the last request. Or a cluster has slots that no node serves.
   */
  "SLUICE_REDIS_CONNECT",
  /**
   * A give-back acts twice, or a caller starts with a full bucket.
   *
   * **When:** decisions are settled, and the Redis server removes keys when its memory is full: its `maxmemory` is set,
   * and `maxmemory-policy` is not `noeviction`. The store asks with `INFO`, once, if its user may.
   *
   * **What to do:** give the server enough memory, and set `maxmemory-policy noeviction` ([what each policy
   * removes](../stores/redis.md#what-the-server-needs)). **False alarm:** the memory never fills up.
   */
  "SLUICE_REDIS_EVICTS",
  /**
   * Exact decisions, but more calls for many callers.
   *
   * **When:** a Redis Cluster refused the script that decides for several slots in one call. The server is older than
   * Redis 7, a service forbids `allow-cross-slot-keys`, the user may not call `EVAL`, or a proxy sends such calls to
   * any node. The message has the server's reason.
   *
   * **What to do:** use [Redis 7 or Valkey](../stores/redis.md#clusters-older-than-redis-7). After an upgrade of the
   * servers, restart the process: the store does not try again.
   */
  "SLUICE_REDIS_SLOTS",
  /**
   * In an outage of the store, all processes together grant more or less than the limit.
   *
   * **When:** a limiter with `onStoreError: "local"`, the default, is made over a shared store without `sharedBy`, so
   * each process would grant half of each limit. Not while `NODE_ENV` is `test` or `production`.
   *
   * **What to do:** set [`sharedBy`](outages.md#the-options) of the store to the number of your processes, such as
   * `new RedisStore(client, { sharedBy: 4 })`. For two processes write `sharedBy: 2`.
   */
  "SLUICE_SHARED_BY",
  /**
   * After a stall of the store, places in flight stay taken for `staleAfterMs`.
   *
   * **When:** a policy has a [limit in flight](in-flight.md), and the client of its store gives up a call in less than
   * 2 seconds: `commandTimeout` or `socketTimeout` of ioredis, `socketTimeout` of node-redis, `query_timeout` of pg. A
   * later answer is lost.
   *
   * **What to do:** write 10 seconds, as the message says. Callers still wait for `timeoutMs` only.
   */
  "SLUICE_SHORT_CLIENT_TIMEOUT",
  /**
   * Calls to the store fail, and `onStoreError` decides.
   *
   * **When:** a call failed with a TypeError, a RangeError or a ReferenceError, or the store returned no decision. The
   * store or its client has a bug, or is used wrongly, such as after closing it.
   *
   * **What to do:** fix what the stack after the warning shows. For a custom store, run [the store
   * suite](writing-a-store.md).
   */
  "SLUICE_STORE_BUG",
  /**
   * Each call to the store fails, and `onStoreError` decides.
   *
   * **When:** a call failed because of a setting, so no waiting helps. The message names the setting and the cure, and
   * repeats what the store said.
   *
   * | the store said | what to do |
   * | --- | --- |
   * | `MOVED`, `ASK`, `CROSSSLOT` | a [cluster client](../stores/redis.md#on-a-cluster), or `cluster: true` behind a proxy |
   * | `READONLY`, SQLSTATE 25006 | connect to the primary; after a failover ioredis needs `reconnectOnError` |
   * | `NOAUTH`, `WRONGPASS`, SQLSTATE 28P01 or 28000 | correct the user and the password of the client |
   * | `NOPERM`, SQLSTATE 42501 | grant the [rights](../stores/postgres.md#permissions) |
   * | `unknown command 'EVALSHA'` | allow scripts on the server and in a proxy before it |
   * | `Unknown Redis command called from` a script | use Redis 6.2 or newer, or Valkey |
   * | `OOM`, `DENIED` | raise `maxmemory` or let keys expire; end protected mode |
   * | `QUEUED`, subscriber mode | a [connection of its own](../stores/redis.md#a-connection-of-its-own) |
   * | SQLSTATE 3D000 or 3F000 | create the database or the schema, or correct its name |
   * | `unsupported startup parameter` | [set it](../stores/postgres.md#prepared-statements-and-poolers) in the database |
   * | a client of `pg` that is not connected | write `await client.connect()`, or pass a pool |
   *
   * **False alarm:** a failover is under way, and the client reaches the old primary for a moment.
   */
  "SLUICE_STORE_SETUP",
  /**
   * A healthy store counts as unavailable, and each process grants its own local share.
   *
   * **When:** 5 answers in a row came after `timeoutMs` of the store, too late to be used. What they took stays taken.
   * The message says how long they took.
   *
   * **What to do:** set `timeoutMs` above the slowest time that you measure, or move the store closer to the process.
   */
  "SLUICE_STORE_SLOW",
  /**
   * Nothing is limited: a caller makes up an address, and a new bucket, for each request.
   *
   * **When:** the key is an address, and the framework believes every entry of `X-Forwarded-For`: `trust proxy: true`
   * of Express, `trustProxy: true` of Fastify.
   *
   * **What to do:** write [how many proxies you run](choosing-a-key.md#which-proxies-to-trust), such as
   * `app.set("trust proxy", 1)`, or in Fastify their addresses: `trustProxy: "10.0.0.0/8"`. **False alarm:** your proxy
   * writes the field anew. Or `key` reads the address of the connection.
   */
  "SLUICE_TRUSTS_EVERY_PROXY",
  /**
   * All callers share one bucket.
   *
   * **When:** `key` returned nothing for all of the first 20 requests, or so often that the bucket of callers without a
   * key is empty. Or a field, which the message names, has an address that is two networks, with and without a port.
   *
   * **What to do:** look whether the limiter is mounted before the authentication or the body parser, or `key` has no
   * `return`. Give callers who are signed out [their own key](choosing-a-key.md). **False alarm:** the first requests
   * come from a health check. Use `skip` for it.
   */
  "SLUICE_UNIDENTIFIED",
  /**
   * Two limits have one name in header fields and metrics.
   *
   * **When:** two limiters see one request, and neither policy has a name, so both are called `default`.
   *
   * **What to do:** give each policy a `name` that says what it limits. On one store, two policies of one name with
   * different numbers are an error.
   */
  "SLUICE_UNNAMED_POLICIES",
] as const;
