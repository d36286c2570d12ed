// sluice-simulate as it is packed, beside the packed sluice.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { Consumer } from "./consumer.js";

const consumer = new Consumer();
afterAll(() => consumer.remove());
const root = join(consumer.root, "node_modules/sluice-simulate");
mkdirSync(root, { recursive: true });
execFileSync("tar", ["xzf", process.env["SLUICE_SIMULATE_TARBALL"] ?? pack(), "--strip-components=1", "-C", root]);
function pack(): string {
  const packed = execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--workspace", "simulate", "--pack-destination", consumer.root], { encoding: "utf8" });
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
  return join(consumer.root, filename);
}
const versionIn = (file: string): string => (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;

test("it has its command, its page and its license", () => {
  expect(readdirSync(root, { recursive: true, encoding: "utf8" }).toSorted()).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "dist", "dist/main.js", "package.json"]);
  expect(readFileSync(join(root, "LICENSE"), "utf8")).toBe(readFileSync("LICENSE", "utf8"));
});

test("it replays a log with the limiter of its peer, and by the policies of a module", async () => {
  consumer.write("limits.mjs", 'import { createLimiter, perSecond } from "sluice";\nexport const api = createLimiter({ policy: { name: "api", capacity: 7, refill: perSecond(1) } });\n');
  const said = await consumer.node(join(root, "dist/main.js"), resolve("examples/simulate/access.log"), "--key", "address", "--policies", "limits.mjs");
  expect(said).toContain("Policy api (7, 1/s)\n7, 1/s refuses 202 of 522 requests");
});

test("sluice of this repository is in the range of its peer", () => {
  const { peerDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { peerDependencies: { sluice: string } };
  expect(peerDependencies.sluice).toBe(">=1.0.0-rc.1 <2");
  expect(versionIn("package.json")).toMatch(/^1\./);
});
