// The commands of the guide print what the guide says they print.
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { expect, test } from "vitest";
import { runCommand } from "../../src/command/run-command.js";

const GUIDE = "docs/guides/choosing-numbers.md";
const COMMAND = /<!-- docs: command -->\n```sh\nnpx sluice (.*)\n```\n```text\n([^`]*)```/g;
const found = [...readFileSync(GUIDE, "utf8").matchAll(COMMAND)];

test("the guide has commands", () => {
  expect(found.length).toBeGreaterThan(1);
});

test.each(found.map(([, command = "", output = ""]) => [command, output]))("npx sluice %s", async (command, output) => {
  const args = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
  let out = "";
  const stdout = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
  expect(await runCommand(args, { stdin: Readable.from([]), stdout, stderr: stdout })).toBe(0);
  expect(out).toBe(output);
});
