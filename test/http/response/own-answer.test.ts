import { expect, test } from "vitest";
import { toJson, toRefusal } from "../../../src/http/response/refusal.js";
import { exhaust, open } from "../asking.js";

test.each<[what: string, answer: unknown, text: string | null]>([
  ["an object literal", { slow: "down" }, '{"slow":"down"}'],
  ["one without a prototype", Object.assign(Object.create(null) as object, { slow: "down" }), '{"slow":"down"}'],
  ["one with toJSON", { toJSON: () => ({ slow: "down" }) }, '{"slow":"down"}'],
  ["an empty one", {}, "{}"],
  ["letters beyond ASCII", { message: "später 🙏" }, '{"message":"später 🙏"}'],
  ["nothing", undefined, null],
  ["null", null, null],
  ["text", "<p>", null],
  ["a Response", new Response("<p>"), null],
  ["an Error", new Error("slow down"), null],
  ["a Map", new Map([["slow", "down"]]), null],
  ["bytes", Buffer.from("slow down"), null],
  ["a Date", new Date(0), null],
  ["a function", () => "slow down", null],
])("an own answer that is %s", (_, answer, text) => {
  expect(toJson(answer)).toBe(text);
});

test.each<[what: string, answer: object]>([
  ["a circle", (() => { const circle: Record<string, unknown> = {}; circle["self"] = circle; return circle; })()],
  ["a big integer", { tokens: 1n }],
  ["a failing toJSON", { toJSON: () => { throw new TypeError("no"); } }],
  ["a toJSON that returns nothing", { toJSON: () => undefined }],
])("an object that JSON cannot hold is a TypeError: %s", (_, answer) => {
  expect(() => toJson(answer)).toThrow(TypeError);
});

test("a refusal has the facts of its document by other names", () => {
  const { verdict } = exhaust(open());
  const { body, decision } = verdict.outcome === "refuse" ? verdict : { body: "", decision: null };
  expect(toRefusal(body, decision)).toEqual({
    status: 429,
    code: "rate_limited",
    title: "Too Many Requests",
    message: "Too many requests. Try again in 1 second.",
    retryAfter: 1,
    problem: JSON.parse(body) as object,
    decision,
  });
  expect(toRefusal('{"status":400}', null).retryAfter).toBeNull();
});
