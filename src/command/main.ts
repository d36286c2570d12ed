#!/usr/bin/env node
import { runCommand } from "./run-command.js";

const code = await runCommand(process.argv.slice(2), process);
// A module of limiters may have opened connections, which would keep the process alive. What was printed is sent first.
process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
