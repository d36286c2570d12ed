// A cluster: which warnings its primary gets, and its workers, each of which makes its limiters in another way.
import cluster from "node:cluster";
import { createLimiter, MemoryStore, perSecond, silenceWarnings, type AsyncStore } from "sluice";
import { guard } from "sluice/store";
import { storeOf } from "../helpers/store-of.js";

/** Codes, by who was warned. */
export type Heard = Record<string, string[]>;

const policy = { capacity: 5, refill: perSecond(1) };
const elsewhere: AsyncStore = storeOf({ sync: false, guard: guard(), clock: "server", consume: () => Promise.reject(new Error("not asked")) });

const ways: Record<string, () => void> = {
  "another store": () => void createLimiter({ policy, store: elsewhere }),
  memory: () => [createLimiter({ policy }), createLimiter({ policy, store: new MemoryStore() })],
  silenced: () => {
    silenceWarnings("SLUICE_MEMORY_IN_CLUSTER");
    createLimiter({ policy });
  },
};

const codes: string[] = [];
process.on("warning", (warning: Error & { code?: string }) => void codes.push(warning.code ?? warning.name));

if (cluster.isPrimary) {
  createLimiter({ policy });
  const heard: Heard = {};
  await Promise.all(
    Object.keys(ways).map(
      (way) =>
        new Promise<void>((resolve) => {
          cluster.fork({ WAY: way, NODE_NO_WARNINGS: "1" }).once("message", (told: string[]) => {
            heard[way] = told;
            resolve();
          });
        }),
    ),
  );
  process.send?.({ primary: codes, ...heard }, () => process.exit());
} else {
  ways[process.env["WAY"] ?? ""]?.();
  // Warnings are given in a turn of their own.
  setImmediate(() => process.send?.(codes, () => process.exit()));
}
