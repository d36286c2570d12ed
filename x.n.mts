import { namesRead } from "./test/core/names-read.ts"; import { NAMES, SENT_NAMES } from "./test/core/pollution-names.ts"; import { writeFileSync } from "node:fs";
const n = [...new Set([...NAMES, ...namesRead()])]; writeFileSync("/tmp/sm/names.json", JSON.stringify(n)); console.log(n.length);
