import { expected } from "../../core/check.js";

/** The part of ioredis and iovalkey, single or cluster, that the store calls. */
export interface IoredisLike {
  /** Runs a script by its hash. */
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** True on the cluster client. */
  readonly isCluster?: boolean;
  /** What the client itself puts before every key. */
  readonly options?: { readonly keyPrefix?: unknown };
}

/** The part of node-redis, single or cluster, that the store calls. */
export interface NodeRedisLike {
  /** Runs a script by its hash. */
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** There on node-redis's cluster client. */
  readonly slots?: unknown;
}

/** Any client that the store works with, seen through the two calls that it makes. Bring one that is connected or connects by itself. */
export type RedisClient = IoredisLike | NodeRedisLike;

/** Runs the script, by its hash when the server knows it. */
export type RunScript = (keys: string[], args: string[]) => Promise<unknown>;

/** Whether the client talks to a cluster, where the keys of one call must lie in one slot. */
export function isCluster(client: RedisClient): boolean {
  return "evalsha" in client ? client.isCluster === true : "slots" in client && client.slots !== undefined;
}

/** What the client puts before every key, which counts when the slot of a cluster is worked out. */
export function keyPrefixOf(client: RedisClient): string {
  const prefix = "evalsha" in client ? client.options?.keyPrefix : undefined;
  return typeof prefix === "string" ? prefix : "";
}

/** Whether a cluster refused a call, unseen by the script, because its keys are on the move between two nodes. */
export function isTryAgain(error: unknown): boolean {
  return messageOf(error).includes("TRYAGAIN");
}

/**
 * What a client failed with, as far as it may be printed: name, message, code, and the same of its cause. Clients attach
 * the command to an error, in places of their own, and with it the callers' keys.
 */
export function withoutCommand(error: unknown): Error {
  const { cause, lastNodeError } = Object(error) as Readonly<Record<string, unknown>>;
  // The second is where cluster clients of the ioredis family keep it.
  const from = cause ?? lastNodeError;
  return bare(error, from === undefined || from === null ? {} : { cause: bare(from, {}) });
}

function bare(error: unknown, options: ErrorOptions): Error {
  const { name, code } = Object(error) as Readonly<Record<string, unknown>>;
  const copy = new Error(messageOf(error).replace(QUOTED_COMMAND, ""), options);
  if (typeof name === "string") Object.defineProperty(copy, "name", { value: name });
  return typeof code === "string" ? Object.assign(copy, { code }) : copy;
}

// Servers quote a command that they do not have.
const QUOTED_COMMAND = /, with args beginning with:.*/s;

/** Makes the one call that the store needs of a client. Throws a TypeError for something that is no client. */
export function scriptRunner(client: RedisClient, script: string): RunScript {
  const run = callsOf(client);
  let sha: string | Promise<string> | undefined;

  return async (keys, args) => {
    sha ??= sha1(script);
    try {
      // Awaited until it is there, since each wait costs a lone call a turn of the microtasks.
      if (typeof sha !== "string") sha = await sha;
      return await run.bySha(sha, keys, args);
    } catch (error) {
      // Servers forget scripts when they restart, fail over or are told to. It was not run, so running it now counts once.
      if (!isUnknownScript(error)) throw error;
      return run.byText(script, keys, args);
    }
  };
}

interface Calls {
  bySha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  byText(script: string, keys: string[], args: string[]): Promise<unknown>;
}

function callsOf(client: RedisClient): Calls {
  if (typeof client === "object" && client !== null && typeof client.eval === "function") {
    if ("evalsha" in client) {
      return {
        bySha: (sha, keys, args) => client.evalsha(sha, keys.length, ...keys, ...args),
        byText: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
      };
    }
    if ("evalSha" in client) {
      return {
        bySha: (sha, keys, args) => client.evalSha(sha, { keys, arguments: args }),
        byText: (script, keys, args) => client.eval(script, { keys, arguments: args }),
      };
    }
  }
  throw new TypeError(expected("client", "a client of ioredis, iovalkey or node-redis", client));
}

function isUnknownScript(error: unknown): boolean {
  return messageOf(error).startsWith("NOSCRIPT");
}

// Clients have error classes of their own, and the server's words in common.
function messageOf(error: unknown): string {
  const message = (error as { readonly message?: unknown } | null | undefined)?.message;
  return typeof message === "string" ? message : "";
}

async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
