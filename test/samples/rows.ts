// All samples of pages and all files to copy.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { preludeOf } from "../helpers/docs-preludes.js";
import { fencesOf, pages, ROOT } from "../helpers/docs-read.js";

/** A sample or a file to copy. */
export interface Row {
  /** Such as `docs/options.md:6` or `examples/tiers/plans.ts`. */
  readonly name: string;
  /** With the code that the sample leaves out before it, on one line. */
  readonly text: string;
  /** The file whose module it is. */
  readonly file: string;
  /** How the page marks it: "run", "part". Empty for a file. */
  readonly mark: string;
}

// A sample that is a file, or a part of one, is that file's row.
const samples = [...pages(), "skills/sluice/SKILL.md"].flatMap(fencesOf).filter(({ language, mark }) => language === "ts" && mark !== "part" && mark !== "file");

export const files: readonly Row[] = readdirSync(join(ROOT, "examples"), { recursive: true, encoding: "utf8" })
  .filter((file) => /\.m?tsx?$/.test(file) && !/node_modules|^hosts\/(?:test|nest-\d+|\.)/.test(file))
  .map((file) => ({ name: `examples/${file}`, text: readFileSync(join(ROOT, "examples", file), "utf8"), file: join(ROOT, "examples", file), mark: "" }));

export const snippets: readonly Row[] = await Promise.all(samples.map(async (fence): Promise<Row> => {
  const prelude = await preludeOf(fence);
  return { name: `${fence.file}:${fence.line}`, text: `${prelude};\n${fence.text}`, file: join(ROOT, "sample.ts"), mark: fence.mark };
}));
