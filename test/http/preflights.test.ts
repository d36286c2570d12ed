import { afterEach, describe, expect, test, vi } from "vitest";
import { perSecond, MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { freshSluice } from "../helpers/warned.js";
import { exhaust, open, openLater, reader, type Ask } from "./asking.js";
import { expectWarnings } from "../setup/warnings.js";

afterEach(() => void vi.restoreAllMocks());

const HEADERS = { origin: "https://app.example", "access-control-request-method": "POST" };
const PLAIN: Ask = { method: "OPTIONS", headers: HEADERS, user: null };
const skip = { outcome: "skip" };
const LANE = 100;

/** As Chromium 156 sends it. */
const CHROMIUM: Ask = {
  ...PLAIN,
  headers: {
    host: "api.example", connection: "keep-alive", accept: "*/*", "access-control-request-method": "POST", "access-control-request-headers": "content-type,x-client",
    origin: "https://app.example", "user-agent": "Mozilla/5.0", "sec-fetch-mode": "cors", "sec-fetch-site": "cross-site", "sec-fetch-dest": "empty",
    referer: "https://app.example/", "accept-encoding": "gzip, deflate, br, zstd", "accept-language": "en-US,en;q=0.9",
  },
};

describe("L18 · a plain preflight takes no token of a caller", () => {
  const plain: [what: string, ask: Ask][] = [
    ["a browser's", CHROMIUM],
    ["one of a page without an origin", { ...PLAIN, headers: { ...HEADERS, origin: "null" } }],
    ["one with a length of 0, as some proxies add it", { ...PLAIN, headers: { ...HEADERS, "content-length": "0" } }],
  ];
  test.each(plain)("%s", (_, ask) => {
    const gate = open();
    for (let i = 0; i < 50; i++) expect(gate.ask(ask).verdict).toEqual(skip);
    expect(gate.ask({ user: null }).field("RateLimit-Remaining")).toBe("2");
  });

  test("also when `key` fails because no user is signed in, at once or later", async () => {
    const key = ({ user }: Ask): string => (user as unknown as { id: string }).id;
    expect(open({ key }).ask(PLAIN).verdict).toEqual(skip);
    expect((await openLater({ key: async (ask) => key(ask) }).ask(PLAIN)).verdict).toEqual(skip);
  });

  test("and `skip`, `cost` and `policy` are not asked", () => {
    const fail = (): never => {
      throw new Error("asked");
    };
    expect(open({ skip: fail, cost: fail, policy: fail }).ask(PLAIN).verdict).toEqual(skip);
  });
});

describe("L18 · what only looks like a preflight is an ordinary request", () => {
  const ordinary: [what: string, ask: Ask][] = [
    ["with a key", { ...PLAIN, user: "ann" }],
    ["with a session cookie", { ...PLAIN, headers: { ...HEADERS, cookie: "session=1" } }],
    ["with a token", { ...PLAIN, headers: { ...HEADERS, authorization: "Bearer 1" } }],
    ["with a body", { ...PLAIN, headers: { ...HEADERS, "content-length": "2" } }],
    ["with a body in chunks", { ...PLAIN, headers: { ...HEADERS, "transfer-encoding": "chunked" } }],
    ["with a length that is no number", { ...PLAIN, headers: { ...HEADERS, "content-length": "2, 2" } }],
    ["without an origin", { ...PLAIN, headers: { "access-control-request-method": "POST" } }],
    ["with an empty origin", { ...PLAIN, headers: { ...HEADERS, origin: "" } }],
    ["without a method", { ...PLAIN, headers: { origin: "https://app.example" } }],
    ["with an empty method", { ...PLAIN, headers: { ...HEADERS, "access-control-request-method": "" } }],
    ["with a method that is none", { ...PLAIN, headers: { ...HEADERS, "access-control-request-method": "GET /" } }],
    ["another method than OPTIONS", { ...PLAIN, method: "GET" }],
  ];
  test.each(ordinary)("%s", async (_, ask) => {
    if (ask.user === null) expectWarnings("SLUICE_UNIDENTIFIED");
    for (const key of [({ user }: Ask) => user, async ({ user }: Ask) => user]) {
      const gate = openLater({ key });
      for (let i = 0; i < 3; i++) expect((await gate.ask(ask)).field("RateLimit-Remaining")).toBe(String(2 - i));
      expect((await gate.ask(ask)).status).toBe(429);
    }
  });

  test("its key is charged, and a failing `key` fails it once the bucket is empty", async () => {
    expectWarnings("SLUICE_PREFLIGHTS");
    const key = ({ user }: Ask): string => (user as unknown as { id: string }).id;
    const gate = open({ key });
    for (let i = 0; i < LANE; i++) expect(gate.ask(PLAIN).verdict).toEqual(skip);
    expect(() => gate.ask(PLAIN)).toThrow(TypeError);
    const later = openLater({ key: async (ask) => key(ask), skip: async () => false });
    for (let i = 0; i < LANE; i++) expect((await later.ask(PLAIN)).verdict).toEqual(skip);
    await expect(later.ask(PLAIN)).rejects.toThrow(TypeError);
  });
});

describe("L18 · beyond the lane a plain one is an ordinary request, with a warning", () => {
  test("100 at once and 100 per second, by the clock of the store", async () => {
    const { createGate, codes } = await freshSluice();
    let now = 0;
    const gate = createGate<Ask>({ policy: { capacity: 5, refill: perSecond(1) }, key: () => null, store: new MemoryStore({ clock: () => now }) }, reader);
    const passed = (count: number): number => Array.from({ length: count }, () => gate({ ...PLAIN })).filter((verdict) => (verdict as { outcome: string }).outcome === "skip").length;
    expect(passed(100)).toBe(100);
    expect(codes()).toEqual([]);
    // Five more are requests without a key, and the others are refused.
    expect(passed(10)).toBe(0);
    expect(codes()).toEqual(["SLUICE_PREFLIGHTS", "SLUICE_UNIDENTIFIED"]);
    now = 500;
    expect(passed(100)).toBe(50);
  });

  test("L6 · it counts what the clock of two lost in a suspension", () => {
    expectWarnings("SLUICE_PREFLIGHTS");
    const clock = new ManualClock();
    const gate = open({ store: new MemoryStore({ clock }) });
    const passes = (): boolean => (gate.ask(PLAIN).verdict as { outcome: string }).outcome === "skip";
    for (let i = 0; i < LANE; i++) passes();
    expect(passes()).toBe(false);
    clock.suspend(60_000);
    expect(passes()).toBe(true);
  });

  test("an empty bucket of preflights refuses no other request, and an empty budget no preflight", () => {
    expectWarnings("SLUICE_PREFLIGHTS", "SLUICE_UNIDENTIFIED");
    const gate = open();
    for (let i = 0; i < LANE + 5; i++) gate.ask(PLAIN);
    expect(gate.ask({ user: "bob" }).status).toBe(200);
    const other = open();
    exhaust(other);
    expect(other.ask(PLAIN).verdict).toEqual(skip);
  });

  test("its key is asked once, also when `skip` and `key` answer later", async () => {
    let asked = 0;
    const gate = openLater({ skip: async () => false, key: async () => (asked++, "ann") });
    expect((await gate.ask(PLAIN)).field("RateLimit-Remaining")).toBe("2");
    expect(asked).toBe(1);
  });
});
