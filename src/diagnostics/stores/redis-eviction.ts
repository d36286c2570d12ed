import { isQuiet, warnOnce } from "../../warnings/warnings.js";

const EVICTS = "SLUICE_REDIS_EVICTS";

const knownServers = new WeakSet<object>();

/**
 * Warns of a server that removes keys when its memory is full, for a client whose store settles decisions of `policy`.
 * Asks once for each client. Nothing is known of a server that forbids INFO, or behind a client without `info`.
 */
export function hintEviction(client: object, policy: string): void {
  if (knownServers.has(client) || isQuiet(EVICTS)) return;
  knownServers.add(client);
  askMemory(client)
    .then((info) => {
      const rule = /^maxmemory_policy:((?:allkeys|volatile)-\w+)/m.exec(info)?.[1];
      if (rule === undefined || !/^maxmemory:[1-9]/m.test(info)) return;
      warnOnce(
        EVICTS,
        `Expected a Redis that keeps the keys of policy "${policy}", got \`maxmemory-policy ${rule}\`. When its memory is ` +
        "full, a give-back may act twice, and a caller may start with a full bucket. Give the server enough memory, and set " +
        "`maxmemory-policy noeviction`",
      );
    })
    .catch(() => undefined);
}

// Async, because a client that is closed may throw.
async function askMemory(client: { info?(section: "memory"): Promise<unknown> }): Promise<string> {
  return String(await client.info?.("memory"));
}
