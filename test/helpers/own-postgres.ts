// Postgres servers and PgBouncers for one test, on free loopback ports, in a folder that is removed with them.
import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "./free-port.js";

const run = promisify(execFile);

/** A server that one test started. */
export interface OwnServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** A Postgres that one test started. */
export interface OwnPostgres extends OwnServer {
  /** Starts a standby, which replays the writes of this server. */
  startStandby(): Promise<OwnPostgres>;
  /** Ends the server at once, like a crash. */
  crash(): Promise<void>;
}

const bouncer = (): string | undefined => [process.env["SLUICE_PGBOUNCER"], "/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].find((path) => path !== undefined && existsSync(path));

/** The folder of `initdb` and the other programs. Debian has them in no PATH. */
function binaries(): string | undefined {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  return [process.env["SLUICE_POSTGRES_BIN"], ...versions.map((version) => join(root, version, "bin"))].find((path) => path !== undefined && existsSync(join(path, "initdb")));
}

/** Postgres and PgBouncer do not run as root. They run as the user that Debian's packages make. */
const user: { readonly uid: number; readonly gid: number } | undefined = ownUser();

function ownUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(spawnSync("id", [flag, "postgres"]).stdout);
  return { uid: id("-u"), gid: id("-g") };
}

const hasUser = (): boolean => user === undefined || user.uid > 0;

/** The reason why a Postgres cannot be started here, or null. */
export const noOwnPostgres = (): string | null =>
  binaries() !== undefined && hasUser() ? null : "needs initdb and a user `postgres`: install the PostgreSQL server, or set SLUICE_POSTGRES_BIN";

/** The reason why a PgBouncer cannot be started here, or null. */
export const noPgBouncer = (): string | null => (bouncer() !== undefined && hasUser() ? null : "needs pgbouncer: install it, or set SLUICE_PGBOUNCER");

function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sluice-pg-"));
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** Starts an empty Postgres, with the superuser `postgres` and no passwords. Takes a few seconds. */
export async function startPostgres(): Promise<OwnPostgres> {
  const folder = ownFolder();
  const data = join(folder, "data");
  await run(join(binaries() as string, "initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"], { ...user, cwd: folder });
  return launch(folder, data);
}

async function launch(folder: string, data: string): Promise<OwnPostgres> {
  const port = await freePort();
  const settings = { port, listen_addresses: "127.0.0.1", unix_socket_directories: folder, fsync: "off", shared_buffers: "16MB" };
  const args = ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
  const child = spawn(join(binaries() as string, "postgres"), args, { ...user, cwd: folder, stdio: "ignore" });
  const gone = ended(child);
  await answering(port, child);
  // The server accepts connections before it is ready. `pg_isready` fails until then.
  while (child.exitCode === null && spawnSync(join(binaries() as string, "pg_isready"), ["-q", "-h", "127.0.0.1", "-p", String(port)]).status !== 0) await new Promise((resolve) => setTimeout(resolve, 50));
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await gone;
  };
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    crash: () => end("SIGQUIT"),
    async stop() {
      await end("SIGQUIT");
      rmSync(folder, { recursive: true, force: true });
    },
    async startStandby() {
      const own = ownFolder();
      const copy = join(own, "data");
      await run(join(binaries() as string, "pg_basebackup"), ["-h", "127.0.0.1", "-p", String(port), "-U", "postgres", "-D", copy, "-R", "-c", "fast", "--no-sync"], { ...user, cwd: own });
      return launch(own, copy);
    },
  };
}

/** Starts a PgBouncer in front of the server at `url`, with two connections to it. */
export async function startPgBouncer(url: string, mode: "session" | "transaction" | "statement"): Promise<OwnServer> {
  const folder = ownFolder();
  const port = await freePort();
  const { hostname, port: at, pathname, username } = new URL(url);
  const config = [
    "[databases]",
    `* = host=${hostname} port=${at || 5432} user=${username}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    `pool_mode = ${mode}`,
    "default_pool_size = 2",
    "max_client_conn = 200",
  ];
  writeFileSync(join(folder, "pgbouncer.ini"), `${config.join("\n")}\n`);
  const child = spawn(bouncer() as string, ["-q", join(folder, "pgbouncer.ini")], { ...user, cwd: folder, stdio: "ignore" });
  const gone = ended(child);
  await answering(port, child);
  return {
    url: `postgres://${username}@127.0.0.1:${port}${pathname}`,
    async stop() {
      child.kill("SIGKILL");
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

function ended(child: ChildProcess): Promise<void> {
  running.add(child);
  return new Promise((resolve) => child.once("exit", () => (running.delete(child), resolve())));
}

/** Resolves when a program listens on the port. Rejects when the process ends first. */
async function answering(port: number, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${child.spawnfile} ended before it listened on port ${port}`);
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect({ host: "127.0.0.1", port });
      socket.once("connect", () => (socket.destroy(), resolve(true)));
      socket.once("error", () => resolve(false));
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
