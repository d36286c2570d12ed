import { expect, test } from "vitest";
import { messageFrom, startProcess } from "../helpers/processes.js";
import type { Polluted } from "./pollution-child.js";

test("a member that an attacker adds to Object.prototype is no option of anything", { timeout: 60_000 }, async () => {
  const child = await startProcess("test/core/pollution-child.ts", []);
  try {
    const { clean, differing } = await messageFrom<Polluted>(child);
    expect(clean).toMatchObject({ settled: [true, 4], seconds: [2, 1, 0], sent: expect.arrayContaining(["200"]) as string[] });
    expect(differing.map(({ name, value }) => `${name}: ${JSON.stringify(value)}`)).toEqual([]);
  } finally {
    child.kill();
  }
});
