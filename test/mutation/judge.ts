// Runs the tests again for each mutant in one process that has loaded them once: 20 times as fast as a Vitest for each
// mutant. It is the runner (`runner` in vitest.config.ts) inside Vitest; stryker-runner.mjs is the other end of the channel.
import { createRequire } from "node:module";
import type { startTests as StartTests, VitestRunner } from "@vitest/runner";
import { TestRunner, type RunnerTask, type RunnerTestCase, type RunnerTestFile, type RunnerTestSuite } from "vitest";

/** What Stryker's instrumented code reads and counts. */
interface Instrumented {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: { readonly static: object; readonly perTest: Readonly<Record<string, object>> };
}

/** A mutant and the tests that reach it. Without a mutant, all tests are tried. */
interface Ask {
  readonly end?: boolean;
  readonly mutant?: string;
  readonly tests?: readonly string[];
  readonly hitLimit?: number;
}

// Vitest's own copy: an import would load another one, without the hooks of these tests.
const { startTests } = createRequire(import.meta.url)("@vitest/runner") as { startTests: typeof StartTests };
const code = ((globalThis as unknown as { __stryker__?: Instrumented }).__stryker__ ??= {});
const channel = new BroadcastChannel("sluice-mutation");

const testsOf = (task: RunnerTask): RunnerTestCase[] => (task.type === "test" ? [task] : task.tasks.flatMap(testsOf));
const messageOf = (test: RunnerTestCase): string => `${test.fullTestName}: ${test.result?.errors?.[0]?.message ?? "failed"}`;

export default class Judge extends TestRunner {
  async onBeforeRunFiles([file]: RunnerTestFile[]): Promise<void> {
    if (file === undefined || file.result?.state === "fail") throw new Error(JSON.stringify(file?.result?.errors));
    await super.onBeforeRunSuite(file);
    for (;;) {
      const heard = new Promise<Ask>((resolve) => {
        channel.onmessage = ({ data }: MessageEvent<Ask>) => resolve(data);
      });
      channel.postMessage({ ready: true });
      const ask = await heard;
      if (ask.end) break;
      channel.postMessage(await this.#answer(file, ask));
    }
    file.mode = "skip";
  }

  async #answer(file: RunnerTestFile, { mutant, tests, hitLimit }: Ask): Promise<unknown> {
    if (mutant === undefined) return this.#tryAll(file);
    const chosen = new Set(tests);
    const failed = await this.#runMutant(file, mutant, chosen, hitLimit);
    if (failed === undefined) return { survived: true };
    const isEndless = (code.hitCount ?? 0) > (hitLimit ?? Infinity);
    const message = messageOf(failed);
    // A mutant can leave state that fails other tests. Only a test that passes without the mutant has judged it.
    const isClean = (await this.#run(file, new Set([failed.id]))) === undefined;
    toFront(failed);
    return { killedBy: failed.id, message, isEndless, isClean };
  }

  /** All tests twice. Those that do not pass twice cannot judge. */
  async #tryAll(file: RunnerTestFile): Promise<unknown> {
    const all = testsOf(file).filter(({ mode }) => mode === "run" || mode === "queued");
    const once = await this.#runEach(file, all);
    const { static: loaded = {}, perTest = {} } = structuredClone(code.mutantCoverage) ?? {};
    const unfit = [...once, ...(await this.#runEach(file, all.filter((test) => !once.includes(test))))];
    const fit = all.filter((test) => !unfit.includes(test));
    return {
      tests: fit.map((test) => ({ id: test.id, name: test.fullTestName, timeSpentMs: test.result?.duration ?? 0 })),
      coverage: { static: loaded, perTest: Object.fromEntries(fit.map(({ id }) => [id, perTest[id] ?? {}])) },
      unfit: unfit.map(messageOf),
    };
  }

  async #runEach(file: RunnerTestFile, tests: readonly RunnerTestCase[]): Promise<RunnerTestCase[]> {
    const failed: RunnerTestCase[] = [];
    await this.#run(file, new Set(tests.map(({ id }) => id)), (test) => void failed.push(test));
    return failed;
  }

  async #runMutant(file: RunnerTestFile, mutant: string, chosen: ReadonlySet<string>, hitLimit: number | undefined): Promise<RunnerTestCase | undefined> {
    Object.assign(code, { activeMutant: mutant, hitCount: 0, hitLimit });
    const failed = await this.#run(file, chosen);
    Object.assign(code, { activeMutant: undefined, hitLimit: undefined });
    return failed;
  }

  /** Runs the chosen tests up to the first that fails, or all of them with `onFailed`. */
  async #run(file: RunnerTestFile, chosen: ReadonlySet<string>, onFailed?: (test: RunnerTestCase) => void): Promise<RunnerTestCase | undefined> {
    let failed: RunnerTestCase | undefined;
    const before = (test: RunnerTestCase): Promise<void> => super.onBeforeRunTask(test);
    const fail = (test: RunnerTestCase): void => {
      failed ??= test;
      onFailed?.(test);
    };
    const isChosen = (test: RunnerTestCase): boolean => chosen.has(test.id) && (failed === undefined || onFailed !== undefined);
    const runner: VitestRunner = Object.assign(Object.create(this) as VitestRunner, {
      onCollected: (files: RunnerTask[]) => void files.push(...file.tasks),
      onBeforeRunFiles: undefined,
      onAfterRunFiles: undefined,
      onTaskUpdate: async () => undefined,
      onBeforeRunSuite: async (suite: RunnerTestSuite) => {
        delete suite.result;
        suite.mode = testsOf(suite).some(isChosen) ? "run" : "skip";
      },
      onBeforeRunTask: async (test: RunnerTestCase) => {
        delete test.result;
        test.meta = {};
        test.mode = isChosen(test) ? "run" : "skip";
        if (test.mode === "run") {
          code.currentTestId = test.id;
          channel.postMessage({ isAlive: true });
        }
        await before(test);
      },
      // A hook of the file that fails
      onAfterRunSuite: async (suite: RunnerTestSuite) => {
        if (suite.result?.errors?.length) for (const test of testsOf(suite).filter(isChosen)) fail(test);
      },
      onAfterRunTask: async (test: RunnerTestCase) => {
        code.currentTestId = undefined;
        if (test.result?.state === "fail") fail(test);
      },
    });
    await startTests([], runner);
    return failed;
  }
}

/** A test that found one mutant is the first to look for the next, which is often beside it. */
function toFront(task: RunnerTask): void {
  const { suite } = task;
  const tasks = suite?.tasks ?? task.file.tasks;
  tasks.unshift(...tasks.splice(tasks.indexOf(task), 1));
  if (suite) toFront(suite);
}
