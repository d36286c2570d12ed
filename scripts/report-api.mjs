// `npm run api`: writes what each entry exports into test/package/api, from the built declarations. With --check it writes
// nothing, and fails when a report would change, or when a name in a signature is exported from nowhere.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Extractor, ExtractorConfig } from "@microsoft/api-extractor";
import { INSIDE_BASES, INSIDE_TYPES } from "./inside-types.mjs";

const isCheck = process.argv.includes("--check");
const reportFolder = resolve("test/package/api");
const reportTempFolder = mkdtempSync(join(tmpdir(), "sluice-api-"));
mkdirSync(reportFolder, { recursive: true });
const compilerOptions = {
  target: "es2022", module: "nodenext", moduleResolution: "nodenext", strict: true, lib: ["es2023", "dom", "dom.iterable"], types: ["node"], skipLibCheck: true,
};
const none = { logLevel: "none" };
const insides = [...INSIDE_TYPES, ...INSIDE_BASES];
/** The names that an entry exports, and those in its signatures that it does not. */
const exported = new Set();
const unexported = new Map();

for (const subpath of Object.keys(JSON.parse(readFileSync("entries.json", "utf8")).subpaths)) {
  const name = subpath === "." ? "index" : subpath.slice(2);
  const declarations = resolve(`dist/${name}.d.ts`);
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder: resolve("."),
      mainEntryPointFilePath: declarations,
      compiler: { overrideTsconfig: { compilerOptions, files: [declarations] } },
      apiReport: { enabled: true, reportFileName: `${name.replace("/", "-")}.api.md`, reportFolder, reportTempFolder },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: "warning" } },
        extractorMessageReporting: { default: none, "ae-forgotten-export": { logLevel: "warning" } },
        tsdocMessageReporting: { default: none }, // typedoc reads them
      },
    },
    configObjectFullPath: resolve("api-extractor.json"), // no such file: what paths are relative to
    packageJsonFullPath: resolve("package.json"),
  });
  const faults = [];
  const { apiReportChanged } = Extractor.invoke(config, {
    localBuild: !isCheck,
    messageCallback(message) {
      message.handled = true;
      if (message.category === "Compiler") faults.push(message.text);
      const [, missing] = /^The symbol "(.+?)" needs/.exec(message.text) ?? [];
      if (message.messageId === "ae-forgotten-export") unexported.set(missing, subpath);
    },
  });
  const report = readFileSync(join(reportTempFolder, `${name.replace("/", "-")}.api.md`), "utf8");
  for (const [, name] of report.matchAll(/^export (?:declare )?(?:abstract )?(?:class|const|function|interface|type) (\w+)/gm)) exported.add(name);
  if (apiReportChanged && isCheck) faults.push(`The public face of ${subpath} changed. Run \`npm run api\`, look at the report, and write a changeset.`);
  console.log(`${faults.length === 0 ? "ok     " : "FAILED "} ${subpath}${faults.map((fault) => `\n        ${fault}`).join("")}`);
  if (faults.length > 0) process.exitCode = 1;
}
rmSync(reportTempFolder, { recursive: true });
for (const name of insides) {
  if (unexported.has(name) && !exported.has(name)) continue;
  console.log(`FAILED  scripts/inside-types.mjs has ${name}, which ${exported.has(name) ? "an entry exports" : "no signature has"}. Take it out.`);
  process.exitCode = 1;
}
// An adapter's options name a limiter's types, which users import from another entry.
for (const [name, subpath] of unexported) {
  if (exported.has(name) || insides.includes(name)) continue;
  console.log(`FAILED  ${subpath} has ${name} in a signature, and no entry exports it. Export it, or write it out.`);
  process.exitCode = 1;
}
