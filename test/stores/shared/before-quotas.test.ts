// A deployment: processes of the version before quotas share their buckets with processes of this one.
import { expect, test } from "vitest";
import { daily, definePolicy, monthly, perMinute, type Policy } from "sluice";
import type { Records } from "../../../src/core/records.js";
import { consumeRecords } from "../../helpers/records.js";
import { decodeRecords, encodeRecords } from "../../../src/stores/shared/records.js";
// @ts-expect-error: a bundle of the version before, without types
import { consumeRecords as consumeBefore, decodeRecords as decodeBefore, definePolicy as defineBefore, encodeRecords as encodeBefore } from "./before-quotas.mjs";

/** What both versions have. */
interface Version {
  readonly definePolicy: typeof definePolicy;
  readonly consumeRecords: typeof consumeRecords;
  readonly encodeRecords: typeof encodeRecords;
  readonly decodeRecords: typeof decodeRecords;
}

const NOON = Date.parse("2026-11-23T12:00Z");
const END = Date.parse("2026-12-01T00:00Z");
const requests = { name: "requests", capacity: 60, refill: perMinute(60) };
const month = { name: "month", capacity: 100, renews: monthly() };
const older = { definePolicy: defineBefore, consumeRecords: consumeBefore, encodeRecords: encodeBefore, decodeRecords: decodeBefore } as Version;
const newer: Version = { definePolicy, consumeRecords, encodeRecords, decodeRecords };

/** One key of a store: `consume` reads the text, decides by a version, and writes the text, unless it has lapsed. */
function createKey() {
  let text: string | null = null;
  let expires = Infinity;
  return {
    text: () => text,
    expires: () => expires,
    consume(version: Version, policy: Policy, cost: number, now: number) {
      const records: Records = text === null || now >= expires ? new Map() : version.decodeRecords(text, "key");
      const { decision, changed } = version.consumeRecords(records, policy, cost, now);
      if (!changed) return decision;
      const { value, ttlMs } = version.encodeRecords(records, now);
      text = ttlMs === 0 ? null : value;
      expires = now + ttlMs;
      return decision;
    },
  };
}

const both = definePolicy({ name: "api", limits: [requests, month] });
const rates = older.definePolicy({ name: "api", limits: [requests] });

test("L20 · the version before keeps the record of a quota that it does not have, until its period is over", () => {
  const key = createKey();
  const inMonth = (now: number) => key.consume(newer, both, 0, now).limits?.[1]?.remaining;
  expect(key.consume(newer, both, 30, NOON).allowed).toBe(true);
  const [, written] = /( month .*)$/.exec(key.text() as string) as unknown as [string, string];
  expect(written).toBe(` month 30 ${END - 1} 9007199254740991 1`);
  for (let minute = 1; minute <= 3; minute++) expect(key.consume(older, rates, 40, NOON + minute * 60_000).allowed).toBe(true);
  expect(key.text()).toContain(written);
  expect([key.expires(), inMonth(NOON + 240_000)]).toEqual([END, 70]);
  expect(key.consume(older, rates, 1, END - 1).allowed).toBe(true);
  expect(key.text()).toContain(written);
  expect(key.consume(older, rates, 1, END).allowed).toBe(true);
  expect(key.text()).not.toContain("month");
  expect(inMonth(END)).toBe(100);
});

test("L14 · an even limit of the same name counts what a quota has spent, and a quota what it has spent", () => {
  const key = createKey();
  const day = definePolicy({ name: "api", limits: [requests, { name: "day", capacity: 50, renews: daily() }] });
  const evenDay = older.definePolicy({ name: "api", limits: [requests, { name: "day", capacity: 50, refill: { tokens: 50, everyMs: 86_400_000 } }] });
  expect(key.consume(newer, day, 40, NOON).limits?.[1]).toMatchObject({ remaining: 10 });
  expect(key.consume(older, evenDay, 20, NOON)).toMatchObject({ allowed: false, limit: "day" });
  expect(key.consume(older, evenDay, 5, NOON).limits?.[1]).toMatchObject({ remaining: 5 });
  expect(key.consume(newer, day, 2, NOON).limits?.[1]).toMatchObject({ remaining: 3 });
  expect(key.consume(newer, day, 4, NOON + 43_199_999)).toMatchObject({ allowed: false, limit: "day" });
  expect(key.consume(newer, day, 4, NOON + 43_200_000)).toMatchObject({ allowed: true });
});
