// The search and replace of "From rc.1 to rc.2", on lines as rc.1's pages and examples wrote them. Its expressions mean the same here as in Perl.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const page = readFileSync("docs/moving/from-rc1.md", "utf8");
const steps = [...page.matchAll(/-e 's\/(.+)\/(.*)\/g;'/g)].map(([, from = "", to = ""]) => [new RegExp(from, "g"), to.replaceAll("\\{", "{")] as const);
const moved = (line: string): string => steps.reduce((text, [from, to]) => text.replace(from, to), line);

test.each([
  ["const a: RateOptions = b as QuotaOptions | InFlightOptions | WindowOptions;", "const a: LimitOptions = b as LimitOptions | LimitOptions | LimitOptions;"],
  ["function make(client: IoredisLike | NodeRedisLike | UpstashLike) {", "function make(client: RedisClient | RedisClient | RedisClient) {"],
  ['if (problem.code === "cost_too_high") return;', 'if (problem.code === "cost_above_capacity") return;'],
  ['headers: ["triple", "draft-11"],', "headers: [triple(), draft11()],"],
  ["if (code === 'cost_too_high') headers: ['triple', draft7, 'draft-11']", "if (code === 'cost_above_capacity') headers: [triple(), draft7(), draft11()]"],
  ['rateLimit({ policy, key, headers: ["triple", draft7, retryAfterDate] })', "rateLimit({ policy, key, headers: [triple(), draft7(), retryAfterDate()] })"],
  ["headers: [xRateLimit({ clock })],", "headers: [xRateLimit({ clock })],"],
  ["limiter.settle(key, decision, { tokens: 1_417 });", "limiter.settle(key, decision, { cost: { tokens: 1_417 } });"],
  ["limiter.settle(key, decision, {});", "limiter.settle(key, decision, { cost: {} });"],
  ["await limiter.settle(key, decision, 1_417, { policy });", "await limiter.settle(key, decision, { cost: 1_417, policy });"],
  ["await limiter.debit(key, 50, { policy: paid });", "await limiter.debit(key, { cost: 50, policy: paid });"],
  ['limiter.credit(["user", id], { tokens: 50 });', 'limiter.credit(["user", id], { cost: { tokens: 50 } });'],
  ["limiter.settle(key, decision, 1_417);", "limiter.settle(key, decision, 1_417);"],
  ["limiter.settle(key, decision, { cost: 5 });", "limiter.settle(key, decision, { cost: 5 });"],
  ["limiter.debit(key, 5);", "limiter.debit(key, 5);"],
  ['const styles = { triple: "triple" };', 'const styles = { triple: "triple" };'],
])("%s", (before, after) => {
  expect(moved(before)).toBe(after);
  expect(moved(after), "a second run changes nothing").toBe(after);
});

test("each step of the page is one of these", () => {
  expect(steps).toHaveLength(page.match(/^ {2}-e /gm)?.length ?? 0);
  expect(steps.length).toBeGreaterThan(7);
});

test("each name of the column `now` is exported, or is written in the page's own words", async () => {
  const names = new Set([...page.matchAll(/`(?:draft11|triple|answerOnNode|trackWork|refusalResponse|LimitOptions|PolicyOptions|AdapterOptions|RedisClient|VendorHook|ToldLimit|BucketMethods|SqlDatabase)\b/g)].map(([name]) => name.slice(1)));
  const api = ["index", "store", "http", "node", "web", "client", "redis", "durable-object"].map((entry) => readFileSync(`test/package/api/${entry}.api.md`, "utf8")).join("\n");
  expect(names.size).toBeGreaterThan(10);
  expect([...names].filter((name) => !new RegExp(`\\b${name}\\b`).test(api))).toEqual([]);
});
