/** Header fields while a caller owes more than any clock can name. */
import { createLimiter, MemoryStore } from "sluice";
import { createGate, retryAfterDate, vendorHeaders, type ResetFormat } from "sluice/http";
import { expect, test } from "vitest";
import { answerOf, reader } from "./asking.js";

const limiter = createLimiter({ policy: { capacity: 10, refill: { tokens: 1, everyMs: 86_400_000 } }, store: new MemoryStore({ clock: () => 0 }) });
limiter.debit("ann", 100_000_000);
const days = 99_999_991;

test.each<[ResetFormat, string]>([
  ["delta-seconds", String(days * 86_400)],
  ["epoch-seconds", String(days * 86_400)],
  ["epoch-milliseconds", String(days * 86_400_000)],
  ["iso-8601", "9999-12-31T23:59:59.000Z"],
  ["http-date", "Fri, 31 Dec 9999 23:59:59 GMT"],
])("%s", async (resetFormat, reset) => {
  const gate = createGate({ limiter, key: () => "ann", headers: [vendorHeaders({ reset: "X-Reset", resetFormat, clock: () => 0 }), retryAfterDate({ clock: () => 0 })] }, reader);
  const answer = answerOf(await gate({}));
  expect([answer.status, answer.field("X-Reset"), answer.field("Retry-After")]).toEqual([429, reset, "Fri, 31 Dec 9999 23:59:59 GMT"]);
});
