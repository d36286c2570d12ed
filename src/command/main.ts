#!/usr/bin/env node
/**
 * `npx sluice`.
 *
 * Experimental: commands, options and what is printed may change in a minor version.
 * @module
 * @experimental
 */
import { writeSync } from "node:fs";
import { MAY_BE_DONE, type CommandIo } from "./io.js";
import { codeOfThrown, firstReason } from "./read-module.js";
import { runCommand } from "./run-command.js";

const args = process.argv.slice(2);
const CHANGES = ["credit", "debit", "block", "reset"];
const isChange = CHANGES.includes(args[0] ?? "") && !args.includes("--help") && !args.includes("-h");
const io: CommandIo = { stdout: process.stdout, stderr: process.stderr };

// A full disk, or a reader that left. Without a listener the error would be a stack, or come after the exit.
process.stdout.on("error", (error: Error) => {
  const done = isChange ? `. ${MAY_BE_DONE}` : "";
  process.stderr.write(`sluice: Cannot write the output: ${error.message}${done}\n`, () => process.exit(1));
});
process.stderr.on("error", () => undefined); // no one reads the messages

/**
 * Ends the command when a module of limiters fails outside of its top level, as in a timer. The first failure is said.
 */
let isOver = false;
function endOfModule(error: unknown): void {
  if (isOver) return;
  isOver = true;
  const done = { none: " It was not done.", begun: ` ${MAY_BE_DONE}.`, done: " It was done." }[io.change ?? "none"];
  const cause = firstReason(error) || codeOfThrown(error) || "without a message";
  const cure = "Check that its store runs, and handle this failure in the module";
  try {
    // At once, so that nothing more is done.
    writeSync(2, `sluice: The module failed while it ran: ${cause}.${isChange ? done : ""} ${cure}\n`);
  } catch {
    // No one reads the messages.
  }
  process.exit(io.change === undefined ? 2 : 1);
}
process.on("uncaughtException", endOfModule).on("unhandledRejection", endOfModule);

const code = await runCommand(args, io).catch((error: unknown) => {
  process.off("uncaughtException", endOfModule); // a mistake of the command itself keeps its stack
  throw error;
});
isOver = true;
// A module of limiters may have opened connections, which would keep the process alive. What was printed is sent first.
process.stdout.write("", (error) => {
  if (error == null) process.stderr.write("", () => process.exit(code));
});
