// A memcached that one test starts and ends.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { freePort } from "./free-port.js";

/** The program that tests start as a server: `memcached` from the PATH, or the one in `SLUICE_MEMCACHED`. */
const memcachedProgram = (): string => process.env["SLUICE_MEMCACHED"] ?? "memcached";

/** Whether the program is installed. */
export function hasMemcachedProgram(): boolean {
  return spawnSync(memcachedProgram(), ["-V"]).status === 0;
}

/** Starts a memcached on a free port of this machine. */
export async function startMemcached(): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const port = await freePort();
  const user = process.getuid?.() === 0 ? ["-u", "root"] : [];
  const child = spawn(memcachedProgram(), ["-l", "127.0.0.1", "-p", String(port), "-U", "0", ...user], { stdio: ["ignore", "ignore", "inherit"] });
  const gone = once(child, "exit");
  const kill = (): unknown => child.kill("SIGKILL");
  process.once("exit", kill); // memcached must end with this process
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`memcached on port ${port} ended before it was ready`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return {
    port,
    async stop() {
      kill();
      process.off("exit", kill);
      await gone;
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => resolve(false));
  });
}
