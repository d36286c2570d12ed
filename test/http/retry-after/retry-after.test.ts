/** Checklist items 44 to 48 of the HTTP contract: `Retry-After` and HTTP-dates, as a client reads them. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseHttpDate } from "../../../src/http/retry-after/http-date.js";
import { headerOf, parseRetryAfter, type HeaderSource, toHttpDate, toRetryAfter } from "../../../src/http/retry-after/retry-after.js";

const NOW = Date.UTC(2026, 7, 15, 12);
const HOUR = 3_600_000;
const read = (text: string, now = NOW): number | null => parseRetryAfter({ "Retry-After": text }, now);

// To the second, in the years that four digits name.
const instants = fc.integer({ min: Date.UTC(1970, 0) / 1_000, max: Date.UTC(9999, 11, 31) / 1_000 }).map((seconds) => seconds * 1_000);

/** An instant in the two obsolete forms. */
function rfc850(at: number): string {
  const [weekday = "", day, month, year = "", time] = new Date(at).toUTCString().split(/,? /);
  const names = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
  return `${names.find((name) => name.startsWith(weekday))}, ${day}-${month}-${year.slice(2)} ${time} GMT`;
}
function asctime(at: number): string {
  const [weekday, day = "", month, year, time] = new Date(at).toUTCString().split(/,? /);
  return `${weekday} ${month} ${day.replace(/^0/, " ")} ${time} ${year}`;
}

test("44 · seconds are milliseconds of wait, trimmed, and 0 is an answer", () => {
  expect([read("3"), read(" 3 "), read("0"), read("")]).toEqual([3_000, 3_000, 0, null]);
  expect(read(` ${toHttpDate(NOW + HOUR)} `)).toBe(HOUR);
});

test("44 · what the server says is read back, to the millisecond it was rounded up to", () => {
  fc.assert(
    // From 31 years on, a number may be an instant.
    fc.property(fc.integer({ min: 0, max: 1_000_000_000 * 1_000 }), (waitMs) => {
      expect(read(String(toRetryAfter(waitMs)))).toBe(Math.max(1_000, Math.ceil(waitMs / 1_000) * 1_000));
    }),
  );
});

test("45 · the three forms of a date are one instant", () => {
  fc.assert(
    fc.property(instants, (at) => {
      expect(parseHttpDate(toHttpDate(at), NOW)).toBe(at);
      expect(parseHttpDate(asctime(at), NOW)).toBe(at);
      expect(parseHttpDate(rfc850(at), at)).toBe(at);
    }),
  );
});

test("45 · an instant after the year 9999 is its last second", () => {
  for (const at of [253_402_300_799_001, 8.64e15, 9e18, Infinity]) expect(toHttpDate(at)).toBe("Fri, 31 Dec 9999 23:59:59 GMT");
});

test("45 · a two-digit year is at most 50 years ahead, and less than a hundred away", () => {
  fc.assert(
    fc.property(instants, instants, (at, now) => {
      const found = parseHttpDate(rfc850(at), now);
      fc.pre(found !== null); // 29 February of a century that has none
      const edge = new Date(now);
      edge.setUTCFullYear(edge.getUTCFullYear() + 50);
      expect(found).toBeLessThanOrEqual(edge.getTime());
      edge.setUTCFullYear(edge.getUTCFullYear() - 100);
      expect(found).toBeGreaterThanOrEqual(edge.getTime());
      expect(new Date(found).getUTCFullYear() % 100).toBe(new Date(at).getUTCFullYear() % 100);
    }),
  );
});

test("45 · a leap second is the first of the next minute, and there is no 61st", () => {
  expect(parseHttpDate("Sat, 31 Dec 2016 23:59:60 GMT", NOW)).toBe(Date.UTC(2017, 0));
  expect(parseHttpDate("Sat Dec 31 23:59:60 2016", NOW)).toBe(Date.UTC(2017, 0));
  expect(parseHttpDate("Sat, 31 Dec 2016 23:59:61 GMT", NOW)).toBeNull();
});

test("45 · a date that no calendar has is none", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1900, max: 2200 }), fc.integer({ min: 0, max: 11 }), fc.integer({ min: 0, max: 33 }), (year, month, day) => {
      const name = new Date(Date.UTC(2026, month)).toUTCString().slice(8, 11);
      const text = `Sat, ${String(day).padStart(2, "0")} ${name} ${year} 00:00:00 GMT`;
      const exists = day >= 1 && day <= new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
      expect(parseHttpDate(text, NOW)).toBe(exists ? Date.UTC(year, month, day) : null);
    }),
  );
});

test("46 · with the response's Date, the client's clock does not matter", () => {
  fc.assert(
    fc.property(instants, fc.integer({ min: 0, max: 86_400 }), fc.integer({ min: -HOUR, max: HOUR }), (sent, seconds, skew) => {
      const headers = { "Retry-After": toHttpDate(sent + seconds * 1_000), Date: toHttpDate(sent) };
      expect(parseRetryAfter(headers, sent + skew)).toBe(seconds * 1_000);
    }),
  );
});

test("46 · without it the local clock counts, and the past is no wait", () => {
  const date = toHttpDate(NOW);
  expect([read(date, NOW - 5_000), read(date, NOW - 1), read(date, NOW), read(date, NOW + HOUR)]).toEqual([5_000, 1, 0, 0]);
});

test("47 · an invalid value counts as missing", () => {
  for (const text of ["-1", "+5", "1e3", "0x10", "abc", "", "Infinity", "NaN", "5s", "5, soon", "5,", "-5, 10", ".5", "5.", "٣"]) {
    expect(read(text), text).toBeNull();
  }
});

