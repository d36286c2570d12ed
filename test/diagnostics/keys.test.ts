// Keys that look like a mistake: a text in place of a value, and a header field that callers make up.
import express from "express";
import { addressKey, combine, createLimiter, createWaiter, MemoryStore, perSecond, type Key } from "sluice";
import { rateLimit } from "sluice/express";
import { createGate } from "sluice/http";
import { webReader } from "sluice/web";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hearWarnings } from "../helpers/warned.js";
import { expectWarnings } from "../setup/warnings.js";

const policy = { name: "api", capacity: 1_000, refill: perSecond(1_000) };
const textOf = (word: string) =>
  `SLUICE_KEY_HAS_NO_VALUE: A key under policy "api" contains "${word}" in place of a value, so callers without one share a bucket. ` +
  'Write a tuple of the values, such as ["user", id], in which a missing one is noticed';

const WORDS: ReadonlyArray<readonly [word: string, key: Key]> = [
  ["undefined", "undefined"],
  ...["undefined", "null", "NaN", "[object Object]", "[object Promise]"].flatMap((word) => [
    [word, word] as const,
    [word, ["user", word]] as const,
    [word, [word, 5]] as const,
    ...[":", "/", "-", "_", ".", "|", "#", ",", ";", "=", " ", "@", "~", "+", "&", "%", "\\", "\0", "→", "::"].map((separator) => [word, `user${separator}${word}`] as const),
    ...[":", "/", "|", "#", ",", ";", "=", " ", "~", "&", "\\"].flatMap((separator) => [[word, `${word}${separator}5`] as const, [word, `user${separator}${word}${separator}5`] as const]),
    [word, ["tenant", `user:${word}`]] as const,
  ]),
];
const FINE: readonly Key[] = [
  "user:nullable", "undefinedness", "isundefined", "nonnull", "null@example.com", "user:null@example.com", "null-island", "undefined_behavior", "NaNcy", "banana", "nan",
  "Null", "user:0", "object", "[object", "objects Object]", ["user", 0], ["user", "zénull"], ["null5", "5undefined"], "sundefined", "user:x null.y",
];

const limiter = createLimiter({ policy: { ...policy } });

describe("SLUICE_KEY_HAS_NO_VALUE", () => {
  test.each(WORDS)("hears %j in the key %j", (word, key) => {
    const lines = hearWarnings();
    for (let i = 0; i < 2; i++) limiter.consume(key);
    expect(lines).toEqual([textOf(word)]);
  });

  test.each(FINE.map((key) => [key]))("is silent for %j", (key) => {
    const lines = hearWarnings();
    limiter.consume(key);
    expect(lines).toEqual([]);
  });

  test("hears keys of gates, combinations, waiters and asynchronous calls", async () => {
    for (const use of [
      () => createGate({ policy, key: () => `user:${undefined}` }, webReader)(new Request("http://localhost/")),
      () => combine({ a: createLimiter({ policy }) }).consume({ a: `user:${undefined}` }),
      () => createWaiter(createLimiter({ policy })).consume(`user:${undefined}`),
    ]) {
      const lines = hearWarnings();
      await use();
      expect(lines).toEqual([textOf("undefined")]);
    }
  });
});

describe("SLUICE_KEY_IS_HEADER", () => {
  const TEXT = 'SLUICE_KEY_IS_HEADER: A key under policy "api" is the text of x-forwarded-for, which callers can make up';
  let server: ReturnType<ReturnType<typeof express>["listen"]> | undefined;
  afterEach(() => void server?.close());
  beforeEach(() => (server = undefined));

  /** The status of one request to an Express app whose key is that of the header's value. */
  async function ask(key: (request: express.Request) => unknown, forwarded: string, trust?: number): Promise<number> {
    const app = express();
    if (trust !== undefined) app.set("trust proxy", trust);
    app.use(rateLimit({ policy, key: key as never }));
    app.get("/", (_request, response) => void response.send("ok"));
    server = app.listen(0, "127.0.0.1");
    await new Promise((resolve) => server?.once("listening", resolve));
    const { port } = server.address() as { port: number };
    return (await fetch(`http://127.0.0.1:${port}/`, { headers: { "x-forwarded-for": forwarded } })).status;
  }
  const raw = (request: express.Request) => request.headers["x-forwarded-for"];

  test.each<[what: string, key: (request: express.Request) => unknown, forwarded: string]>([
    ["a list as a text", raw, "198.51.100.7, 203.0.113.5"],
    ["a list in a tuple", (request) => ["ip", String(raw(request))], "198.51.100.7, 203.0.113.5"],
    ["a list after a prefix", (request) => `ip:${String(raw(request))}`, "198.51.100.7,203.0.113.5"],
    ["one address", raw, "198.51.100.7"],
    ["one address after a prefix", (request) => `ip:${String(raw(request))}`, "198.51.100.7"],
    ["one IPv6 address", (request) => ["ip", String(raw(request))], "2001:db8::7"],
    ["one address, as addressKey makes it", (request) => addressKey(String(raw(request))), "198.51.100.7"],
    ["the first of a list", (request) => String(raw(request)).split(",")[0], "198.51.100.7, 203.0.113.5"],
  ])("hears %s", async (_, key, forwarded) => {
    expectWarnings(TEXT, ...(forwarded.startsWith("2001") ? ["SLUICE_KEY_IS_ADDRESS"] : []));
    expect(await ask(key, forwarded)).toBe(200);
  });

  test.each<[what: string, key: (request: express.Request) => unknown, forwarded: string, trust: number]>([
    ["the address that Express finds behind one proxy", (request) => addressKey(request.ip), "203.0.113.5", 1],
    ["the address behind two proxies, the first of the list", (request) => addressKey(request.ip), "203.0.113.5, 198.51.100.7", 2],
    ["a user", () => ["user", "42"], "203.0.113.5", 1],
    ["a part that contains the text inside a word", () => ["user", "x7203.0.113.5"], "203.0.113.5", 1],
  ])("is silent for %s", async (_, key, forwarded, trust) => {
    expect(await ask(key, forwarded, trust)).toBe(200);
  });

  test("on web-standard servers hears a list, and not one address, which the platform may have set", async () => {
    const key = (request: Request) => request.headers.get("x-forwarded-for") ?? "none";
    const gate = createGate({ policy, key, store: new MemoryStore() }, webReader);
    await gate(new Request("http://localhost/", { headers: { "x-forwarded-for": "203.0.113.5" } }));
    await gate(new Request("http://localhost/"));
    expectWarnings(TEXT);
    await gate(new Request("http://localhost/", { headers: { "x-forwarded-for": "198.51.100.7, 203.0.113.5" } }));
  });
});
