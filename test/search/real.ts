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
import type * as mark from "../../src/stores/redis/mark.js";
import { Code } from "../mutants/code.js";
import { readTexts } from "../mutants/mutants.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FILES = [
  "core/policy.ts", "core/records.ts", "core/decision.ts", "guard/circuit-breaker.ts", "limiter/verbs/refundable.ts",
  "limits/held-work.ts", "limits/in-flight.ts", "limits/quota.ts", "stores/redis/mark.ts",
];

/** What the worlds call of src. */
export type Real = typeof policy & typeof records & typeof decision & typeof breaker & typeof refundable & typeof held & typeof inFlight & typeof quota & typeof mark;

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
    plugins: mistake === undefined ? [withoutDiagnostics] : [withoutDiagnostics, planted(mistake)],
  });
  const folder = mkdtempSync(join(tmpdir(), "sluice-search-"));
  try {
    const file = join(folder, "real.mjs");
    writeFileSync(file, outputFiles[0]?.contents ?? "");
    return (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Real;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const withoutDiagnostics: Plugin = {
  name: "without-diagnostics",
  setup: ({ onResolve }) => onResolve({ filter: /^#diagnostics$/ }, () => ({ path: `${ROOT}src/diagnostics/none.ts` })),
};

let code: Code | undefined;

function planted({ in: name, find, replace }: Mistake): Plugin {
  code ??= new Code(readTexts("src"));
  const [part, ...more] = code.search(name, find) ?? [];
  if (part === undefined || more.length > 0) throw new Error(`Expected ${name} to hold once: ${find}`);
  return {
    name: "mistake",
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
        if (relative(ROOT, path).replaceAll("\\", "/") !== part.file) return undefined;
        const text = readFileSync(path, "utf8");
        return { contents: text.slice(0, part.from) + replace + text.slice(part.to), loader: "ts" };
      });
    },
  };
}
