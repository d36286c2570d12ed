import { sharesWork } from "../../platform.js";

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

/** The methods of @upstash/redis clients that the store calls. They send HTTP requests. */
interface UpstashLike {
  /** Runs a script by its hash. */
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>;
  /** Runs a script by its text. */
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
  /** The store does not call it. It distinguishes this client from ioredis, where `evalsha` takes other arguments. */
  scriptLoad(script: string): Promise<unknown>;
}

/**
 * A client of ioredis, iovalkey, node-redis or @upstash/redis. The client must be connected, or must connect by itself.
 */
export type RedisClient = IoredisLike | NodeRedisLike | UpstashLike;

/**
 * Any client, as one function. It sends one command and resolves to the server's reply, with numbers and texts as they
 * came. `command` has the command's name and its arguments, texts alone. `key` is the first key that the command
 * touches. Clients of a cluster send the command to the node that has its slot.
 * @example
 * const store = new RedisStore(([name, ...args]) => redis.call(name, ...args));
 */
export type RedisSend = (command: readonly [name: string, ...args: string[]], key: string) => PromiseLike<unknown>;

/** A client of either kind. */
export type AnyRedisClient = RedisClient | RedisSend;

/** Runs the script by its hash if the server has it, and by its text otherwise. */
export type RunScript = (keys: string[], args: string[]) => Promise<unknown>;

/** Whether the client is one function. Nothing is known of it, not even whether it sends a lost command again. */
function isSend(client: AnyRedisClient): client is RedisSend {
  // The client of a library may be a function, too. Its methods tell more.
  const { evalsha, evalSha } = client as Partial<IoredisLike & NodeRedisLike>;
  return typeof client === "function" && typeof evalsha !== "function" && typeof evalSha !== "function";
}

/** Whether the client talks to a cluster, where all keys of one call must be in one slot. */
export function isCluster(client: AnyRedisClient): boolean {
  const { isCluster: told, slots } = client as Partial<IoredisLike & NodeRedisLike>;
  return told === true || slots !== undefined;
}

/**
 * Whether the client may send a call again whose answer was lost. Clients, pools and clusters of node-redis never do,
 * its Sentinel does. A client of ioredis for one node does not if it was told so.
 */
export function sendsAgain(client: AnyRedisClient): boolean {
  const { options } = client as { readonly options?: { readonly autoResendUnfulfilledCommands?: unknown } };
  if (isSend(client)) return true;
  if (isNodeRedis(client)) return !isCluster(client) && !takesCommands(client);
  return isCluster(client) || options?.autoResendUnfulfilledCommands !== false;
}

/** The text that the client puts before every key. The key's slot in a cluster depends on it. */
export function keyPrefixOf(client: AnyRedisClient): string {
  // node-redis clients also have `options`, without this member.
  const prefix = (client as Partial<IoredisLike>).options?.keyPrefix;
  // ioredis takes bytes, too. A script gets keys as text, and bytes that are no text would then name another bucket.
  const text = typeof prefix === "string" || prefix instanceof Uint8Array ? String(prefix) : "";
  if (!text.includes("\ufffd")) return text;
  throw new TypeError("Expected the client's `keyPrefix` to be text, got bytes that are no UTF-8. Write keyPrefix: \"app:\"");
}

