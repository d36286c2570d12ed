// Reads a module as the command does, with a shorter time for one that blocks: `<file> <ms>`.
import { readModule } from "../../src/command/module/import-module.js";
import { policiesOfModule } from "../../src/command/module/policies-of-module.js";

const [file = "", longestBlockMs] = process.argv.slice(2);
await readModule(file, policiesOfModule, 60_000, Number(longestBlockMs));
