// A waiter keeps its process alive while a caller waits, and not longer.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { bundledCode } from "../../helpers/bundled.js";

async function run(program: string): Promise<{ status: number | null; stdout: string }> {
  const source = `import { createLimiter, createWaiter } from "./src/index.ts";
    const waiter = createWaiter(createLimiter({ policy: { capacity: 1, refill: { tokens: 1, everyMs: 50 } } }));
    await waiter.consume("a");
    ${program}`;
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module"], { encoding: "utf8", input: await bundledCode(source) });
  return { status, stdout: stdout.trim() };
}

test("a script does not end while a caller waits", async () => {
  // With an unsettled await at the top level Node would exit with 13.
  expect(await run(`await waiter.consume("a"); console.log("served");`)).toEqual({ status: 0, stdout: "served" });
});

test("a script ends when no caller waits", async () => {
  const month = `const slow = createWaiter(createLimiter({ policy: { capacity: 1, refill: { tokens: 1, everyMs: 2_592_000_000 } } }));
    await slow.consume("a");
    const cancel = new AbortController();
    const waits = [slow.consume("a", { signal: cancel.signal }), slow.consume("a", { maxWaitMs: 1 })].map((wait) => wait.catch(() => undefined));
    cancel.abort();
    await Promise.all(waits);
    console.log("turned away");`;
  // A timer of a month would keep the process alive.
  expect(await run(month)).toEqual({ status: 0, stdout: "turned away" });
});
