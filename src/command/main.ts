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
/** Whether the command has said how it ended. */
let isOver = false;
const io: CommandIo = { stdout: process.stdout, stderr: process.stderr };

// A full disk, or a reader that left. Without a listener the error would be a stack, or come after the exit.
process.stdout.on("error", (error: Error) => {
  const done = isChange ? `. ${MAY_BE_DONE}` : "";
  isOver = true;
  process.stderr.write(`sluice: Cannot write the output: ${error.message}${done}\n`, () => process.exit(1));
});
process.stderr.on("error", () => undefined); // no one reads the messages

// While a client connects, its first calls exceed the store's timeout. The command tries again, and itself says why the
// store failed. No limiter decides here, so that what limiters do in an outage is no news.
const OF_STORE: readonly unknown[] = [
  "SLUICE_STORE_UNAVAILABLE", "SLUICE_STORE_SLOW", "SLUICE_REDIS_CONNECT", "SLUICE_SHARED_BY",
];
const emitWarning = process.emitWarning.bind(process) as (...given: unknown[]) => void;
process.emitWarning = (...given: unknown[]): void => {
  const { code } = Object(given[1]) as { readonly code?: unknown };
  if (!OF_STORE.includes(code)) emitWarning(...given);
};

/** Says once why the module of limiters ended the command, and what became of a change. */
function endByModule(cause: string, cure: string): void {
  if (isOver) return;
  isOver = true;
  const done = { none: " It was not done.", begun: ` ${MAY_BE_DONE}.`, done: " It was done." }[io.change ?? "none"];
  try {
    // At once, so that nothing more is done.
    writeSync(2, `sluice: The module ${cause}.${isChange ? done : ""} ${cure}\n`);
  } catch {
    // No one reads the messages.
  }
  process.exitCode = io.change === undefined ? 2 : 1;
}

/** A failure outside of the module's top level, as in a timer. */
function onFailure(error: unknown): void {
  if (isOver) return;
  const cause = firstReason(error) || codeOfThrown(error) || "without a message";
  endByModule(`failed while it ran: ${cause}`, "Check that its store runs, and handle this failure in the module");
  process.exit();
}
process.on("uncaughtException", onFailure).on("unhandledRejection", onFailure);
const ENDED = "ended the command: by process.exit, or a top-level await that nothing ends";
process.on("exit", () => endByModule(ENDED, "Export the limiters only"));

const code = await runCommand(args, io).catch((error: unknown) => {
  isOver = true;
  process.off("uncaughtException", onFailure); // a mistake of the command itself keeps its stack
  throw error;
});
isOver = true;
// A module of limiters may have opened connections, which would keep the process alive. What was printed is sent first.
process.stdout.write("", (error) => {
  if (error == null) process.stderr.write("", () => process.exit(code));
});
