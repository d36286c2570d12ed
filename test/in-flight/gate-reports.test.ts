// `reportCost` and `actualCost` of work with tokens in flight.
import { createLimiter, MemoryStore, perMinute, whenDone } from "sluice";
import { rateLimit, reportCost } from "sluice/web";
import { expect, test, vi } from "vitest";
import { soon } from "../helpers/soon.js";
import { open } from "../http/asking.js";

const policy = { name: "chat", limits: [{ name: "tokens", capacity: 100, refill: perMinute(1) }, { name: "parallel", capacity: 2, returns: whenDone() }] };

const rows = [
  ["before the response", (request: Request) => reportCost(request, { tokens: 10 }), 90],
  ["while `actualCost` waits", () => undefined, 80],
] as const;

test.each(rows)("L21 · a report %s wins, and tokens in flight wait for the promise of `actualCost`", async (_when, report, remaining) => {
  const store = new MemoryStore();
  const left = (): unknown[] => (createLimiter({ policy, store }).peek("ann", 0).limits ?? []).map((limit) => limit.remaining);
  let end = (): void => undefined;
  const settled = new Promise<{ tokens: number }>((resolve) => (end = () => resolve({ tokens: 30 })));
  const actualCost = vi.fn(() => settled);
  const limited = rateLimit({ policy, store, key: () => "ann", cost: { tokens: 50 }, actualCost });
  const request = new Request("http://localhost/");
  const response = await limited((asked) => (report(asked), new Response("hello")))(request);
  await response.text();
  await soon(() => expect(actualCost).toHaveBeenCalledTimes(1));
  expect(left()).toEqual([50, 1]);
  if (remaining === 80) reportCost(request, { tokens: 20 });
  await new Promise(setImmediate);
  expect(left()).toEqual([50, 1]);
  end();
  await soon(() => expect(left()).toEqual([remaining, 2]));
});

test("L21 · work that ends again while `actualCost` waits is settled once", async () => {
  const store = new MemoryStore();
  let answer = (): void => undefined;
  const settled = new Promise<{ tokens: number }>((resolve) => (answer = () => resolve({ tokens: 30 })));
  const actualCost = vi.fn((_outcome: unknown) => settled);
  const { verdict } = open({ policy, store, cost: { tokens: 50 } as never, actualCost }).ask();
  if (verdict.outcome !== "pass") throw new Error("Expected an allowed request");
  const ended = verdict.work.end({ status: 200, aborted: false });
  expect(verdict.work.end({ status: 499, aborted: true })).toBeUndefined();
  answer();
  await ended;
  expect(verdict.work.end({ status: 499, aborted: true })).toBeUndefined();
  expect(actualCost.mock.calls.map(([outcome]) => outcome)).toEqual([{ status: 200, aborted: false }]);
  expect(createLimiter({ policy, store }).peek("ann", 0).limits?.map((limit) => limit.remaining)).toEqual([70, 2]);
});
