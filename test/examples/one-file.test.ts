// Routes, a job and this test share the limiters of examples/one-file/limits.ts.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { interactive, reports, tiers } from "../../examples/one-file/limits.js";
import { makeReports } from "../../examples/one-file/nightly.js";
import { makeApp } from "../../examples/one-file/routes.js";

const server = makeApp();
let url: string;
let close: () => void;
beforeEach(async () => {
  const listening = server.listen(0, "127.0.0.1");
  await once(listening, "listening");
  url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  close = () => void listening.close();
  // What a test of the service does first: its limiters are empty again.
  for (const user of ["ann", "bob"]) await Promise.all([interactive.reset(["user", user]), reports.reset(["user", user])]);
});
afterEach(() => close());

const ask = async (path: string, token: string, method = "GET"): Promise<number> => {
  const response = await fetch(`${url}${path}`, { method, headers: { Authorization: `Bearer ${token}`, Connection: "close" } });
  await response.text();
  return response.status;
};

test("the route, the job and an operator count the same tokens", async () => {
  const key = ["user", "ann"] as const;
  await makeReports(["ann", "ann", "ann"], async () => undefined);
  expect(await ask("/reports", "token-of-ann", "POST")).toBe(200);
  expect((await reports.peek(key)).limits?.map(({ limit, remaining }) => [limit, remaining])).toEqual([["requests", 6], ["parallel", 2]]);
  await reports.block(key, 60_000);
  expect(await ask("/reports", "token-of-ann", "POST")).toBe(429);
  expect(await ask("/reports", "token-of-bob", "POST")).toBe(200);
});

test("a job waits where a route refuses: of three reports of one user, two are at work", async () => {
  let now = 0;
  let most = 0;
  const ends: (() => void)[] = [];
  const all = makeReports(["ann", "ann", "ann"], async () => {
    most = Math.max(most, ++now);
    await new Promise<void>((resolve) => ends.push(resolve));
    now -= 1;
  });
  while (ends.length < 2) await new Promise(setImmediate);
  expect(await ask("/reports", "token-of-ann", "POST")).toBe(429);
  for (let done = 0; done < 3; done++) {
    while (ends.length === 0) await new Promise(setImmediate);
    ends.shift()?.();
  }
  await all;
  expect(most).toBe(2);
});

test("tiers keep one bucket, and a caller without a sign-in is refused", async () => {
  expect(await ask("/inbox", "token-of-bob")).toBe(200);
  expect((await interactive.peek(["user", "bob"], { policy: tiers.paid, cost: 0 })).capacity).toBe(50);
  expect(await ask("/inbox", "nobody")).toBe(401);
});
