// Whatever way an address is written, the operator's verbs act on the caller that the gate has.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import fc from "fast-check";
import { addressKey, createLimiter, MemoryStore, type Limiter } from "sluice";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../src/command/run-command.js";
import { addresses, ways } from "../helpers/address-ways.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-spellings-"));
afterAll(() => rmSync(folder, { recursive: true }));
const given = globalThis as unknown as { spellings?: Limiter };
afterAll(() => delete given.spellings);
const limits = join(folder, "limits.mjs");
beforeAll(() => {
  given.spellings = createLimiter({ policy: { name: "login", capacity: 20, refill: { tokens: 1, everyMs: 60_000 } }, store: new MemoryStore() });
  writeFileSync(limits, "export const login = globalThis.spellings;\n");
});

async function run(args: readonly string[]): Promise<string> {
  let out = "";
  const into = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
  await runCommand(args, { stdout: into, stderr: into });
  return out;
}

test("the verbs act on the key of addressKey", async () => {
  await fc.assert(fc.asyncProperty(addresses, async (address) => {
    const key = addressKey(address) as readonly ["address", string];
    for (const written of ways(address)) {
      expect(await run(["block", limits, "login", "address", written, "--for", "1min", "--memory"]), written).toContain(`Blocked ${JSON.stringify(key)} for 1 min.`);
      expect(given.spellings?.peek(key)).toMatchObject({ allowed: false, blocked: true });
      await given.spellings?.block(key, 0);
      expect(await run(["peek", limits, "login", JSON.stringify(["address", written]), "--memory"]), written).toContain(`${JSON.stringify(key)}, `);
    }
  }), { numRuns: 25 });
});

describe("what is no address", () => {
  test.each(["https://203.0.113.7/x", "203.0.113.007", "203.0.113.7.", "1.2.3", "0x7f.0.0.1", "2130706433", "unknown", "home"])(
    "%s after the part address: the answer says that no gate has this caller", async (text) => {
      expect(addressKey(text)).toBeUndefined();
      for (const verb of [["block", "--for", "1min"], ["peek"]] as const) {
        expect(await run([verb[0], limits, "login", "address", text, "--memory", ...verb.slice(1)])).toContain(`addressKey makes no key of ${text}, so this is no caller of a gate that uses it.\n`);
      }
      await given.spellings?.block(["address", text], 0);
    },
  );

  test.each([
    ["203.0.113.7", "203.0.113.7"], ["address:2001:db8::1", "2001:db8::1"],
    ["address 203.0.113.7", "203.0.113.7"], ["address=203.0.113.7", "203.0.113.7"], ["address,203.0.113.7", "203.0.113.7"], ['["address" "2001:db8::1"]', "2001:db8::1"], ["Address: ::1", "::1"],
  ])("the one text %s may be meant as an address, which is said", async (text, address) => {
    expect(await run(["peek", limits, "login", text, "--memory"])).toContain(`The key is one text. For the key of addressKey write: address ${address}.\n`);
  });

  test.each([["user 42"], ["ann"], ["address"], ["tenant:a"], ["1.2.3"]])("%s is none", async (text) => {
    expect(await run(["peek", limits, "login", text, "--memory"])).not.toContain("addressKey");
  });
});
