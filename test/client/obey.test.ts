/** The rules in Python, which shares no code with ours, against the vectors and, with random inputs, against ours. */
import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { describeUnless } from "../helpers/skip.js";
import { anyInput } from "./any-answer.js";
import { decide } from "./decide.js";
import { ours } from "./vectors.js";

const program = fileURLToPath(new URL("../vectors/test_obey.py", import.meta.url));
const hasPython = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).status === 0;
// `-B`: no compiled files in the folder.
const python = (...args: string[]) => promisify(execFile)("python3", ["-B", program, ...args], { maxBuffer: Infinity });

describeUnless(hasPython ? null : "needs python3: install Python 3.9 or later", "the rules in Python", () => {
  test("every vector gives what it says", { timeout: 60_000 }, async () => {
    const { stderr } = await python().catch((error: { stderr: string }) => error);
    // A vector that fails is named by its `why`.
    expect(stderr.match(/^(FAIL|ERROR): .*/gm) ?? []).toEqual([]);
    expect(stderr).toMatch(/^Ran 6 tests/m);
    expect(stderr).toMatch(/^OK$/m);
  });

  test("random inputs give what ours gives", { timeout: 60_000 }, async () => {
    const seed = Number(process.env["FC_SEED"]);
    const inputs = Object.fromEntries(Object.entries(anyInput).map(([file, inputsOf]) => [file, fc.sample(inputsOf as fc.Arbitrary<unknown>, { numRuns: 400, seed })]));
    const running = python("--compare");
    running.child.stdin?.end(JSON.stringify(inputs));
    const theirs = JSON.parse((await running).stdout) as Record<string, unknown[]>;

    const run = { ...ours, decisions: decide } as Record<string, (input: unknown) => unknown>;
    const differences: object[] = [];
    for (const [file, list] of Object.entries(inputs)) {
      for (const [index, input] of list.entries()) {
        const [our, their] = [plain(await run[file]?.(input)), plain(theirs[file]?.[index])];
        if (JSON.stringify(our) !== JSON.stringify(their)) differences.push({ file, input, ours: our, python: their });
      }
    }
    expect(differences.slice(0, 5)).toEqual([]);
    // Inputs that reach only a few outcomes would prove little.
    const told = (file: string, member: string) => new Set(theirs[file]?.map((each) => (each as Record<string, unknown> | null)?.[member]));
    expect(told("wait", "source")).toEqual(new Set([undefined, "retry-after", "retry-after-ms", "ratelimit", "ratelimit-reset", "vendor"]));
    expect(told("decisions", "error")).toEqual(new Set([undefined, "sensitive", "not_repeatable", "attempts", "wait_too_long"]));
    expect(told("decisions", "retry")).toEqual(new Set([undefined, true, false]));
  });
});

/** As JSON, which has no infinity: the largest number stands for it. */
function plain(result: unknown): unknown {
  return JSON.parse(JSON.stringify(result, (_, value: unknown) => (value === Infinity ? Number.MAX_VALUE : value)) ?? "null");
}
