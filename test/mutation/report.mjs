// `node test/mutation/report.mjs`, after `npm run mutation` over the whole rooms: writes their scores into test/mutation/README.md,
// and prints each survivor that survivors.md does not name.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const named = new Set();
let file = "";
for (const line of readFileSync("test/mutation/survivors.md", "utf8").split("\n")) {
  file = /^## (\S+)/.exec(line)?.[1] ?? file;
  const [, , code, , mutant] = /^- (`+)(.+?)\1 → (`+)(.+?)\3: /.exec(line) ?? [];
  if (code !== undefined) named.add(`${file} ${code} → ${mutant}`);
}

const percent = (found, all) => `${Math.floor((100 * found) / all)} %`;
const oneLine = (text) => text.replaceAll(/\s+/g, " ");
const rows = ["core", "limits", "guard", "limiter"].flatMap((room) => {
  const path = `.mutation/${room}.json`;
  if (!readdirSync(".mutation").includes(`${room}.json`)) return [];
  const total = { found: 0, survived: 0, named: 0 };
  const scores = Object.entries(JSON.parse(readFileSync(path, "utf8")).files).map(([name, { mutants, source }]) => {
    const lines = source.split("\n");
    const is = (...statuses) => mutants.filter(({ status }) => statuses.includes(status));
    const [found, survivors] = [is("Killed", "Timeout").length, is("Survived", "NoCoverage")];
    const short = name.replace("src/", "");
    for (const { location: { start, end }, replacement } of survivors) {
      const part = lines.slice(start.line - 1, end.line);
      part[part.length - 1] = part.at(-1).slice(0, end.column - 1);
      part[0] = part[0].slice(start.column - 1);
      const survivor = `${short} ${oneLine(part.join("\n"))} → ${oneLine(replacement)}`;
      if (named.has(survivor)) total.named++;
      else console.log(`${start.line}:${start.column} ${survivor}`);
    }
    total.found += found;
    total.survived += survivors.length;
    return survivors.length === 0 ? null : `${short.split("/").at(-1).replace(".ts", "")} ${percent(found, found + survivors.length)}`;
  });
  const all = total.found + total.survived;
  const whole = scores.filter((score) => score === null).length;
  const others = scores.filter(Boolean).join(", ");
  return [`| ${room} | ${all.toLocaleString("en")} | ${percent(total.found, all)} | ${total.named} of ${total.survived} | ${others}${whole > 0 ? `; ${whole} files 100 %` : ""} |`];
});

const page = readFileSync("test/mutation/README.md", "utf8");
const table = ["| room | mutants | found | survivors explained | by file |", "| --- | --: | --: | --: | --- |", ...rows].join("\n");
writeFileSync("test/mutation/README.md", page.replace(/(<!-- mutation -->\n)[^]*?(<!-- end -->)/, `$1${table}\n$2`));
