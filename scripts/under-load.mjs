// `node scripts/under-load.mjs npm test` runs a command on a busy machine: beside four loops that never rest for each
// core. The loops end with this process, however it ends.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";

const [program, ...args] = process.argv.slice(2);
if (program === undefined) throw new Error("Expected a command, got none. Write `node scripts/under-load.mjs npm test`");
for (let loops = 4 * availableParallelism(); loops > 0; loops--) new Worker("for (;;);", { eval: true });
spawn(program, args, { stdio: "inherit", shell: process.platform === "win32" })
  .on("error", (error) => {
    console.error(error.message);
    process.exit(1);
  })
  .on("close", (code) => process.exit(code ?? 1));
