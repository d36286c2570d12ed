// Shared by http.ts and redis-http.ts: servers in processes of their own, and http-loader.mjs, which sends them requests.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** A server in a process of its own. */
export interface Running {
  readonly name: string;
  readonly port: number;
  readonly child: ChildProcess;
}

/** What http-loader.mjs tells of one load. */
export interface Loaded {
  readonly ms: number;
  readonly p99Ms: number;
  /** How many answers had each status. */
  readonly statuses: Readonly<Record<string, number>>;
}

/** A load: the port, the connections, the requests of all of them, and the number of callers. */
export type Load = readonly [port: number, connections: number, requests: number, keys: number];

/** Sends a load, and waits for its end. */
export async function load(loader: ChildProcess, what: Load): Promise<Loaded> {
  loader.send(what);
  const [loaded] = (await once(loader, "message")) as [Loaded];
  return loaded;
}

/** Microseconds of processor time that a server has used so far. */
export async function usedUs(child: ChildProcess): Promise<number> {
  child.send("used");
  const [{ user, system }] = (await once(child, "message")) as [NodeJS.CpuUsage];
  return user + system;
}

/** Throws in this process when a server ends by itself. */
export function mustStay(child: ChildProcess, name: string): void {
  child.on("exit", (code) => {
    if (code !== 0) throw new Error(`${name} ended with ${code}`);
  });
}
