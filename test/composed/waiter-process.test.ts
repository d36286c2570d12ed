// A waiter keeps its process alive while a caller waits, and no longer.
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { bundledCode } from "../helpers/bundled.js";

async function run(program: string): Promise<{ status: number | null; stdout: string }> {
  const source = `import { createLimiter, createWaiter } from "./src/index.ts";
    const line = createWaiter(createLimiter({ policy: { capacity: 1, refill: { tokens: 1, everyMs: 50 } } }));
    await line.wait("a");
    ${program}`;
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", await bundledCode(source)], { encoding: "utf8" });
  return { status, stdout: stdout.trim() };
}

test("keeps it alive as long as a caller waits, so that a script does not end in the middle", async () => {
  // An unsettled await at the top would end it with 13.
  expect(await run(`await line.wait("a"); console.log("served");`)).toEqual({ status: 0, stdout: "served" });
});

test("lets it end as soon as no caller waits", async () => {
  const month = `const slow = createWaiter(createLimiter({ policy: { capacity: 1, refill: { tokens: 1, everyMs: 2_592_000_000 } } }));
    await slow.wait("a");
    const cancel = new AbortController();
    const waits = [slow.wait("a", { signal: cancel.signal }), slow.wait("a", { maxWaitMs: 1 })].map((wait) => wait.catch(() => undefined));
    cancel.abort();
    await Promise.all(waits);
    console.log("turned away");`;
  // It would hang otherwise.
  expect(await run(month)).toEqual({ status: 0, stdout: "turned away" });
});
