/** What a client does after each answer: the vectors for people who write one in another language, run against ours. */
import { expect, test } from "vitest";
import { decide } from "../decide.js";
import { decisions } from "../vectors.js";

test.each(decisions.map((vector) => [vector.request.method, vector.status ?? "network error", vector.why, vector] as const))("%s, %s: %s", async (_method, _status, _why, vector) => {
  expect(await decide(vector)).toEqual(vector.expected);
});

test("the vectors reach every outcome, and an answer comes after as many attempts as they say", () => {
  expect(decisions.map(({ attempt }) => attempt)).toContain(60);
  expect(decisions.some(({ status, expected }) => status === null && "retry" in expected && expected.retry)).toBe(true);
  expect(new Set(decisions.flatMap(({ expected }) => ("error" in expected ? [expected.error] : [])))).toEqual(
    new Set(["sensitive", "not_repeatable", "attempts", "wait_too_long"]),
  );
});
