// Settings of Redis and its clients with which a store can never work, each brought about on a real server. The warning
// names the cure, and with the cure the store works and nothing is warned of.
import { createServer, connect, type AddressInfo, type Server, type Socket } from "node:net";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { createLimiter } from "sluice";
import { RedisStore, type RedisClient } from "sluice/redis";
import { expect, test } from "vitest";
import { startCluster, startRedis, type OwnRedis } from "../helpers/own-redis.js";
import { heard } from "./heard.js";

/** What a version of a client makes. */
export interface RedisAdvised {
  readonly name: string;
  /** A connected client of one server. `READONLY` tells it what to do when the server has become a replica. */
  connect(port: number, login?: Login): Promise<Connected> | Connected;
  cluster(ports: readonly number[]): Promise<Connected> | Connected;
  /** A client that is not connected and never connects, where there is one. */
  readonly unconnected?: Readonly<Record<string, (port: number) => Connected>>;
  /** The options that end a call: a client with each, and whether the server is away, or takes the call and is silent, by itself or as a node of a cluster. */
  readonly ends: Readonly<Record<string, readonly ["away" | "silent" | "a silent node", (port: number) => Calling]>>;
  /** Where the client sends a call again after a lost connection: one that does, or with the option against it. */
  readonly once?: (port: number, isOnce: boolean) => Calling;
  /** Whether the client has an option that finds the new primary behind the same address. */
  readonly reconnects?: boolean;
}

interface Login {
  readonly username?: string;
  readonly password?: string;
  readonly reconnects?: boolean;
}

interface Connected {
  readonly client: object;
  close(): void;
}

/** A client of which one call is made. */
interface Calling {
  call(): Promise<unknown>;
  close(): void;
}

const policy = { name: "advice", capacity: 100, refill: { tokens: 1, everyMs: 3_600_000 } };

/** The warnings and the decisions of several callers at once. */
async function ask({ client, close }: Connected, times = 12): Promise<{ warnings: string[]; degraded: boolean }> {
  let degraded = false;
  const warnings = await heard(async () => {
    const limiter = createLimiter({ policy, store: new RedisStore(client as RedisClient, { timeoutMs: 2_000 }) });
    const decisions = await Promise.all(Array.from({ length: times }, (_, i) => limiter.consume(`caller ${i}`)));
    degraded = decisions.some((decision) => decision.degraded);
  });
  close();
  return { warnings, degraded };
}

const WORKS = { warnings: [], degraded: false };

async function failsWith(connected: Connected, code: string, cure: RegExp): Promise<string> {
  const { warnings, degraded } = await ask(connected);
  expect(degraded).toBe(true);
  expect(warnings).toEqual([expect.stringMatching(new RegExp(`^${code}: The store of policy "advice" .*${cure.source}`))]);
  return warnings[0] as string;
}

/** A port that passes connections on to a server, and breaks the first that sends `word` before the answer arrives. */
const breakingAddress = (port: number, word: string) => movingAddress(port, word);

