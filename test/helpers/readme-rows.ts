// The rows of README's table "you want / write" that have code, each pasted into the first sample as its reader would.
import * as sluice from "../../src/index.js";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fencesOf, ROOT, type Fence } from "./docs-read.js";

/** Whole programs, by the first cell of their row. */
export function pastedRows(): ReadonlyMap<string, string> {
  const [table = ""] = /^\| you want \| write \|\n(?:\|.*\n)+/m.exec(readFileSync(join(ROOT, "README.md"), "utf8")) ?? [];
  const rows = table.split("\n").slice(2).flatMap((line) => {
    const [, then = "", code = ""] = /^\| ([^|]+) \| `([^`]+)`/.exec(line) ?? [];
    return code === "" ? [] : [[then, pasted(code)] as const];
  });
  return new Map(rows);
}

/** The sample with the code of a row: an option or two, the numbers of the limit, or a statement. */
function pasted(code: string): string {
  const [{ text }] = fencesOf("README.md").filter(({ language }) => language === "ts") as [Fence];
  if (code.startsWith("app.")) return imported(text.replace('app.get("/"', `${code};\n$&`));
  if (/^(?:capacity|refill|limits):/.test(code)) return imported(text.replace("refill: perMinute(100)", code));
  const name = code.slice(0, code.indexOf(":"));
  return imported(new RegExp(`^ *${name}: .*$`, "m").test(text) ? text.replace(new RegExp(`^( *)${name}: .*$`, "m"), `$1${code},`) : text.replace(/^( *)key: /m, `$1${code},\n$&`));
}

/** The program with the imports that an editor adds, and with a Redis client that the row takes as given. */
function imported(program: string): string {
  const names = Object.keys(sluice).filter((name) => new RegExp(`\\b${name}\\(`).test(program));
  const redis = program.includes("RedisStore") ? 'import { RedisStore, type RedisClient } from "sluice/redis";\ndeclare const redis: RedisClient;\n' : "";
  return redis + program.replace(/import \{[^}]*\} from "sluice";/, `import { ${names.join(", ")} } from "sluice";`);
}
