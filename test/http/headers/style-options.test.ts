/** The options of header styles, which are values. */
import { createHeaderWriter, draft11, retryAfterDate, triple, vendorHeaders, xRateLimit, type HeaderStyle } from "sluice/http";
import { describe, expect, test, vi } from "vitest";
import { brokenStore, exhaust, open, type Ask } from "../asking.js";

const WALL = Date.UTC(2026, 6, 14, 3, 33, 20, 250);
const clock = (): number => WALL;
const CROSS: Ask = { headers: { origin: "https://app.example" } };
const exposed = (headers: readonly HeaderStyle[], ask = CROSS): readonly string[] => {
  const { verdict } = exhaust(open({ headers }), ask);
  return verdict.outcome === "skip" ? [] : verdict.expose;
};

describe.each([["xRateLimit", xRateLimit, "X-RateLimit-Reset"], ["retryAfterDate", retryAfterDate, "Retry-After"]] as const)("%s", (name, style, field) => {
  test("reads the date by default, and a clock of its own: of two, the wall clock", () => {
    vi.spyOn(Date, "now").mockReturnValue(WALL);
    const bare = exhaust(open({ headers: [style()] })).field(field);
    vi.restoreAllMocks();
    for (const told of [clock, { now: () => 5, wallNow: clock }]) {
      expect(exhaust(open({ headers: [style({ clock: told })] })).field(field)).toBe(bare);
    }
    expect(bare).toBe(field === "Retry-After" ? "Tue, 14 Jul 2026 03:33:22 GMT" : String(Math.ceil((WALL + 1_000) / 1_000)));
  });

  test("needs its parentheses, and the error writes them", () => {
    expect(() => createHeaderWriter([style as never])).toThrow(new TypeError(
      'Expected `headers` to be a list of styles from "sluice/http", such as [triple(), draft11()], got a function. ' +
      `Write: import { ${name} } from "sluice/http"; headers: [${name}()]`,
    ));
  });

  test("refuses a wrong clock when it is made, and a wrong reading with the request", () => {
    expect(() => style({ clock: 5 as never })).toThrow(new TypeError("Expected `clock` to be a function that returns milliseconds, or { now, wallNow }, got 5"));
    expect(() => style({ clocks: clock } as never)).toThrow("Unknown option `clocks`. Did you mean `clock`?");
    expect(() => style(null as never)).toThrow(TypeError);
    const gate = open({ headers: [style({ clock: () => Number.NaN })] });
    expect(() => exhaust(gate)).toThrow(new RangeError("Expected `clock()` to be a finite number of milliseconds, got NaN"));
  });
});

test("37 · retryAfterDate exposes Date to scripts of another origin, on a 429 and a 503, and nowhere else", () => {
  expect(exposed([retryAfterDate()])).toEqual(["Retry-After", "Date"]);
  expect(exposed([])).toEqual(["Retry-After"]);
  expect(exposed([retryAfterDate()], {})).toEqual([]);
  const failing = open({ headers: [retryAfterDate()], store: brokenStore(true), onStoreError: "unavailable" }).ask(CROSS).verdict;
  expect(failing.outcome === "refuse" && [failing.status, failing.expose]).toEqual([503, ["Retry-After", "Date"]]);
  const allowed = open({ headers: [triple(), retryAfterDate()] }).ask(CROSS).verdict;
  expect(allowed.outcome === "pass" && allowed.expose).not.toContain("Date");
  const missing = open({ headers: [retryAfterDate()], unidentified: "refuse" }).ask({ ...CROSS, user: null }).verdict;
  expect(missing.outcome === "refuse" && missing.expose).toEqual([]);
});

test("22 · two styles that claim one field are refused, Retry-After among them", () => {
  for (const [headers, name] of [
    [[retryAfterDate(), retryAfterDate({ clock })], "Retry-After"],
    [[draft11(), draft11()], "RateLimit-Policy"],
    [[xRateLimit(), vendorHeaders({ limit: "x-ratelimit-limit" })], "x-ratelimit-limit"],
  ] as const) {
    expect(() => createHeaderWriter(headers)).toThrow(new RangeError(`Expected \`headers\` to name each field once, got ${name} twice`));
  }
});

test("draft11 without options is the default style, and takes a function as `partitionKey` only", () => {
  expect(exhaust(open({ headers: [triple(), draft11()] })).verdict).toEqual(exhaust(open()).verdict);
  for (const partitionKey of ["ann", null, []]) expect(() => draft11({ partitionKey: partitionKey as never })).toThrow("Expected `partitionKey` to be a function, got");
  expect(() => draft11({ partitionkey: () => new Uint8Array() } as never)).toThrow("Unknown option `partitionkey`. Did you mean `partitionKey`?");
});

test("a vendor's clock is checked as well", () => {
  expect(() => vendorHeaders({ limit: "X-Limit", clock: null as never })).toThrow("Expected `clock` to be a function that returns milliseconds, or { now, wallNow }, got null");
  const gate = open({ headers: [vendorHeaders({ reset: "X-Reset", resetFormat: "epoch-seconds", clock: () => Infinity })] });
  expect(() => gate.ask()).toThrow("Expected `clock()` to be a finite number of milliseconds, got Infinity");
});