const date = "Sat, 15 Aug 2026 12:00:55";
test.each<[text: string, waitMs: number]>([
  ["2026-08-15T12:00:55Z", 55_000],
  ["2026-08-15T14:00:55.5+02:00", 55_500],
  ["2026-08-15T12:00:55+0000", 55_000],
  ["2026-08-15T12:00:55.0001Z", 55_001],
  ["2020-05-31T00:00:00Z", 0],
  [`${date} UTC`, 55_000],
  [`${date} +0000`, 55_000],
  [`${date} -0000`, 55_000],
  [`${date} GMT, ${date} GMT`, 55_000],
  [`${date} GMT,${date} GMT`, 55_000],
  [`${date} GMT, Saturday, 15-Aug-26 12:00:56 GMT, Sat Aug 15 12:00:57 2026`, 57_000],
  [`5, ${date} GMT`, 55_000],
  [`${date} GMT, 90`, 90_000],
  ["2026-08-15T12:00:55Z, 2026-08-15T12:00:56Z", 56_000],
  [`5, ${NOW / 1_000 + 55}`, 55_000],
])("45 · other forms of an instant, and lists of waits, are read: %s", (text, waitMs) => expect(read(text)).toBe(waitMs));

test.each(["2026-08-15T12:00:55", "2026-08-15", "2026-08-15T25:00:55Z", `${date} CEST`, `${date} +0200`, `${date} GMT, soon`, `${date}, ${date}`])(
  "47 · an instant without a zone, of another zone or of no calendar counts as missing: %s",
  (text) => expect(read(text)).toBeNull(),
);

test("47 · of several numbers the largest counts, so that no client is early", () => {
  expect([read("5, 10"), read("30, 30"), read("10,5"), read("0, 0.5")]).toEqual([10_000, 30_000, 10_000, 500]);
});

test("47 · a fraction is rounded up to the millisecond, exactly", () => {
  expect([read("2.0"), read("1.5"), read("1.0001"), read("16.1")]).toEqual([2_000, 1_500, 1_001, 16_100]);
  fc.assert(
    fc.property(fc.nat(1e9), fc.nat(999), (seconds, ms) => {
      expect(read(`${seconds}.${String(ms).padStart(3, "0")}`)).toBe(seconds * 1_000 + ms);
    }),
  );
});

test("48 · more digits mean a longer wait, beyond the range of a number too", () => {
  for (let digits = 1, last = 0; digits <= 400; digits++) {
    const waitMs = read("9".repeat(digits)) as number;
    expect(waitMs).toBeGreaterThanOrEqual(last);
    last = waitMs;
  }
  expect(read("9".repeat(400))).toBe(Infinity);
});

test("48 · no text makes it throw, or give anything but null or a wait of at least 0", () => {
  const piece = fc.oneof(fc.constantFrom("Sat, 15 Aug 2026 12:00:05 GMT", "Sun Nov  6 08:49:37 1994", "Sunday, 06-Nov-94", "9", "٣", "\u2028", ".", " ", ",", "-"), fc.string());
  const text = fc.oneof(fc.string({ unit: "binary-ascii" }), fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join("")));
  fc.assert(
    fc.property(text, text, fc.integer({ min: -8.64e15, max: 8.64e15 }), (value, date, now) => {
      expect(read(value, now) ?? 0).toBeGreaterThanOrEqual(0);
      expect(parseRetryAfter({ "Retry-After": value, Date: date }, now) ?? 0).toBeGreaterThanOrEqual(0);
      expect(parseHttpDate(value, now)).not.toBeNaN();
    }),
  );
});

describe("header fields are found", () => {
  test("in a Headers, in a record by any case, in a Map by the lower", () => {
    const sources = [new Headers({ "Retry-After": "3" }), { "retry-after": "3" }, { "RETRY-AFTER": "3" }, new Map([["retry-after", "3"]])];
    expect(sources.map((headers) => parseRetryAfter(headers, NOW))).toEqual([3_000, 3_000, 3_000, 3_000]);
  });

  test("in what has a `get` of its own, with values that are not text", () => {
    const answers: [unknown, string][] = [["3", "3"], [3, "3"], [["3", "4"], "3,4"], [null, ""], [undefined, ""], [false, ""], [{}, ""]];
    for (const [value, expected] of answers) expect(headerOf({ get: () => value }, "a")).toBe(expected);
  });

  test("also when a field is called get", () => {
    expect(headerOf({ get: "a", "Retry-After": "3" }, "retry-after")).toBe("3");
    expect(headerOf({ get: "a" }, "get")).toBe("a");
  });

  test("with an undefined one in another case passed over", () => {
    expect(headerOf({ "Retry-After": undefined, "retry-after": "3" }, "retry-after")).toBe("3");
  });
});

test("60 · a value of more than 4,096 characters counts as absent, in any kind of headers", () => {
  const longest = "1".repeat(4_096);
  const sources = (value: string): HeaderSource[] => [{ Name: value }, { Name: [value] }, { Name: value.split(",") }, new Headers({ Name: value }), { get: () => value }];
  for (const source of sources(longest)) expect(headerOf(source, "name")).toBe(longest);
  for (const source of sources("1,".repeat(2_048))) expect(headerOf(source, "name")).toBe("1,".repeat(2_048));
  for (const source of [...sources(`${longest}1`), ...sources("1,".repeat(500_000))]) expect(headerOf(source, "name")).toBe("");
  expect(parseRetryAfter({ "Retry-After": longest }, NOW)).toBe(Infinity);
  expect(parseRetryAfter({ "Retry-After": `${longest}1` }, NOW)).toBeNull();
  // A spread of so many arguments would overflow the stack.
  expect(parseRetryAfter({ "Retry-After": `${"1,".repeat(500_000)}1` }, NOW)).toBeNull();
});
