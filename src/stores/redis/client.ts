import { expected } from "../../core/check.js";

/** The methods of ioredis and iovalkey clients, single or cluster, that the store calls. */
export interface IoredisLike {
  /** Runs a script by its hash. */
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  /** True on the cluster client. */
  readonly isCluster?: boolean;
  /** `keyPrefix` is the text that the client puts before every key. */
  readonly options?: { readonly keyPrefix?: unknown };
}

/** The methods of node-redis clients, single or cluster, that the store calls. */
export interface NodeRedisLike {
  /** Runs a script by its hash. */
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  /** Present on the cluster client only. */
  readonly slots?: unknown;
}

/** A client of ioredis, iovalkey or node-redis. Pass one that is connected, or that connects by itself. */
export type RedisClient = IoredisLike | NodeRedisLike;

/** Runs the script: by its hash if the server knows it, otherwise by its text. */
export type RunScript = (keys: string[], args: string[]) => Promise<unknown>;

/** Whether the client talks to a cluster, where all keys of one call must be in one slot. */
export function isCluster(client: RedisClient): boolean {
  return "evalsha" in client ? client.isCluster === true : "slots" in client && client.slots !== undefined;
}

/** The text that the client puts before every key. The key's slot in a cluster depends on it. */
export function keyPrefixOf(client: RedisClient): string {
  const prefix = "evalsha" in client ? client.options?.keyPrefix : undefined;
  return typeof prefix === "string" ? prefix : "";
}

/** Whether a cluster refused a call before it ran the script, because its keys are moving between two nodes. */
export function isTryAgain(error: unknown): boolean {
  return messageOf(error).includes("TRYAGAIN");
}

/**
 * Copies the printable part of a client's error: name, message, code, and the same of its cause. Clients attach the
 * command to their errors under various names, and the command contains callers' keys.
 */
export function withoutCommand(error: unknown): Error {
  const { cause, lastNodeError } = Object(error) as Readonly<Record<string, unknown>>;
  // Cluster clients of ioredis and iovalkey keep the cause in `lastNodeError`.
  const from = cause ?? lastNodeError;
  return bare(error, from === undefined || from === null ? {} : { cause: bare(from, {}) });
}

function bare(error: unknown, options: ErrorOptions): Error {
  const { name, code, stack } = Object(error) as Readonly<Record<string, unknown>>;
  const message = messageOf(error);
  const copy = new Error(message.replace(QUOTED_COMMAND, ""), options);
  if (typeof name === "string") Object.defineProperty(copy, "name", { value: name });
  // Where the client threw: what comes after its message, which may name the key.
  const frames = String(stack).split(message).at(-1);
  if (message !== "" && frames?.startsWith("\n")) copy.stack = `${copy}${frames}`;
  return typeof code === "string" ? Object.assign(copy, { code }) : copy;
}

// Servers quote the arguments of a command that they do not know.
const QUOTED_COMMAND = /, with args beginning with:.*/s;

/** Returns the function that runs `script` with `client`. Throws a TypeError when `client` is not a known client. */
export function scriptRunner(client: RedisClient, script: string): RunScript {
  const run = callsOf(client);
  let sha: string | Promise<string> | undefined;

  return async (keys, args) => {
    sha ??= sha1(script);
    try {
      // Awaits the hash only until it is known: each await costs a single call one turn of the microtask queue.
      if (typeof sha !== "string") sha = await sha;
      return await run.bySha(sha, keys, args);
    } catch (error) {
      // Servers forget scripts on a restart, a failover or SCRIPT FLUSH. The script did not run, so this run is the
      // first.
      if (!isUnknownScript(error)) throw error;
      return run.byText(script, keys, args);
    }
  };
}

interface ScriptCalls {
  bySha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  byText(script: string, keys: string[], args: string[]): Promise<unknown>;
}

function callsOf(client: RedisClient): ScriptCalls {
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

// Each client has its own error classes; the server's message is the same in all of them.
function messageOf(error: unknown): string {
  const message = (error as { readonly message?: unknown } | null | undefined)?.message;
  return typeof message === "string" ? message : "";
}

async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
