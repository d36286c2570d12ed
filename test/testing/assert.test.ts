import { describe, expect, test } from "vitest";
import { assert, AssertionError, assertEqual, explainFailure } from "../../src/testing/assert.js";

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

  test("states the likely cause that the assertion knows, instead of the usual one", async () => {
    const failed = explainFailure("The store rounds.", () => Promise.reject(new AssertionError("Expected 1, got 2", { likelyCause: "The store adds." })));
    await expect(failed).rejects.toThrow(new AssertionError("Expected 1, got 2\nLikely cause: The store adds."));
  });
});

test("a case that passes adds nothing", async () => {
  await expect(explainFailure("The store rounds.", async () => assert(true, "Expected true, got false"))).resolves.toBeUndefined();
});
