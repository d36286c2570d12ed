/** Checklist item 59 of the HTTP contract: what the body of a refusal says, and what hostile text of it does. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../helpers/arbitraries.js";
import { parseRefusal } from "../../../src/client/reading/refusal-body.js";
import { readWait } from "../../../src/client/reading/wait.js";

const parse = (body: unknown) => parseRefusal(new Response(typeof body === "string" ? body : JSON.stringify(body), { status: 429 }));

const values: [what: string, body: string, value: unknown][] = [
  ["JSON", '{"code":"too_fast","retry_after":2}', { code: "too_fast", retry_after: 2 }],
  ["a JSON list", "[1]", [1]],
  ["a JSON text", '"slow down"', "slow down"],
  ["HTML", "<h1>Too many</h1>", "<h1>Too many</h1>"],
  ["XML", "<Error><Code>SlowDown</Code></Error>", "<Error><Code>SlowDown</Code></Error>"],
  ["JSON that is cut off", '{"code":"too_fa', '{"code":"too_fa'],
  ["nothing", "", null],
  ["more than 64 KiB of text", "a".repeat(70_000), "a".repeat(65_536)],
  ["more than 64 KiB of JSON", JSON.stringify("a".repeat(70_000)), `"${"a".repeat(65_535)}`],
];
test.each(values)("59 · the value of %s", async (_, body, value) => {
  expect((await parse(body)).value).toEqual(value);
});

test("59 · a body that breaks off has no value", async () => {
  const broken = new Response(new ReadableStream({ pull: (body) => body.error(new Error("reset")) }), { status: 429 });
  expect(await parseRefusal(broken)).toEqual({ value: null, serverCode: null, serverMessage: null, policies: undefined });
});

const waits: [what: string, body: object | string, waitMs: number | null][] = [
  ["whole seconds", { retry_after: 2 }, 2_000],
  ["0", { retry_after: 0 }, 0],
  ["a fraction, as Discord sends it", { message: "You are being rate limited.", retry_after: 64.57, global: false }, 64_570],
  ["a fraction that a multiplication would round up", { retry_after: 16.1 }, 16_100],
  ["less than a millisecond", { retry_after: 0.0004 }, 1],
  ["more digits than a wait has", { retry_after: 1e300 }, null],
  ["a number in `error`", { error: { code: "too_fast", retry_after: 1.5 } }, 1_500],
  ["both: the outer one", { retry_after: 1, error: { retry_after: 9 } }, 1_000],
  ["an outer one that is text: the inner one", { retry_after: "soon", error: { retry_after: 9 } }, 9_000],
  ["a number as text", { retry_after: "2" }, 2_000],
  ["text", { retry_after: "2 minutes" }, null],
  ["an object that cannot be text", { retry_after: { toString: 5, valueOf: 5 } }, null],
  ["a Boolean", { retry_after: true }, null],
  ["less than 0", { retry_after: -1 }, null],
  ["more than a number holds", '{"retry_after":1e999}', null],
  ["null", { retry_after: null }, null],
  ["a list of one", [{ retry_after: 2 }], 2_000],
];
test.each(waits)("59 · retry_after of %s", async (_, body, waitMs) => {
  expect(readWait({}, 0, [], (await parse(body)).value).waitMs).toBe(waitMs);
});

const messages: [what: string, message: string, read: string | null][] = [
  ["lines", "a\r\nb\tc", "a b c"],
  ["an escape sequence", "\u001b[2Jgone", "[2Jgone"],
  ["C1 and DEL", "a\u009b31mb\u007fc\u0085d", "a 31mb c d"],
  ["separators", "a\u2028b\u2029c", "a b c"],
  ["text that turns around", "\u202egpj.exe\u2066x\u2069", "gpj.exe x"],
  ["nothing else", "\u0000\u202e \u0007", null],
  ["300 characters behind them", "\n".repeat(400) + "a".repeat(301), "a".repeat(300)],
  ["a character of two halves at the cut", "a".repeat(299) + "😀", "a".repeat(299)],
  ["a character of two halves before the cut", "a".repeat(298) + "😀b", "a".repeat(298) + "😀"],
  ["other languages", "Слишком много 要求が多すぎます", "Слишком много 要求が多すぎます"],
];
test.each(messages)("59 · control characters of a message are spaces: %s", async (_, message, read) => {
  expect((await parse({ message })).serverMessage).toBe(read);
  expect((await parse({ error: { message } })).serverMessage).toBe(read);
});

test("59 · a message of control characters gives way to the next one", async () => {
  expect((await parse({ message: "\u0007", detail: "Wait a bit." })).serverMessage).toBe("Wait a bit.");
});

test("59 · names of policies with control characters or above 256 characters are dropped, and 16 are kept", async () => {
  const long = "a".repeat(256);
  const bad = ["\u001b[2J", "a\nb", "\u202ea", `${long}a`, 5, null, ["a"]];
  expect((await parse({ "violated-policies": [...bad, "a b", long] })).policies).toEqual(["a b", long]);
  const many = Array.from({ length: 20 }, (_, index) => `p${index}`);
  expect((await parse({ "violated-policies": [...bad, ...many] })).policies).toEqual(many.slice(0, 16));
  expect((await parse({ "violated-policies": bad })).policies).toEqual([]);
  expect((await parse({ "violated-policies": "a" })).policies).toBeUndefined();
});

test("59 · no body makes it reject, or gives text with control characters", async () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 400 });
  const body = fc.oneof(
    text,
    fc.json(),
    fc
      .record({ code: text, message: text, error: fc.oneof(text, fc.record({ message: text, retry_after: fc.double() })), "violated-policies": fc.array(text) }, { requiredKeys: [] })
      .map((each) => JSON.stringify(each)),
  );
  await fc.assert(
    fc.asyncProperty(body, async (given) => {
      const { value, serverCode, serverMessage, policies } = await parse(given);
      expect(readWait({}, 0, [], value).waitMs ?? 0).toBeGreaterThanOrEqual(0);
      for (const told of [serverCode, serverMessage, ...(policies ?? [])]) expect(told ?? "").not.toMatch(/[\p{Cc}\u2028-\u202e\u2066-\u2069]/u);
      expect(serverMessage?.length ?? 1).toBeGreaterThan(0);
      expect(serverMessage?.length ?? 1).toBeLessThanOrEqual(300);
    }),
    { numRuns: 100 },
  );
});
