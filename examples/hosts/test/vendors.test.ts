// Refusals that are a service's own, and a server that does not answer: what recipes say beside `giveUp`.
import { InternalServerError, RateLimitError } from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { createAnthropic } from "../anthropic.js";
import { createHttp } from "../ky.js";
import { createOctokit } from "../octokit.js";
import { createOpenAI } from "../openai.js";
import { always, outcomeOf, startWorld } from "./world.js";

const messages = [{ role: "user" as const, content: "hello" }];
const NOON = Date.UTC(2026, 10, 21, 12);

test("OpenAI: a call without credit is given up after one request", async () => {
  const { url, arrived, limits } = await startWorld(null, always({ error: { code: "insufficient_quota", message: "Check your plan." } }, 429));
  const openai = createOpenAI({ apiKey: "none", baseURL: url }, limits);
  expect(await outcomeOf(openai.chat.completions.create({ model: "small", messages }))).toMatchObject({ status: 429, code: "insufficient_quota" });
  expect(arrived).toHaveLength(1);
});

test("OpenAI: another 429 without a wait is repeated", async () => {
  const { url, arrived, limits } = await startWorld(null, always({ error: { code: "rate_limit_exceeded" } }, 429));
  const openai = createOpenAI({ apiKey: "none", baseURL: url }, limits);
  expect(await outcomeOf(openai.models.list())).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
  expect(arrived).toHaveLength(3);
});

test("Anthropic: an overloaded service is asked three times, and its last answer is the error", async () => {
  const { url, arrived, limits } = await startWorld(null, always({ type: "error", error: { type: "overloaded_error" } }, 529));
  const anthropic = createAnthropic({ apiKey: "none", baseURL: url }, limits);
  const outcome = await outcomeOf(anthropic.messages.create({ model: "small", max_tokens: 1, messages }));
  expect(outcome).toBeInstanceOf(InternalServerError);
  expect(outcome).toMatchObject({ status: 529 });
  expect(arrived).toHaveLength(3);
});

test("Anthropic: a 429 that says not to retry is given up after one request", async () => {
  const { url, arrived, limits } = await startWorld(null, always({ type: "error" }, 429, { "x-should-retry": "false" }));
  const anthropic = createAnthropic({ apiKey: "none", baseURL: url }, limits);
  expect(await outcomeOf(anthropic.models.list())).toBeInstanceOf(RateLimitError);
  expect(arrived).toHaveLength(1);
});

const reset = { "X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": String(NOON / 1_000 + 12), Date: new Date(NOON).toUTCString() };
const secondary = { message: "You have exceeded a secondary rate limit." };
test.each([
  ["the primary limit, which names the end", { message: "API rate limit exceeded" }, reset, [12_000, 12_000]],
  ["the secondary limit, with a wait", secondary, { "Retry-After": "30" }, [30_000, 30_000]],
  ["the secondary limit, without a wait", secondary, {}, [60_000, 60_000]],
  ["a resource that is not for this user", { message: "Resource not accessible" }, { "X-RateLimit-Remaining": "59" }, []],
])("GitHub's 403 for %s", async (_, document, headers, expected) => {
  const { url, waits, limits } = await startWorld(null, always(document, 403, headers));
  const octokit = createOctokit({ baseUrl: url }, limits);
  expect(await outcomeOf(octokit.request("GET /user"))).toMatchObject({ status: 403, response: { data: document } });
  expect(waits).toEqual(expected);
});

test("ky: each attempt has 10 s to get an answer", async () => {
  const world = await startWorld(null, () => void world.advance(10_000));
  const http = createHttp({ prefixUrl: world.url }, world.limits);
  expect(await outcomeOf(http.get("inbox"))).toMatchObject({ name: "TimeoutError", code: "ERR_ATTEMPT_TIMEOUT" });
  expect(world.arrived).toHaveLength(3);
});
