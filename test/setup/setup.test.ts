// What the setup of all tests does, in a Vitest of its own whose files share one worker, in order.
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { BaseSequencer, createVitest, type TestModule, type TestSpecification } from "vitest/node";

class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => a.moduleId.localeCompare(b.moduleId));
  }
}

test("fails a file that leaves state, and a test that warns; takes back the rest", { timeout: 60_000 }, async () => {
  const vitest = await createVitest("test", {
    config: false,
    root: fileURLToPath(new URL("../../", import.meta.url)),
    watch: false,
    include: ["test/setup/files/*.fixture.ts"],
    setupFiles: ["test/setup.ts"],
    env: { FC_SEED: process.env["FC_SEED"] as string, SLUICE_TEST_PROJECT: "unit" },
    pool: "threads",
    maxWorkers: 1,
    isolate: false,
    sequence: { sequencer: InOrder },
    reporters: [{}],
  });
  try {
    const { testModules } = await vitest.start();
    const messages = (module: TestModule): string[] => [
      ...module.errors().map(({ message }) => message.replaceAll(fileURLToPath(new URL("files/", import.meta.url)), "")),
      ...[...module.children.allTests()].flatMap((each) => (each.result().errors ?? []).map(({ message }) => `${each.name}: ${message}`)),
    ];
    expect(testModules.map(messages)).toEqual([
      [],
      [],
      ['Expected c-left.fixture.ts to leave nothing for the next file, got TCPServerWrap, 1 listeners of "beforeExit", `left` of Object.prototype, the variable LEFT=yes. End it in the test'],
      [
        'red: a warning: Expected no warning, got "SLUICE_STORE_BUG: one". Name it with `expectWarnings`',
        'red: a line on the console: Expected no warning, got "two". Name it with `expectWarnings`',
        'red: another warning than the one it names: Expected SLUICE_POLICY_NAMES, got "SLUICE_STORE_BUG: one". Name it with `expectWarnings`',
        "red: no warning: Expected a warning SLUICE_STORE_BUG, got none",
      ],
    ]);
  } finally {
    await vitest.close();
  }
});
