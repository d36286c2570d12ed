import { expect, test } from "vitest";
import { createRetryBudget } from "../../../src/client/fetch/retry.js";
import { givenUp, limited, talk, URL_A } from "../fake-server.js";

const A = "https://a.example";
const times = (count: number, act: () => boolean): boolean[] => Array.from({ length: count }, act);

test("retries end when half of the tokens are left, and begin again after enough successes", () => {
  const spend = createRetryBudget({ tokens: 10, perSuccess: 0.5 });
  expect(times(7, () => spend(A, true))).toEqual([true, true, true, true, false, false, false]);
  // Seven are missing. Each success brings half of one back; fewer than five may be missing.
  expect(times(6, () => spend(A, false))).toEqual([false, false, false, false, true, true]);
});

test("it never spends more than all tokens, and never holds more", () => {
  const spend = createRetryBudget({ tokens: 2, perSuccess: 1 });
  times(100, () => spend(A, true));
  times(2, () => spend(A, false));
  times(100, () => spend(A, false));
  expect(times(2, () => spend(A, true))).toEqual([false, false]);
  expect(createRetryBudget({ tokens: 0, perSuccess: 1 })(A, true)).toBe(false);
});

test("each origin has its own, and the oldest of a thousand is forgotten", () => {
  const spend = createRetryBudget({ tokens: 4, perSuccess: 1 });
  expect([spend(A, true), spend(A, true), spend("https://b.example", true)]).toEqual([true, false, true]);
  for (let i = 0; i < 1_000; i++) spend(`https://${i}.example`, true);
  expect(spend(A, true)).toBe(true);
});

test("after five failures without a wait there are no retries until a success", async () => {
  const refusals = Array.from({ length: 12 }, () => () => limited({}));
  const { fetch, sent, time } = talk(refusals);
  const errors = [];
  for (let call = 0; call < 4; call++) errors.push(await time.run(givenUp(fetch(URL_A))));
  expect(errors.map(({ reason, attempts }) => [reason, attempts])).toEqual([["attempts", 3], ["budget", 2], ["budget", 1], ["budget", 1]]);
  expect(sent).toHaveLength(7);
  // Another origin has done nothing.
  expect((await time.run(givenUp(fetch("https://other.example/")))).reason).toBe("attempts");
});

test("without a budget every call has all its attempts", async () => {
  const { fetch, sent, time } = talk(Array.from({ length: 12 }, () => () => limited({})), { retryBudget: false });
  for (let call = 0; call < 4; call++) expect((await time.run(givenUp(fetch(URL_A)))).reason).toBe("attempts");
  expect(sent).toHaveLength(12);
});

test("a 429 that names its wait takes no token", async () => {
  const { fetch, sent, time } = talk(Array.from({ length: 12 }, () => () => limited({ "Retry-After": "1" })));
  for (let call = 0; call < 4; call++) expect((await time.run(givenUp(fetch(URL_A)))).reason).toBe("attempts");
  expect(sent).toHaveLength(12);
});

test("a 503 takes a token even if it names a wait, and comes back as the response", async () => {
  const down = () => new Response("down", { status: 503, headers: { "Retry-After": "1" } });
  const { fetch, sent, time } = talk(Array(12).fill(down), { retryStatuses: [503], retryBudget: { tokens: 2 } });
  expect((await time.run(fetch(URL_A))).status).toBe(503);
  expect(sent).toHaveLength(1);
});

test("only success gives tokens back: neither 404 nor 500 does", async () => {
  const budget = { tokens: 4, perSuccess: 2 };
  for (const [status, attempts] of [[200, 2], [304, 2], [404, 1], [500, 1]] as const) {
    const answers = [limited({}), new Response(status === 304 ? null : "", { status }), limited({}), limited({})];
    const { fetch, time } = talk(answers, { retryBudget: budget });
    await time.run(fetch(URL_A));
    const error = await time.run(givenUp(fetch(URL_A, { maxAttempts: 2 })));
    expect([status, error.attempts]).toEqual([status, attempts]);
  }
});
