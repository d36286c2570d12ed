import { MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { serviceOnTrial } from "../../examples/shadow/trial.js";

function onTrial() {
  const clock = new ManualClock();
  const { fetch, report, enforceFor } = serviceOnTrial(() => new Response("hello"), { userOf: (request) => request.headers.get("test-user") ?? "", store: new MemoryStore({ clock: clock.now }) });
  const ask = async (user: string, times: number): Promise<Response[]> => {
    const responses: Response[] = [];
    for (let i = 0; i < times; i++) responses.push(await fetch(new Request("http://127.0.0.1/", { headers: { "test-user": user } })));
    return responses;
  };
  return { clock, ask, report, enforceFor };
}

test("the trial refuses nobody, and tells who it would have been", async () => {
  const { clock, ask, report } = onTrial();
  const statuses = (await Promise.all([ask("script", 10), ask("bob", 3), ask("ann", 5)])).flat().map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(report()).toEqual({ seen: 18, refused: new Map([["script", 6], ["ann", 1]]) });
  clock.advance(2_000);
  await ask("ann", 4);
  expect(report()).toEqual({ seen: 22, refused: new Map([["script", 6], ["ann", 1]]) });
});

test("what the limit in force refuses does not reach the trial, and clients see the numbers in force alone", async () => {
  const { ask, report } = onTrial();
  const responses = await ask("script", 12);
  expect(responses.map(({ status }) => status)).toEqual([...Array.from({ length: 10 }, () => 200), 429, 429]);
  expect(responses[0]?.headers.get("RateLimit-Limit")).toBe("10");
  expect(responses[0]?.headers.get("RateLimit-Remaining")).toBe("9");
  expect(report().seen).toBe(10);
});

test("the numbers on trial are enforced for one caller, and tried for the others", async () => {
  const { ask, report, enforceFor } = onTrial();
  enforceFor("script");
  const statuses = (await Promise.all([ask("script", 6), ask("ann", 6)])).map((responses) => responses.map(({ status }) => status));
  expect(statuses).toEqual([[200, 200, 200, 200, 429, 429], Array.from({ length: 6 }, () => 200)]);
  expect(report()).toEqual({ seen: 12, refused: new Map([["ann", 2]]) });
});
