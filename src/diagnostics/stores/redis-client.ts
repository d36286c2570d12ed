import { show } from "../../core/check.js";

/** Throws a TypeError with the cure when every call of `client` would fail. Sends no command. */
export function checkRedisClient(client: unknown): void {
  const [got, cure] = redisFault(client) ?? [];
  if (got !== undefined) {
    throw new TypeError(
      `Expected \`client\` to be a client of ioredis, iovalkey, node-redis or @upstash/redis, got ${got}. ${cure}.`,
    );
  }
}

interface RedisMembers {
  readonly eval?: unknown;
  readonly evalsha?: unknown;
  readonly evalSha?: unknown;
  readonly then?: unknown;
  readonly isPipeline?: unknown;
  readonly chain?: unknown;
  readonly createScript?: unknown;
  readonly sendCommand?: unknown;
  readonly customCommand?: unknown;
  readonly send?: unknown;
  readonly isOpen?: unknown;
  readonly internal_send_command?: unknown;
  readonly options?: { readonly legacyMode?: unknown };
  readonly client?: { readonly hasCredentials?: unknown };
}

// Returns the value that came, and the cure. Only certain mistakes are reported: a wrapper with just the two methods
// may work.
function redisFault(client: unknown): readonly [got: string, cure: string] | undefined {
  // Not quoted, because a URL contains the password.
  if (typeof client === "string") return ["a string", "Pass a client, such as `new Redis(url)`"];
  const of = (client ?? {}) as RedisMembers;
  if (typeof of.then === "function") return ["a promise", "Write `await` before it"];
  if (typeof client === "function" && typeof (of.evalsha ?? of.evalSha) !== "function") return functionWithMembers(client);
  // redis 3 has `internal_send_command`, and redis 4 has this option.
  if (of.internal_send_command !== undefined || of.options?.legacyMode === true) return CALLBACKS;
  // The first test finds pipelines of ioredis and iovalkey. The second finds those of @upstash/redis; its client
  // proxies have both members.
  if (of.isPipeline === true || (of.chain !== undefined && of.createScript === undefined)) return PIPELINE;
  // Every client of node-redis has both members. The results of its `legacy()` and `multi()` have one.
  if (of.evalSha !== undefined && of.sendCommand !== undefined && of.isOpen === undefined) {
    return ["what `legacy()` or `multi()` returned", "Pass the client itself"];
  }
  if (of.client?.hasCredentials === false) return ["an Upstash client without a URL", "Set UPSTASH_REDIS_REST_URL or `url`"];
  if (typeof of.eval === "function" && (typeof of.evalsha === "function" || typeof of.evalSha === "function")) return undefined;
  const got = show(client);
  return [
    typeof client === "object" && client !== null ? `${got} without \`eval\` and \`evalsha\`` : got,
    arrowFor(of) ?? "Pass a client, such as `new Redis(options)`",
  ];
}

// A plain function is a client by itself. One with members is a client's own, called in another way, or a class.
function functionWithMembers(client: object): readonly [got: string, cure: string] | undefined {
  const { name, prototype } = client as { readonly name?: unknown; readonly prototype?: object };
  const isClass = /^class\b/.test(`${client as unknown as string}`) || Object.getOwnPropertyNames(prototype ?? {}).length > 1;
  const isMaker = isClass || /^(?:create|connect)(?![a-z])/.test(String(name));
  if (isMaker) return ["a function", "Pass a client, not the class or function that makes one"];
  if (Object.keys(client).length === 0) return undefined;
  return ["a function with members", arrowFor(client) ?? sendArrow("(command, key) => client(command, key)")];
}

/** The function to write for a client that is known by one of its methods. */
function arrowFor(client: RedisMembers): string | undefined {
  if (typeof client.customCommand === "function") return sendArrow("(command) => client.customCommand([...command])");
  if (typeof client.sendCommand === "function") return "Pass the client itself, of which `sendCommand` sends a command";
  return typeof client.send === "function" ? sendArrow("([name, ...args]) => client.send(name, args)") : undefined;
}

const sendArrow = (text: string): string => `Write \`new RedisStore(${text})\``;

const CALLBACKS = ["a client with callbacks", "Use redis 5 or later, which returns promises"] as const;
const PIPELINE = ["a pipeline", "Pass the client that made it"] as const;