/** A port that passes connections on to a server, which a test may exchange for later connections. */
async function movingAddress(first: number, word?: string) {
  let to = first;
  let breaksAt = word;
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    const onward = connect(to, "127.0.0.1");
    for (const each of [socket, onward]) sockets.add(each.on("error", () => undefined).on("close", () => sockets.delete(each)));
    socket.pipe(onward);
    let isCut = false;
    socket.on("data", (sent: Buffer) => {
      if (breaksAt === undefined || !sent.toString().toLowerCase().includes(breaksAt)) return;
      breaksAt = undefined;
      isCut = true;
    });
    onward.on("data", (answer: Buffer) => (isCut ? socket.destroy() : socket.write(answer)));
    onward.on("close", () => socket.end());
    socket.on("close", () => onward.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    move: (port: number) => void (to = port),
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Runs a test over servers of its own, and ends them. */
function over(title: string, start: () => Promise<readonly OwnRedis[]>, run: (...servers: readonly OwnRedis[]) => Promise<void>): void {
  test(title, async () => {
    const servers = await start();
    try {
      await run(...servers);
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  });
}

/** Sends one command and closes its connection. */
async function command(port: number, line: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(`${line}\r\n`);
  const [answer] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return answer.toString();
}

export function redisSetupSuite(advised: RedisAdvised): void {
  const { name } = advised;

  test(`${name}: a plain client on a cluster is told, and a cluster client is the cure`, async () => {
    const cluster = await startCluster();
    try {
      await failsWith(await advised.connect(cluster.ports[0] as number), "SLUICE_STORE_SETUP", /Pass a cluster client/);
      expect(await ask(await advised.cluster(cluster.ports))).toEqual(WORKS);
    } finally {
      await cluster.stop();
    }
  });

  over(`${name}: a replica is told, and the primary is the cure`, async () => {
    const primary = await startRedis();
    return [primary, await startRedis(["--replicaof", "127.0.0.1", String(primary.port)])];
  }, async (primary, replica) => {
    await failsWith(await advised.connect((replica as OwnRedis).port), "SLUICE_STORE_SETUP", /Connect to the primary/);
    expect(await ask(await advised.connect((primary as OwnRedis).port))).toEqual(WORKS);
  });

  if (advised.reconnects) {
    over(`${name}: with \`reconnectOnError\` it finds the new primary behind an address that moved`, () => Promise.all([startRedis(), startRedis()]), async (first, second) => {
      const [one, two] = [first, second] as [OwnRedis, OwnRedis];
      const address = await movingAddress(one.port);
      const connected = await advised.connect(address.port, { reconnects: true });
      const limiter = createLimiter({ policy, store: new RedisStore(connected.client as RedisClient, { timeoutMs: 2_000, breaker: { failures: 2, probeEveryMs: 1 } }) });
      await heard(async () => {
        expect(await limiter.consume("ann")).toMatchObject({ degraded: false });
        await command(one.port, `REPLICAOF 127.0.0.1 ${two.port}`);
        address.move(two.port);
        // Not `expect.poll`: the runtimes have Vitest's `expect` without it.
        const end = Date.now() + 10_000;
        while ((await limiter.consume("ann")).degraded && Date.now() < end) await sleep(20);
        expect(await limiter.consume("ann")).toMatchObject({ degraded: false });
      });
      connected.close();
      address.stop();
    });
  }

  over(`${name}: a missing password is told, and a password is the cure`, async () => [await startRedis(["--requirepass", "secret"])], async (server) => {
    const { port } = server as OwnRedis;
    await failsWith(await advised.connect(port), "SLUICE_STORE_SETUP", /Set `password`/);
    expect(await ask(await advised.connect(port, { password: "secret" }))).toEqual(WORKS);
  });

  over(`${name}: a wrong password is told, and the right one is the cure`, async () => [await startRedis(["--requirepass", "secret"])], async (server) => {
    const { port } = server as OwnRedis;
    await failsWith(await advised.connect(port, { password: "wrong" }), "SLUICE_STORE_SETUP", /(?:Correct|Set) .*`password`/);
    expect(await ask(await advised.connect(port, { password: "secret" }))).toEqual(WORKS);
  });

  over(`${name}: missing rights are told, and the rights of the message are the cure`, async () => [await startRedis()], async (server) => {
    const { port } = server as OwnRedis;
    await command(port, "ACL SETUSER app on >secret ~other:* +@all");
    const login = { username: "app", password: "secret" };
    await failsWith(await advised.connect(port, login), "SLUICE_STORE_SETUP", /without the rights/);
    await command(port, "ACL SETUSER app resetkeys -@all +hello +client|setinfo +client|setname +info +ping");
    const told = await failsWith(await advised.connect(port, login), "SLUICE_STORE_SETUP", /without the rights/);
    const rights = /ACL SETUSER \.\.\. ([^`]+)`/.exec(told)?.[1] as string;
    expect(await command(port, `ACL SETUSER app ${rights}`)).toBe("+OK\r\n");
    expect(await ask(await advised.connect(port, login))).toEqual(WORKS);
  });

  over(`${name}: a server without scripts is told`, async () => [await startRedis(["--rename-command", "EVALSHA", ""]), await startRedis()], async (without, whole) => {
    await failsWith(await advised.connect((without as OwnRedis).port), "SLUICE_STORE_SETUP", /Allow EVAL and EVALSHA/);
    expect(await ask(await advised.connect((whole as OwnRedis).port))).toEqual(WORKS);
  });

  over(`${name}: a full server is told, and more memory is the cure`, async () => [await startRedis(["--maxmemory", "1", "--maxmemory-policy", "noeviction"])], async (server) => {
    const { port } = server as OwnRedis;
    await failsWith(await advised.connect(port), "SLUICE_STORE_SETUP", /Raise `maxmemory`/);
    await command(port, "CONFIG SET maxmemory 100mb");
    expect(await ask(await advised.connect(port))).toEqual(WORKS);
  });

  for (const [option, [server, make]] of Object.entries(advised.ends)) {
    over(`${name}: \`${option}\` ends a call to a server that is ${server}`, async () => [await startRedis(server === "a silent node" ? ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1"] : [])], async (own) => {
      const { port } = own as OwnRedis;
      if (server === "a silent node") await command(port, "CLUSTER ADDSLOTSRANGE 0 16383");
      if (server === "away") await (own as OwnRedis).stop();
      const { call, close } = make(port);
      if (server !== "away") {
        await call();
        await command(port, "CLIENT PAUSE 60000 ALL");
      }
      await expect(call()).rejects.toThrow();
      close();
    });
  }

  const { once: calling } = advised;
  for (const isOnce of calling === undefined ? [] : [true, false]) {
    over(`${name}: a call whose connection breaks is sent ${isOnce ? "once with `autoResendUnfulfilledCommands: false`" : "again by default"}`, async () => [await startRedis()], async (own) => {
      const { port } = own as OwnRedis;
      const address = await breakingAddress(port, "incr");
      const { call, close } = (calling as NonNullable<RedisAdvised["once"]>)(address.port, isOnce);
      expect(await call().then(() => "answered", () => "failed")).toBe(isOnce ? "failed" : "answered");
      expect(await command(port, "GET calls")).toBe(isOnce ? "$1\r\n1\r\n" : "$1\r\n2\r\n");
      close();
      address.stop();
    });
  }

  for (const [kind, make] of Object.entries(advised.unconnected ?? {})) {
    test(`${name}: ${kind} that is not connected is told, and \`connect()\` is the cure`, async () => {
      await failsWith(make(1), "SLUICE_REDIS_CONNECT", /write `await client\.connect\(\)`/);
    });
  }
}
