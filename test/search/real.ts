// The functions of src that the searches run, as they are or with one mistake in them.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import type * as policy from "../../src/core/policy.js";
import type * as records from "../../src/core/records.js";
import type * as decision from "../../src/core/decision.js";
import type * as breaker from "../../src/guard/circuit-breaker.js";
import type * as refundable from "../../src/limiter/verbs/refundable.js";
import type * as held from "../../src/limits/held-work.js";
import type * as inFlight from "../../src/limits/in-flight.js";
import type * as quota from "../../src/limits/quota.js";
import type * as window from "../../src/limits/window.js";
import type * as mark from "../../src/stores/redis/mark.js";
import { recordVerbs } from "../helpers/records.js";
import { Code } from "../mutants/code.js";
import { readTexts } from "../mutants/mutants.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FILES = [
  "core/policy.ts", "core/records.ts", "core/decision.ts", "core/decide.ts", "guard/circuit-breaker.ts", "limiter/verbs/refundable.ts",
  "limits/held-work.ts", "limits/in-flight.ts", "limits/quota.ts", "limits/window.ts", "stores/redis/mark.ts",
];

/** What the worlds call of src. */
export type Real = typeof policy & typeof records & ReturnType<typeof recordVerbs> & typeof decision & typeof breaker & typeof refundable & typeof held & typeof inFlight & typeof quota & typeof window & typeof mark;

/** A mistake in one declaration of src, as those of `npm run mutants`. */
export interface Mistake {
  readonly in: string;
  readonly find: string;
  readonly replace: string;
}

/** The functions, with a mistake if one is given. */
export async function realFunctions(mistake?: Mistake): Promise<Real> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    stdin: { contents: FILES.map((file) => `export * from "./src/${file}";`).join("\n"), resolveDir: ROOT },
    bundle: true, write: false, format: "esm", target: "node20", platform: "node",
    plugins: [withoutDiagnostics, changed(mistake)],
  });
  const folder = mkdtempSync(join(tmpdir(), "sluice-search-"));
  try {
    const file = join(folder, "real.mjs");
    writeFileSync(file, outputFiles[0]?.contents ?? "");
    const functions = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Real;
    return { ...functions, ...recordVerbs(functions.answerCall) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const withoutDiagnostics: Plugin = {
  name: "without-diagnostics",
  setup: ({ onResolve }) => onResolve({ filter: /^#diagnostics$/ }, () => ({ path: `${ROOT}src/diagnostics/none.ts` })),
};

let code: Code | undefined;

// A window keeps 2 amounts in place of 18: so three calls make it join two of them.
const AMOUNTS: Mistake = { in: "MOST_AMOUNTS", find: "18", replace: "2" };

function changed(mistake: Mistake | undefined): Plugin {
  code ??= new Code(readTexts("src"));
  const parts = [AMOUNTS, ...(mistake ? [mistake] : [])].map(({ in: name, find, replace }) => {
    const [part, ...more] = (code as Code).search(name, find) ?? [];
    if (part === undefined || more.length > 0) throw new Error(`Expected ${name} to hold once: ${find}`);
    return { ...part, replace };
  });
  // The last one first, so that the others stay where they are.
  parts.sort((a, b) => b.from - a.from);
  return {
    name: "changed",
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
        const own = parts.filter(({ file }) => relative(ROOT, path).replaceAll("\\", "/") === file);
        if (own.length === 0) return undefined;
        const contents = own.reduce((text, { from, to, replace }) => text.slice(0, from) + replace + text.slice(to), readFileSync(path, "utf8"));
        return { contents, loader: "ts" };
      });
    },
  };
}
