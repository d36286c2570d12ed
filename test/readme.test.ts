// Each row of README's table "you want / write", pasted into the sample above it. The services project compiles the same texts.
import { expect, test } from "vitest";
import { pastedRows } from "./helpers/readme-rows.js";
import { started, stopClocks } from "./helpers/started.js";

/** What a response says of the budget, without the time to the end of the month. */
const told = (answer: Response): string => `${answer.status} ${answer.headers.get("ratelimit-policy") ?? ""} ${(answer.headers.get("ratelimit") ?? "").replace(/(?<=r=49999);t=\d+/, "")}`.trim();

test.each([
  ["20 at once, then 80 a minute", '200 "api";q=20;w=15 "api";r=19;t=15'],
  ["never more than 100 in any minute", '200 "api";q=100;w=60 "api";r=99;t=60'],
  ["5 at once, then one every 3 minutes", '200 "api";q=5;w=900 "api";r=4;t=720'],
  ["a month's quota", '200 "api";q=50000;w=2678400 "api";r=49999'],
  ["4 requests in flight", '200 "api";q=4;qu="concurrent-requests" "api";r=3'],
  ["several limits", '200 "api:second";q=10;w=1, "api:month";q=50000;w=2678400 "api:second";r=9;t=1, "api:month";r=49999'],
  ["signed-in users", "401"],
])("%s", async (row, wanted) => {
  stopClocks();
  const { origin } = await started(pastedRows().get(row) as string);
  expect(told(await fetch(origin))).toBe(wanted);
});

test("a stricter route draws on both limits, and a refusal of the second leaves the first charged", async () => {
  stopClocks(); // a token comes back in 0.6 s
  const { origin } = await started(pastedRows().get("a stricter route") as string);
  const report = (): Promise<Response> => fetch(`${origin}/reports`, { method: "POST" });
  for (let i = 0; i < 3; i++) expect((await report()).status).not.toBe(429);
  expect((await report()).status).toBe(429);
  expect((await fetch(origin)).headers.get("ratelimit-remaining")).toBe("95");
});

test("every row with code is one of these, or needs a server of its own", () => {
  expect([...pastedRows().keys()]).toEqual([
    "20 at once, then 80 a minute", "never more than 100 in any minute", "5 at once, then one every 3 minutes", "a month's quota",
    "4 requests in flight", "several limits", "signed-in users", "several processes", "a stricter route",
  ]);
});
