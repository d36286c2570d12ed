import { describe, expect, test } from "vitest";
import { assert, AssertionError, assertEqual, explainFailure, withDeadline } from "../../src/testing/assert.js";

describe("a failed case", () => {
  test("states what was expected, what came and the likely cause", async () => {
    const failed = explainFailure("The store rounds.", async () => assertEqual([1], [2], "the tokens"));
    await expect(failed).rejects.toThrow(new AssertionError("Expected the tokens to be [2], got [1]\nLikely cause: The store rounds."));
  });

  test("names an exception of the code under test, and keeps it as `cause`", async () => {
    const thrown = new TypeError("no socket");
    const failed = explainFailure("The store rounds.", () => Promise.reject(thrown));
    const message = "Expected no exception, got TypeError: no socket\nLikely cause: The code under test or its setup failed. `cause` has the stack.";
    await expect(failed).rejects.toMatchObject({ name: "AssertionError", message, cause: thrown });
  });

  test("states what did not come before the deadline", async () => {
    const failed = withDeadline(new Promise(() => {}), "an answer to consume", 1);
    await expect(failed).rejects.toThrow(new AssertionError("Expected an answer to consume within 1 ms, got nothing"));
  });
});

test("a case that passes adds nothing", async () => {
  await expect(explainFailure("The store rounds.", async () => assert(true, "Expected true, got false"))).resolves.toBeUndefined();
  await expect(withDeadline(Promise.resolve(7), "a number", 1_000)).resolves.toBe(7);
});