/** Whether a node refused a call before it ran the script, because another node has the key's slot, or none has. */
export function isElsewhere(error: unknown): boolean {
  return /^(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /.test(messageOf(error));
}

/** Whether a cluster refused a call before it ran the script, because its keys are moving between two nodes. */
export function isTryAgain(error: unknown): boolean {
  // After TRYAGAIN, ioredis tries one node after another. Its final error quotes the last redirection. A message may
  // quote a key further on, and a key may hold these words.
  return TRY_AGAIN.test(messageOf(error));
}

/**
 * Copies the printable part of a client's error: name, message and code, and those of its cause. Clients attach the
 * command to their errors under various names, and the command contains callers' keys. The texts `hidden` are cut out
 * of the messages.
 */
export function withoutCommand(error: unknown, hidden: readonly string[] = []): Error {
  const { cause, lastNodeError } = Object(error) as Readonly<Record<string, unknown>>;
  // Cluster clients of ioredis and iovalkey keep the cause in `lastNodeError`.
  const from = cause ?? lastNodeError;
  return bare(error, hidden, from === undefined || from === null ? {} : { cause: bare(from, hidden, {}) });
}

function bare(error: unknown, hidden: readonly string[], options: ErrorOptions): Error {
  const { name, code, stack } = Object(error) as Readonly<Record<string, unknown>>;
  const message = hidden.reduce((text, each) => text.replaceAll(each, "…"), messageOf(error));
  const copy = new Error(message, options);
  if (typeof name === "string") Object.defineProperty(copy, "name", { value: name });
  // The stack frames. They follow the message, which may contain the key.
  const frames = String(stack).split(message).at(-1);
  if (message !== "" && frames?.startsWith("\n")) copy.stack = `${copy}${frames}`;
  return typeof code === "string" ? Object.assign(copy, { code }) : copy;
}

// Servers quote the arguments of an unknown command. Upstash's client quotes every command that failed.
const QUOTED_COMMAND = /, (?:with args beginning with|command was):.*/s;

/** Returns the function that runs `script` with `client`. Throws a TypeError when `client` is not a known client. */
export function scriptRunner(client: AnyRedisClient, script: string): RunScript {
  const send = senderOf(client);
  const isShared = sharesWork();
  const isUnknown = isSend(client);
  let sha: string | Promise<string> | undefined;
  // An unknown client may say in words of its own that the server lost the script. So it sends the text after each
  // failure, and at first.
  let sendsText = isUnknown;

  // Each reply passes through the same number of promises, by hash or by text. This keeps replies in order.
  return (keys, args) =>
    new Promise((resolve, reject) => {
      const done = (reply: unknown): void => ((sendsText = false), resolve(reply));
      const fail = (error: unknown): void => ((sendsText = isUnknown), reject(error as Error));
      const sendText = (): void => {
        try {
          Promise.resolve(send("eval", script, keys, args)).then(done, fail);
        } catch (thrown) {
          reject(thrown);
        }
      };
      const sendHash = (hash: string): void => {
        if (sendsText) return sendText();
        Promise.resolve(send("evalsha", hash, keys, args)).then(resolve, (error: unknown) => {
          // Servers drop scripts on a restart, a failover or SCRIPT FLUSH. The script did not run, so the call with the
          // text is the first.
          if (isUnknownScript(error)) sendText();
          else fail(error);
        });
      };
      if (typeof sha === "string") return sendHash(sha);
      // All calls share one promise, which keeps them in order. Requests that share no promise (law L15) each compute
      // the hash until one of them has it.
      const computed = sha ?? sha1(script);
      if (isShared) sha = computed;
      computed.then((hash) => sendHash((sha = hash))).catch(reject);
    });
}

/** Runs a script: its hash with `evalsha`, its text with `eval`. */
type SendScript = (command: "evalsha" | "eval", script: string, keys: string[], args: string[]) => Promise<unknown>;

// Reads members instead of testing with `in`, because some clients are proxies that support only reads.
function senderOf(client: AnyRedisClient): SendScript {
  if (isSend(client)) return sendBy(client);
  if (isNodeRedis(client)) {
    // Takes half of the client's time, because it makes fewer promises.
    if (takesCommands(client)) {
      return (command, script, keys, args) =>
        client.sendCommand([command.toUpperCase(), script, String(keys.length), ...keys, ...args], client._commandOptions);
    }
    return (command, script, keys, args) => client[command === "eval" ? command : "evalSha"](script, { keys, arguments: args });
  }
  if (isUpstash(client)) return (command, script, keys, args) => client[command](script, keys, args);
  return (command, script, keys, args) => client[command](script, keys.length, ...keys, ...args);
}

function sendBy(client: RedisSend): SendScript {
  return async (command, script, keys, args) => {
    try {
      return await client([command.toUpperCase(), script, `${keys.length}`, ...keys, ...args], keys[0] as string);
    } catch (error) {
      throw withoutCommand(error, keys);
    }
  };
}

interface CommandClient {
  sendCommand(command: readonly string[], options: unknown): Promise<unknown>;
  /** The options that `evalSha` passes to `sendCommand`. */
  readonly _commandOptions?: unknown;
}

// True for a client of one node. On clusters and sentinels, `sendCommand` takes more arguments. On a wrapper that
// measures or traces, it may take any arguments.
function takesCommands(client: NodeRedisLike): client is NodeRedisLike & CommandClient {
  const { sendCommand, isOpen } = client as { readonly sendCommand?: unknown; readonly isOpen?: unknown };
  return typeof sendCommand === "function" && sendCommand.length === 2 && typeof isOpen === "boolean" && !isCluster(client);
}

function isNodeRedis(client: RedisClient): client is NodeRedisLike {
  return typeof (client as Partial<NodeRedisLike>).evalSha === "function";
}

// ioredis and iovalkey have no `scriptLoad`. A wrapper of Upstash's client may have none either, but declares all three
// arguments.
function isUpstash(client: IoredisLike | UpstashLike): client is UpstashLike {
  return typeof (client as Partial<UpstashLike>).scriptLoad === "function" || client.evalsha.length === 3;
}

function isUnknownScript(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null | undefined)?.code === "NOSCRIPT" || UNKNOWN_SCRIPT.test(messageOf(error));
}

// Read only where a message begins, because it may quote a key that holds these words. Upstash's client says "failed"
// first, and before 1.35 names the command. Deno's leaves the protocol's dash in front.
const UPSTASH_PREFIX = "Command (?:\\d+ \\[ \\w+ \\] )?failed: ";
const GLIDE_PREFIX = "An error was signalled by the server: - ";
const UNKNOWN_SCRIPT = new RegExp(`^(?:(?:-|${UPSTASH_PREFIX})?NOSCRIPT |${GLIDE_PREFIX}NoScriptError: )`);
const TRY_AGAIN = new RegExp(
  `^(?:(?:-|${UPSTASH_PREFIX})?TRYAGAIN |${GLIDE_PREFIX}TryAgain: |` +
  "Too many Cluster redirections. Last error: ReplyError: (?:TRYAGAIN|ASK|MOVED) )",
);

// Each client has other error classes. The server's message is the same in all of them. A quoted command may contain a
// caller's key, and the key must not be read as the message.
function messageOf(error: unknown): string {
  const message = (error as { readonly message?: unknown } | null | undefined)?.message;
  return typeof message === "string" ? message.replace(QUOTED_COMMAND, "") : "";
}

async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
