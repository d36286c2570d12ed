import { runInThisContext } from "node:vm";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { SluiceError } from "sluice";
import { createFetch, RateLimitedError } from "sluice/client";
import type { RateLimitedFacts } from "../../../src/client/fetch/error.js";

const facts: RateLimitedFacts = { method: "GET", url: "https://api.example.com/inbox", reason: "attempts", waitMs: 3_000, retryAt: new Date(3_000), attempts: 3, serverCode: null, serverMessage: null, policies: [], response: null };

test.each([
  [0, "Too many requests, try again in 1 s"],
  [1, "Too many requests, try again in 1 s"],
  [86_400_000, "Too many requests, try again in 86400 s"],
  [86_400_001, "Too many requests"],
  [Infinity, "Too many requests"],
  [null, "Too many requests"],
])("the message for a wait of %s ms can be shown", (waitMs, message) => {
  const error = new RateLimitedError({ ...facts, waitMs });
  expect([error.message, error.waitMs]).toEqual([message, waitMs]);
});

test("its own members are its facts", () => {
  const error = new RateLimitedError(facts);
  expect(Object.fromEntries(Object.entries(error))).toEqual({ ...facts, name: "RateLimitedError", code: "ERR_RATE_LIMITED" });
});

test("it keeps its name where `Error.prototype` is frozen, as is an abort without a reason", async () => {
  const own = Object.getOwnPropertyDescriptor(Error.prototype, "name") as PropertyDescriptor;
  // What freezing does to assignments, and what a test can undo.
  Object.defineProperty(Error.prototype, "name", { ...own, writable: false });
  try {
    expect([new RateLimitedError(facts).name, new SluiceError("ERR_X", "x").name]).toEqual(["RateLimitedError", "SluiceError"]);
    const signal = { aborted: true, addEventListener() {}, removeEventListener() {} } as unknown as AbortSignal;
    await expect(createFetch()(facts.url, { signal })).rejects.toMatchObject({ name: "AbortError" });
  } finally {
    Object.defineProperty(Error.prototype, "name", own);
  }
});

test("it is a SluiceError, also when a minified copy of the package made it", async () => {
  const { outputFiles } = await build({
    stdin: { contents: 'export { RateLimitedError } from "./src/client/index.ts"', resolveDir: "." },
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    globalName: "copy",
    platform: "neutral",
  });
  const { text } = outputFiles[0] as { text: string };
  const copy = runInThisContext(`(() => { ${text}; return copy; })()`) as { RateLimitedError: typeof RateLimitedError };
  expect(copy.RateLimitedError).not.toBe(RateLimitedError);
  const foreign = new copy.RateLimitedError(facts);
  expect(foreign).toBeInstanceOf(RateLimitedError);
  expect(foreign).toBeInstanceOf(SluiceError);
  expect(foreign).toBeInstanceOf(Error);
  expect(foreign.name).toBe("RateLimitedError");
  expect(new Error("other")).not.toBeInstanceOf(RateLimitedError);
});
