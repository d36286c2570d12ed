#!/usr/bin/env node
// `npx sluice-simulate`. Experimental: options and what is printed may change in a minor version.
import { writeSync } from "node:fs";
import { firstReason } from "./policies-of-module.js";
import { runSimulate } from "./run.js";

/** Whether the tool has said how it ended. */
let isOver = false;

// A full disk, or a reader that left. Without a listener the error would be a stack, or come after the exit.
process.stdout.on("error", (error: Error) => {
  isOver = true;
  process.stderr.write(`sluice-simulate: Cannot write the output: ${error.message}\n`, () => process.exit(1));
});
process.stderr.on("error", () => undefined); // no one reads the messages

/** Says once why the module of policies ended the tool. */
function endByModule(cause: string, cure: string): void {
  if (isOver) return;
  isOver = true;
  process.exitCode = 2;
  writeSync(2, `sluice-simulate: The module ${cause}. ${cure}\n`);
}
const ENDED = "ended the command: by process.exit, or a top-level await that nothing ends";
process.on("exit", () => endByModule(ENDED, "Export the policies only"));

/** A failure outside of the module's top level, as in a timer. */
function onFailure(error: unknown): void {
  if (isOver) return;
  endByModule(`failed while it ran: ${firstReason(error) || "without a message"}`, "Handle this failure in the module");
  process.exit();
}
process.on("uncaughtException", onFailure).on("unhandledRejection", onFailure);

const { stdin, stdout, stderr } = process;
const code = await runSimulate(process.argv.slice(2), { stdin, stdout, stderr }).catch((error: unknown) => {
  process.off("uncaughtException", onFailure); // a mistake of the tool itself keeps its stack
  throw error;
}).finally(() => (isOver = true));
// A module of limiters may have opened connections, which would keep the process alive. What was printed is sent first.
stdout.write("", (error) => {
  if (error == null) stderr.write("", () => process.exit(code));
});
