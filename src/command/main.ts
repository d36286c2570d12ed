#!/usr/bin/env node
import { runCommand } from "./run-command.js";

// A full disk, or a reader that left. Without a listener the error would be a stack, or come after the exit.
process.stdout.on("error", (error: Error) => {
  process.stderr.write(`sluice: Cannot write the output: ${error.message}\n`, () => process.exit(1));
});
const code = await runCommand(process.argv.slice(2), process);
// A module of limiters may have opened connections, which would keep the process alive. What was printed is sent first.
process.stdout.write("", (error) => {
  if (error == null) process.stderr.write("", () => process.exit(code));
});
