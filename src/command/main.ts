#!/usr/bin/env node
/**
 * `npx sluice`.
 *
 * Experimental: commands, options and what is printed may change in a minor version.
 * @module
 * @experimental
 */
import { runCommand } from "./run-command.js";

const args = process.argv.slice(2);
const CHANGES = ["credit", "debit", "block", "reset"];

// A full disk, or a reader that left. Without a listener the error would be a stack, or come after the exit.
process.stdout.on("error", (error: Error) => {
  const isChange = CHANGES.includes(args[0] ?? "") && !args.includes("--help") && !args.includes("-h");
  const done = isChange ? ". It may have been done. Look before you repeat it" : "";
  process.stderr.write(`sluice: Cannot write the output: ${error.message}${done}\n`, () => process.exit(1));
});
process.stderr.on("error", () => undefined); // no one reads the messages
const code = await runCommand(args, process);
// A module of limiters may have opened connections, which would keep the process alive. What was printed is sent first.
process.stdout.write("", (error) => {
  if (error == null) process.stderr.write("", () => process.exit(code));
});
