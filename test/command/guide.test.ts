// The commands of the guide for operators print what it says they print.
import { readFileSync } from "node:fs";
import { Writable } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { runCommand } from "../../src/command/run-command.js";

const OPERATING = "docs/guides/one-file-of-limits.md";
const COMMAND = /<!-- docs: command -->\n```sh\nnpx sluice (.*)\n```\n```text\n([^`]*)```/g;

afterEach(() => void vi.useRealTimers());

test("the commands for operators, in the order of the guide", async () => {
  vi.useFakeTimers({ toFake: ["performance", "Date"] });
  const { interactive, tiers } = await import("../../examples/one-file/limits.js");
  await interactive.consume(["user", "42"], { cost: 10, policy: tiers.free });
  const commands = [...readFileSync(OPERATING, "utf8").matchAll(COMMAND)];
  expect(commands.length).toBeGreaterThan(1);
  for (const [, command = "", output = ""] of commands) await expectOutput(`${command.replace("./limits.mjs", "examples/one-file/limits.ts")} --memory`, output); // without a Redis
});

async function expectOutput(command: string, output: string): Promise<void> {
  const args = [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double ?? single ?? plain ?? "");
  let out = "";
  const stdout = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
  expect(await runCommand(args, { stdout, stderr: stdout }), out).toBe(0);
  expect(out).toBe(output);
}
