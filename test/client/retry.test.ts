import { expect, test } from "vitest";
import { givenUp, limited, talk, URL_A } from "./fake-server.js";

test("52 · three attempts mean three requests on the wire, then the error", async () => {
  const { fetch, sent, time } = talk([limited(), limited(), limited(), limited()]);
  const error = await time.run(givenUp(fetch(URL_A)));
  expect(error).toMatchObject({ reason: "attempts", attempts: 3, waitMs: 1_000, code: "rate_limited", message: "Slow down." });
  expect(sent.map(({ at }) => at)).toEqual([0, 1_000, 2_000]);
});
