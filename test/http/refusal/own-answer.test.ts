import { describe, expect, test, vi } from "vitest";
import type { OwnBody } from "sluice/http";
import { toContent, toRefusal } from "../../../src/http/refusal/own-answer.js";
import { freshSluice } from "../../helpers/warned.js";
import { answerOf, exhaust, open, reader, SMALL, type Ask } from "../asking.js";

describe("`body` returns", () => {
  const HTML = "text/html; charset=utf-8";
  const PROBLEM = "application/problem+json";
  test.each<[what: string, body: OwnBody, type: string, text: string]>([
    ["an object: JSON", { slow: "down" }, PROBLEM, '{"slow":"down"}'],
    ["an object with toJSON", { toJSON: () => ({ slow: "down" }) }, PROBLEM, '{"slow":"down"}'],
    ["a text type, which is UTF-8", ["text/html", "<p>é</p>"], HTML, "<p>é</p>"],
    ["a text type with a charset", ["text/html; charset=utf-8", "<p>é</p>"], HTML, "<p>é</p>"],
    ["a charset in quotes", ['text/html;charset="UTF-8"', "<p>"], 'text/html;charset="UTF-8"', "<p>"],
    ["other parameters", ['text/x; profile="a; charset=b"; v=1', "x"], 'text/x; profile="a; charset=b"; v=1', "x"],
    ["another type, as it is", ["application/graphql-response+json", "{}"], "application/graphql-response+json", "{}"],
    ["an empty text", ["text/plain", ""], "text/plain; charset=utf-8", ""],
  ])("%s", (_, body, type, text) => {
    const { verdict, field, number } = exhaust(open({ body: () => body }));
    expect([field("content-type"), number("content-length"), verdict.outcome === "refuse" && verdict.body]).toEqual([type, new TextEncoder().encode(text).length, text]);
  });

  test.each<[what: string, body: unknown, message: string]>([
    ["text without a type", "<p>", 'Expected `body()` to be an object with members or [mediaType, text], such as ["text/html", "<p>Slow down</p>"], got "<p>"'],
    ["nothing", undefined, 'Expected `body()` to be an object with members or [mediaType, text], such as ["text/html", "<p>Slow down</p>"], got undefined'],
    ["a list", [{ message: "slow down" }], 'Expected `body()` to be [mediaType, text], got an array of 1. Write ["text/html", "<p>Slow down</p>"]; an array is not sent as JSON'],
    ["text before its type", ["<p>Slow down</p>", "text/html"], "Expected `body()` to be [mediaType, text], got an array of 2"],
    ["a type without a subtype", ["html", "<p>"], "Expected `body()` to be [mediaType, text], got an array of 2"],
    ["a type with a line break", ["text/html\r\nset-cookie: a=1", "<p>"], "Expected `body()` to be [mediaType, text], got an array of 2"],
    ["a line break in a parameter", ["text/html; charset=utf-8\r\nset-cookie: a=1", "<p>"], "Expected `body()` to be [mediaType, text], got an array of 2"],
    ["parameters that are none", ["text/html;;;=", "<p>"], "Expected `body()` to be [mediaType, text], got an array of 2"],
    ["another charset", ["text/html; charset=iso-8859-1", "<p>"], "Expected `body()` to be [mediaType, text], got an array of 2"],
    ["another charset in quotes", ['text/html; v=1; Charset="utf-16"', "<p>"], "Expected `body()` to be [mediaType, text], got an array of 2"],
    ["a Response", new Response("<p>"), "Expected `body()` to be an object with members or"],
    ["a Map", new Map([["slow", "down"]]), "Expected `body()` to be an object with members or"],
    ["an Error", new Error("slow down"), "Expected `body()` to be an object with members or"],
    ["bytes", Buffer.from("slow down"), "Expected `body()` to be an object with members or"],
    ["a Date", new Date(0), "Expected `body()` to be an object with members or"],
    ["a function", () => "slow down", "Expected `body()` to be an object with members or"],
    ["a text that is none", ["text/html", 42], "Expected `body()` to be [mediaType, text], got an array of 2"],
    ["more than two", ["text/html", "<p>", "<p>"], "Expected `body()` to be [mediaType, text], got an array of 3"],
  ])("%s: an error that says what to write, and the standard document", async (_, body, message) => {
    expect(() => toContent(body)).toThrow(TypeError);
    expect(() => toContent(body)).toThrow(message);
    const { createGate, given } = await freshSluice();
    const gate = createGate<Ask>({ policy: SMALL, key: () => "ann", body: () => body as OwnBody }, reader);
    for (let i = 0; i < 3; i++) void gate({});
    const answer = answerOf(await gate({}));
    expect([answer.field("content-type"), answer.body["code"]]).toEqual(["application/problem+json", "rate_limited"]);
    expect(given).toMatchObject([{ code: "SLUICE_FUNCTION_FAILED", detail: expect.stringContaining(message) as string }]);
    vi.restoreAllMocks();
  });
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
