// The options of other packages that our warnings, errors, pages and examples name, and the test that carries each out.

/** Options with one test. */
export interface AdvisedOptions {
  readonly options: readonly string[];
  readonly of: string;
  /** The file of the test, and a part of its title as the file has it. */
  readonly test: readonly [file: string, title: string];
  /** Why the lowest version of the package is not tried, if it has one. */
  readonly notLowest?: string;
}

const REDIS = "test/advice/redis-setups.ts";
const NODE = "npm run check:runtimes has each Node";

export const ADVISED: readonly AdvisedOptions[] = [
  { options: ["trust proxy"], of: "express", test: ["test/advice/trust.ts", "a bucket for each caller, and none can make up an address"] },
  { options: ["trustProxy"], of: "fastify", test: ["test/advice/trust.ts", "a bucket for each caller, and none can make up an address"] },
  { options: ["bodyLimit"], of: "fastify", test: ["test/advice/bodies.ts", "answers a larger body with 413"] },
  { options: ["maxSize"], of: "hono", test: ["test/advice/bodies.ts", "answers a larger body with 413"] },
  { options: ["preHandler", "preValidation", "onRequest"], of: "fastify", test: ["test/adapters/fastify-hooks.test.ts", "is the whole answer, and no handler runs"], notLowest: "the contract runs on it in all hooks" },
  { options: ["onSend"], of: "fastify", test: ["test/adapters/failing-answers.test.ts", "an onSend hook that throws goes to the error handler"], notLowest: "named as a mistake" },
  { options: ["httpOnly", "sameSite", "maxAge"], of: "express", test: ["test/examples/login.test.ts", "Logs in, and keeps the cookie as a browser does"], notLowest: "an option of its cookies, passed on" },
  { options: ["requestTimeout", "headersTimeout", "maxHeaderSize", "connectionsCheckingInterval"], of: "node", test: ["test/advice/bodies.test.ts", "ends a request that does not end"], notLowest: NODE },
  { options: ["serverOptions"], of: "@hono/node-server", test: ["test/advice/bodies.test.ts", "`serverOptions` reach the server"], notLowest: "an option of Node's server, passed on" },
  { options: ["keepAliveTimeout"], of: "fastify", test: ["test/advice/bodies.test.ts", "reach the server"], notLowest: "an option of Node's server, passed on" },
  { options: ["maxRetriesPerRequest", "enableOfflineQueue", "commandTimeout", "redisOptions"], of: "ioredis", test: [REDIS, "ends a call to a server that is"] },
  { options: ["disableOfflineQueue", "commandOptions"], of: "redis", test: [REDIS, "ends a call to a server that is"] },
  { options: ["reconnectOnError"], of: "ioredis", test: [REDIS, "it finds the new primary behind an address that moved"] },
  { options: ["password", "username"], of: "redis", test: [REDIS, "a missing password is told, and a password is the cure"] },
  { options: ["socketTimeout", "reconnectStrategy"], of: "redis", test: [REDIS, "ends a call to a server that is"] },
  { options: ["enableAutoPipelining", "readYourWrites", "automaticDeserialization", "responseEncoding"], of: "@upstash/redis", test: ["test/helpers/redis-clients.ts", "automaticDeserialization: false, responseEncoding: false"], notLowest: "they change no decision: the suite for stores runs with each" },
  { options: ["connectionTimeoutMillis"], of: "pg", test: ["test/advice/postgres-setups.ts", "ends the wait for a silent server, and for a busy pool"] },
  { options: ["statement_timeout", "query_timeout"], of: "pg", test: ["test/advice/postgres-setups.ts", "end a call that takes long"] },
  { options: ["connectionString", "database"], of: "pg", test: ["test/advice/postgres-setups.ts", "a database that does not exist is told"] },
];
