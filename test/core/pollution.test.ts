import { expect, onTestFinished, test } from "vitest";
import { messageFrom, startProcess } from "../helpers/processes.js";
import entries from "../../entries.json" with { type: "json" };
import { namesRead } from "./names-read.js";
import type { Polluted } from "./pollution-child.js";
import type { Loaded } from "./pollution-import-child.js";
import { NAMES, POLLUTIONS } from "./pollution-names.js";

const read = namesRead();

test("a member that an attacker adds to Object.prototype is no option of anything, and nothing that a server sent", { timeout: 60_000 }, async () => {
  const child = await startProcess("test/core/pollution-child.ts", read);
  onTestFinished(() => void child.kill());
  const { clean, read: told, differing } = await messageFrom<Polluted>(child);
  expect(clean).toMatchObject({ settled: [true, true, 4, 1, 3, true, 1, expect.stringContaining("Expected `key` to have a key for") as string, expect.stringContaining("Expected `key` to have a key for") as string], seconds: [2, 1, 0], sent: expect.arrayContaining(["200"]) as string[] });
  expect(told).toMatchObject({ told: expect.arrayContaining([["ERR_RATE_LIMITED", "Too many requests", null, null, null, [], expect.any(Array) as unknown[]]]) as unknown[], slept: [] });
  expect(differing.map(({ name, value, got }) => `${name}: ${JSON.stringify(value)}: ${String(got).slice(0, 200)}`)).toEqual([]);
});

test.each(Object.keys(POLLUTIONS))("every entry loads, limits and counts as ever after every member that it reads was added to Object.prototype as %s", { timeout: 60_000 }, async (pollution) => {
  const names = [...new Set([...NAMES, ...read])];
  expect(names).toEqual(expect.arrayContaining(["returns", "renews", "refill", "unit", "kinds", "guard", "outcome", "parts", "cost", "together", "verbs"]));
  const child = await startProcess("test/core/pollution-import-child.ts", [pollution, ...names]);
  onTestFinished(() => void child.kill());
  const { entries: loaded, failed, titles, differing } = await messageFrom<Loaded>(child);
  expect(failed).toEqual([]);
  expect(differing).toEqual([]);
  expect(titles.length).toBeGreaterThan(50);
  // The entry for tests is not in production, and that of NestJS loads packages that are not ours.
  expect([...loaded, "sluice/testing", "sluice/nest"].sort()).toEqual(Object.keys(entries.subpaths).map((name) => name.replace(".", "sluice")).sort());
});
