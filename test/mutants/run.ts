/**
 * `npm run mutants`: plants each mistake of the tables in turn, and shows that the tests of its number notice it. No file
 * is changed; a Vite plugin replaces the text on its way to the test. Numbers as arguments run those only.
 */
import { fileURLToPath } from "node:url";
import { createVitest, type TestModule, type Vite, type Vitest } from "vitest/node";
import base from "../../vitest.config.js";
import { Code } from "./code.js";
import { locate, mutants, readTexts, type Mutant, type Place } from "./mutants.js";
import { testsOf } from "./numbers.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const asked = process.argv.slice(2);
const [code, tests] = [new Code(readTexts("src")), readTexts("test", ".test.ts")];
const chosen = mutants.filter(({ item }) => asked.length === 0 || asked.includes(item));
const places = new Map(chosen.map((mutant) => [mutant, locate(mutant, code, tests)]));

// Ten times what the slowest takes on a busy machine. A loop that never ends cannot be stopped, only reported.
const DEADLINE_MS = 120_000;

/** How the tests of a number ended. "unloadable" is a fault of the mutant, such as a slip in its syntax. */
type End = "green" | "red" | "unloadable";

interface OpenVitest {
  /** Runs a mutant's tests, with it or without. */
  run(mutant: Mutant, plantIt: boolean): Promise<End>;
  close(): Promise<void>;
}

/** A Vitest that stays open from one mutant to the next. */
async function openVitest(): Promise<OpenVitest> {
  let planted: Place | null = null;
  const planter: Vite.Plugin = {
    name: "mutants",
    enforce: "pre",
    transform: (_code, id) => (planted !== null && id === root + planted.file ? planted.planted : null),
  };
  const vitest: Vitest = await createVitest(
    "test",
    {
      config: false,
      root,
      watch: false,
      pool: "threads",
      maxWorkers: 1,
      include: ["test/**/*.test.ts"],
      setupFiles: ["test/mutants/setup.ts"],
      env: { NODE_ENV: "test", ...base.test?.env }, // as in a run of the projects: some warnings come in development alone
      testTimeout: 5_000,
      reporters: [{}],
    },
    { plugins: [planter], resolve: { ...base.resolve }, logLevel: "silent" },
  );
  const specifications = await vitest.globTestSpecifications();

  return {
    async run(mutant, plantIt) {
      const place = places.get(mutant) as Place;
      const file = root + place.test;
      vitest.setGlobalTestNamePattern(testsOf(mutant.item));
      planted = plantIt ? place : null;
      vitest.invalidateFile(root + place.file);
      const running = vitest.runTestSpecifications(specifications.filter(({ moduleId }) => moduleId === file));
      const { testModules } = await within(DEADLINE_MS, running, mutant);
      vitest.invalidateFile(root + place.file);
      // The list also holds what earlier runs left there.
      const module = testModules.find(({ moduleId }) => moduleId === file) as TestModule;
      if (module.errors().length > 0) return (console.error(module.errors()[0]?.message), "unloadable");
      const ran = [...module.children.allTests()].some((one) => one.result().state !== "skipped");
      if (!ran) throw new Error(`Expected ${place.test} to have a test of ${mutant.item}, got none`);
      return module.ok() ? "green" : "red";
    },
    close: () => vitest.close(),
  };
}

const vitests = [await openVitest(), await openVitest()];
const results = new Map<Mutant, string>();

async function judge(mutant: Mutant, vitest: OpenVitest): Promise<string> {
  if ((await vitest.run(mutant, false)) !== "green") return "RED WITHOUT IT";
  const end = await vitest.run(mutant, true);
  return end === "red" ? "killed" : end === "green" ? "SURVIVED" : "DOES NOT LOAD";
}

async function within<T>(ms: number, running: Promise<T>, { item, replace }: Mutant): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Expected the tests of mutant ${item} to end, got a loop: ${replace}`)), ms);
  });
  return Promise.race([running, late]).finally(() => clearTimeout(timer));
}

const waiting = [...chosen];
await Promise.all(
  vitests.map(async (vitest) => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const { item, find, replace } = mutant;
      const result = await judge(mutant, vitest);
      results.set(mutant, result);
      console.log(`${item.padEnd(4)}${result.padEnd(16)}${mutant.in} in ${places.get(mutant)?.file}\n      - ${find}\n      + ${replace}`);
    }
    await vitest.close();
  }),
);

const alive = chosen.filter((mutant) => results.get(mutant) !== "killed");
console.log(`\n${chosen.length - alive.length} of ${chosen.length} mutants killed${alive.length === 0 ? "" : `; not: ${alive.map(({ item }) => item).join(", ")}`}`);
process.exit(alive.length === 0 && chosen.length > 0 ? 0 : 1);
