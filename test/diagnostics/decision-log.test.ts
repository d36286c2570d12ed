import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { bundled } from "../helpers/bundled.js";

/** The lines that the child prints with `NODE_DEBUG`, without the section and the process. */
async function printed(sections: string): Promise<string[]> {
  const { stderr } = await promisify(execFile)(process.execPath, [await bundled("test/diagnostics/decision-log-child.ts")], { env: { ...process.env, NODE_DEBUG: sections } });
  return stderr.split("\n").filter((line) => line.startsWith("SLUICE ")).map((line) => line.replace(/^SLUICE \d+: /, ""));
}

const hash = (key: string): string => createHash("sha256").update(key).digest("hex").slice(0, 12);

test("NODE_DEBUG=sluice prints each decision: policy, hash of the key, cost, what is left, wait", async () => {
  const ann = hash("ann");
  expect(await printed("sluice")).toEqual([
    `policy api, key ${hash("(4:user3:ann")}, cost 2: allowed, 0 of 2 left, wait 0 ms`,
    `policy api, key ${hash("(4:user3:ann")}, cost 2: limited, 0 of 2 left, wait 2000 ms`,
    `policy shadow, key ${ann}, cost 2: allowed, 0 of 2 left, wait 0 ms`,
    `policy shadow, key ${ann}, cost 2: allowed in shadow, else limited, 0 of 2 left, wait 2000 ms`,
    `policy user, key ${ann}, cost 1: allowed, 1 of 2 left, wait 0 ms`,
    `policy tenant, key ${hash("acme")}, cost 1: allowed, 1 of 2 left, wait 0 ms`,
    `policy waiter, key ${ann}, cost 1: allowed, 1 of 2 left, wait 0 ms`,
    `policy gate, key ${ann}, cost 1: allowed, 1 of 2 left, wait 0 ms`,
  ]);
});

test("nothing is printed without it", async () => {
  expect(await printed("http")).toEqual([]);
});
