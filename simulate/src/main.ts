#!/usr/bin/env node
// `npx sluice-simulate`. Experimental: options and what is printed may change in a minor version.
import { runSimulate } from "./run.js";

// A full disk, or a reader that left. Without a listener the error would be a stack, or come after the exit.
process.stdout.on("error", (error: Error) => {
  process.stderr.write(`sluice-simulate: Cannot write the output: ${error.message}\n`, () => process.exit(1));
});
process.stderr.on("error", () => undefined); // no one reads the messages

const { stdin, stdout, stderr } = process;
const code = await runSimulate(process.argv.slice(2), { stdin, stdout, stderr });
// A module of limiters may have opened connections, which would keep the process alive. What was printed is sent first.
stdout.write("", (error) => {
  if (error == null) stderr.write("", () => process.exit(code));
});
