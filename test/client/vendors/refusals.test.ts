/** The services of the option `vendor`: what each makes of responses as its service sends them. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aws, gemini, github, openai, type VendorHook, type Vendor } from "sluice/client";
import { givenUp, talk, URL_A } from "../fake-server.js";
import { FakeTime } from "../fake-time.js";

type Row = readonly [what: string, status: number, headers: Readonly<Record<string, string>>, body: unknown, verdict: object | null | undefined];

const check = (hook: VendorHook, rows: readonly Row[]): void =>
  test.each(rows)("%s", (_, status, headers, body, verdict) => {
    expect(hook(new Response(null, { status, headers }), body)).toEqual(verdict);
  });
const byFields = { waitMs: null };
const never = { waitMs: Infinity };
const aMinute = { waitMs: null, untoldMs: 60_000 };

describe("github", () => {
  const docs = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api";
  const primary = { message: "API rate limit exceeded for user ID 1.", documentation_url: docs };
  const secondary = { message: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", documentation_url: docs };
  const left = { "x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4987", "x-ratelimit-reset": "1786797000", "x-ratelimit-resource": "core" };
  const spent = { ...left, "x-ratelimit-remaining": "0" };
  check(github.refusal, [
    ["the primary limit, as 403", 403, spent, primary, aMinute],
    ["the primary limit, as 429", 429, spent, primary, aMinute],
    ["the secondary limit with Retry-After, as 403", 403, { ...left, "retry-after": "60" }, secondary, aMinute],
    ["the secondary limit with Retry-After, as 429", 429, { ...left, "retry-after": "60" }, secondary, aMinute],
    ["the secondary limit without a wait, as 403: a minute", 403, left, secondary, aMinute],
    ["the secondary limit without a wait, as 429: a minute", 429, left, secondary, aMinute],
    ["a wait that cannot be read: a minute", 403, { ...left, "retry-after": "soon" }, secondary, aMinute],
    ["the secondary limit with nothing left: until the reset", 403, spent, secondary, aMinute],
    ["abuse detection of older servers: a minute", 403, left, { message: "You have triggered an abuse detection mechanism." }, aMinute],
    ["a 429 without anything: a minute", 429, {}, "<html>Too many requests</html>", aMinute],
    ["nothing left for more than an hour: the fields tell", 403, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1786797000" }, primary, aMinute],
    ["nothing left, and no reset: a minute", 403, { "x-ratelimit-remaining": "0" }, primary, aMinute],
    ["a missing permission", 403, left, { message: "Resource not accessible by integration", documentation_url: docs }, undefined],
    ["a blocked repository", 403, left, { message: "Repository access blocked" }, undefined],
    ["a 403 of a proxy", 403, {}, "<html>Forbidden</html>", undefined],
    ["a 403 without a body", 403, left, null, undefined],
    ["a wrong request", 400, spent, { message: "Problems parsing JSON" }, undefined],
    ["a page that does not exist", 404, spent, { message: "Not Found" }, undefined],
    ["an error of the server", 502, left, { message: "Server Error" }, undefined],
    ["an answer", 200, spent, { id: 1 }, undefined],
  ]);
});

describe("aws", () => {
  const xml = (code: string): string => `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>Please reduce your request rate.</Message><RequestId>1</RequestId></Error>`;
  check(aws.refusal, [
    ["DynamoDB", 400, {}, { __type: "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", message: "The level of configured provisioned throughput was exceeded." }, byFields],
    ["SQS over JSON", 403, {}, { __type: "com.amazonaws.sqs#RequestThrottled", message: "Request is throttled." }, byFields],
    ["Bedrock", 429, { "x-amzn-errortype": "ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/" }, { message: "Too many requests" }, byFields],
    ["API Gateway", 429, { "x-amzn-errortype": "TooManyRequestsException" }, { message: "Too Many Requests" }, byFields],
    ["a usage plan that is used up", 429, { "x-amzn-errortype": "LimitExceededException" }, { message: "Limit Exceeded" }, byFields],
    ["a code of REST JSON in the body", 400, {}, { code: "ThrottledException" }, byFields],
    ["S3", 503, {}, xml("SlowDown"), byFields],
    ["EC2", 503, {}, "<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>Request limit exceeded.</Message></Error></Errors></Response>", byFields],
    ["IAM and STS", 400, {}, '<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><Error><Type>Sender</Type><Code>Throttling</Code></Error></ErrorResponse>', byFields],
    ["a query protocol in JSON", 400, { "x-amzn-query-error": "RequestThrottled;Sender" }, null, byFields],
    ["an error of a query API as JSON", 400, {}, { Error: { Code: "Throttling", Message: "Rate exceeded" } }, byFields],
    ["a code with a capital", 400, {}, { Code: "ThrottlingException" }, byFields],
    ["a wait in milliseconds", 400, { "x-amz-retry-after": "1500" }, { __type: "ThrottlingException" }, { waitMs: 1_500 }],
    ["a wait that cannot be read", 400, { "x-amz-retry-after": "soon" }, { __type: "ThrottlingException" }, byFields],
    ["a request that does not validate", 400, { "x-amzn-errortype": "ValidationException:" }, { message: "1 validation error detected" }, undefined],
    ["a condition that failed", 400, {}, { __type: "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException" }, undefined],
    ["a missing permission", 403, { "x-amzn-errortype": "AccessDeniedException" }, { Message: "User is not authorized" }, undefined],
    ["a wrong signature", 403, {}, xml("SignatureDoesNotMatch"), undefined],
    ["an expired token", 400, {}, { __type: "ExpiredTokenException" }, undefined],
    ["an outage", 503, {}, xml("ServiceUnavailable"), undefined],
    ["a code that only contains one", 400, {}, { __type: "NotThrottlingException", code: "SlowDownPlease" }, undefined],
    ["a 429 of something else", 429, {}, "", undefined],
    ["no body", 400, {}, null, undefined],
    ["a status that AWS does not use for it", 404, { "x-amzn-errortype": "ThrottlingException" }, null, undefined],
    ["an answer", 200, {}, { __type: "ThrottlingException" }, undefined],
  ]);

  test("codes of a long body take no time", () => {
    // Reading that took quadratic time would run into the timeout.
    for (const body of ["<Code>".repeat(1_000_000), "<Code>" + "a".repeat(5_000_000), "<Code>a</Code".repeat(500_000)]) {
      expect(aws.refusal(new Response(null, { status: 503 }), body)).toBeUndefined();
    }
    expect(aws.refusal(new Response(null, { status: 400 }), { __type: "#:".repeat(2_000_000) })).toBeUndefined();
  });
});

describe("gemini", () => {
  const retryInfo = (retryDelay: unknown): object => ({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay });
  const quota = (...quotaIds: string[]): object => ({
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    violations: quotaIds.map((quotaId) => ({ quotaMetric: "generativelanguage.googleapis.com/generate_content_free_tier_requests", quotaId, quotaValue: "15" })),
  });
  const error = (...details: object[]): object => ({ error: { code: 429, message: "You exceeded your current quota.", status: "RESOURCE_EXHAUSTED", details } });
  const legacy = (reason: string): object => ({ error: { code: 403, message: "Rate Limit Exceeded", errors: [{ domain: "usageLimits", reason }] } });
  const perMinute = quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier");
  const perDay = quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "GenerateRequestsPerDayPerProjectPerModel-FreeTier");
  check(gemini.refusal, [
    ["a quota per minute", 429, {}, error(perMinute, retryInfo("27s")), { waitMs: 27_000 }],
    ["half a second", 429, {}, error(retryInfo("0.5s")), { waitMs: 500 }],
    ["nanoseconds, rounded up", 429, {}, error(perMinute, retryInfo("10.689924287s")), { waitMs: 10_690 }],
    ["0 seconds", 429, {}, error(retryInfo("0s")), { waitMs: 0 }],
    ["a stream, whose error is in a list", 429, {}, [error(perMinute, retryInfo("27s"))], { waitMs: 27_000 }],
    ["an overloaded model", 503, {}, { error: { code: 503, status: "UNAVAILABLE", details: [retryInfo("4s")] } }, { waitMs: 4_000 }],
    ["a quota per day, with the delay of a minute", 429, {}, error(perDay, retryInfo("22s")), never],
    ["a quota per day, without a delay", 429, {}, error(perDay), never],
    ["a quota per day, with the delay of the day", 429, {}, error(perDay, retryInfo("36925s")), { waitMs: 36_925_000 }],
    ["a delay in other forms", 429, {}, error(retryInfo("27"), retryInfo("27s")), undefined],
    ["a negative delay", 429, {}, error(retryInfo("-1s")), undefined],
    ["a delay that is a number", 429, {}, error(retryInfo(27)), undefined],
    ["a quota without a delay", 429, {}, error(perMinute), undefined],
    ["no details", 429, {}, { error: { code: 429, status: "RESOURCE_EXHAUSTED" } }, undefined],
    ["details that are none", 429, {}, { error: { details: "many" } }, undefined],
    ["an outage without a delay", 503, {}, { error: { code: 503, status: "UNAVAILABLE" } }, undefined],
    ["no JSON", 429, {}, "<html></html>", undefined],
    ["a wrong request", 400, {}, { error: { code: 400, status: "INVALID_ARGUMENT", details: [retryInfo("27s")] } }, undefined],
    ["a missing permission", 403, {}, { error: { code: 403, status: "PERMISSION_DENIED" } }, undefined],
    ["a 403 for a rate", 403, {}, legacy("rateLimitExceeded"), byFields],
    ["a 403 for a user's rate", 403, {}, legacy("userRateLimitExceeded"), byFields],
    ["a 403 for a rate in the newer form", 403, {}, { error: { code: 403, status: "PERMISSION_DENIED", details: [{ reason: "RATE_LIMIT_EXCEEDED" }] } }, byFields],
    ["a 403 for a rate with a delay", 403, {}, { error: { errors: [{ reason: "rateLimitExceeded" }], details: [retryInfo("9s")] } }, { waitMs: 9_000 }],
    ["a 403 for a spent day", 403, {}, legacy("dailyLimitExceeded"), never],
    ["a 403 for a spent quota", 403, {}, legacy("quotaExceeded"), never],
    ["a 403 for a scope", 403, {}, legacy("insufficientPermissions"), undefined],
    ["a 429 for a rate in the older form", 429, {}, legacy("rateLimitExceeded"), undefined],
    ["a quota per day that the metadata name", 429, {}, error({ reason: "RATE_LIMIT_EXCEEDED", metadata: { quota_limit: "Gemini25ProRequestsPerDay" } }, retryInfo("22s")), never],
    ["an outage whose quota is spent", 503, {}, legacy("quotaExceeded"), undefined],
    ["an answer", 200, {}, error(retryInfo("27s")), undefined],
  ]);
});

describe("openai", () => {
  const rate = { error: { message: "Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM).", type: "tokens", param: null, code: "rate_limit_exceeded" } };
  const unpaid = { error: { message: "You exceeded your current quota, please check your plan and billing details.", type: "insufficient_quota", param: null, code: "insufficient_quota" } };
  const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  const yes = { "x-should-retry": "true" };
  const no = { "x-should-retry": "false" };
  check(openai.refusal, [
    ["a limit", 429, { "retry-after-ms": "820", "x-ratelimit-remaining-tokens": "0" }, rate, undefined],
    ["a limit that may be retried", 429, { ...yes, "retry-after": "9" }, rate, byFields],
    ["a limit that may not be retried", 429, no, rate, never],
    ["a credit that is used up", 429, {}, unpaid, never],
    ["a credit that is used up, by its type alone", 429, {}, { error: { type: "insufficient_quota", code: null } }, never],
    ["a credit that is used up, whatever the field says", 429, yes, unpaid, never],
    ["an account that is not active", 429, yes, { error: { type: "billing_not_active", code: "billing_not_active" } }, never],
    ["an account at its hard limit", 429, {}, { error: { type: "invalid_request_error", code: "billing_hard_limit_reached" } }, never],
    ["a server that is overloaded", 529, yes, overloaded, byFields],
    ["a conflict that may be retried", 409, yes, { error: { code: "conflict" } }, byFields],
    ["a pause that may not be waited out", 503, { ...no, "retry-after": "5" }, { error: { message: "down" } }, null],
    ["an error of the server that may not be retried", 500, no, { error: { message: "down" } }, null],
    ["an error of the server", 500, {}, { error: { message: "down" } }, undefined],
    ["a wrong request", 400, no, { error: { type: "invalid_request_error", code: null } }, undefined],
    ["a wrong key", 401, no, { error: { code: "invalid_api_key" } }, undefined],
    ["a country without the service", 403, no, { error: { code: "unsupported_country_region_territory" } }, undefined],
    ["another status with that code", 400, {}, unpaid, undefined],
    ["no JSON", 429, {}, "Too many requests", undefined],
    ["an answer", 200, yes, { id: "chatcmpl-1" }, undefined],
  ]);
});

test("no response makes a hook throw or give a wait that is none", () => {
  const name = fc.constantFrom("message", "__type", "code", "error", "type", "details", "@type", "retryDelay", "violations", "quotaId", "toString", "__proto__");
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 5 }, fc.constantFrom(null, 5, true, "27s", "SlowDown", "google.rpc.RetryInfo", "PerDay", "rate limit"), fc.string(), fc.array(tie("value"), { maxLength: 3 }), fc.dictionary(name, tie("value"), { maxKeys: 4 })),
  }));
  const header = fc.dictionary(fc.constantFrom("x-should-retry", "retry-after", "x-amzn-errortype", "x-amz-retry-after", "x-ratelimit-remaining"), fc.constantFrom("true", "false", "0", "5", "SlowDown", ":#"));
  fc.assert(
    fc.property(fc.constantFrom(400, 403, 429, 500, 503), header, value, (status, headers, body) => {
      for (const hook of [aws.refusal, gemini.refusal, github.refusal, openai.refusal]) {
        const verdict = hook(new Response(null, { status, headers }), body);
        expect(verdict?.waitMs ?? 0).toBeGreaterThanOrEqual(0);
      }
    }),
    { numRuns: 300 },
  );
});

describe("in a client", () => {
  const answer = (status: number, headers: Record<string, string>, body: unknown) => () => new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });

  test("GitHub's 403 is waited out for a minute, and a 403 for a permission comes back", async () => {
    const { fetch, sent, time } = talk([answer(403, {}, { message: "You have exceeded a secondary rate limit." })], { vendor: github });
    expect(await (await time.run(fetch(URL_A))).text()).toBe("answer 2");
    expect(sent.map(({ at }) => at)).toEqual([0, 60_000]);
    const forbidden = talk([answer(403, {}, { message: "Resource not accessible by integration" })], { vendor: github });
    expect((await forbidden.fetch(URL_A)).status).toBe(403);
  });

  const google = (...details: object[]): object => ({ error: { code: 429, details } });
  const retryInfo = google({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "300s" });
  const perDay = google({ "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId: "RequestsPerDay" }] });
  const spent = { error: { code: "insufficient_quota" } };
  test.each<[what: string, vendor: Vendor[], body: unknown, headers: Record<string, string>, waitMs: number]>([
    ["nothing states one", [github], {}, {}, 60_000],
    ["no vendor states one", [github, openai, gemini, aws], {}, {}, 60_000],
    ["a field states one", [openai, github], {}, { "retry-after": "5" }, 5_000],
    ["the body states one", [github], { errors: [{ extensions: { retry_in_seconds: 300 } }] }, {}, 300_000],
    ["the body states one, behind another vendor", [openai, github], { parameters: { retry_after: 300 } }, {}, 300_000],
    ["a later vendor reads one in the body", [github, gemini], retryInfo, {}, 300_000],
    ["the last of three vendors reads one in the body", [github, aws, gemini], retryInfo, {}, 300_000],
    ["an earlier vendor reads one in the body", [gemini, github], retryInfo, {}, 300_000],
    ["a later vendor knows that none helps", [github, openai], spent, {}, Infinity],
    ["a later vendor knows that none helps, whatever the fields state", [github, openai], spent, { "retry-after": "5" }, Infinity],
    ["a later vendor sees that the server forbids it", [github, openai], {}, { "x-should-retry": "false" }, Infinity],
    ["a later vendor sees a quota per day", [github, gemini], perDay, {}, Infinity],
  ])("GitHub's minute counts only when nothing else states a wait: %s", async (_, vendor, body, headers, waitMs) => {
    const { fetch } = talk([answer(429, headers, body)], { vendor });
    expect(await givenUp(fetch(URL_A, { maxAttempts: 1 }))).toMatchObject({ waitMs });
  });

  test("GitHub's spent hour gives up with its wait", async () => {
    const time = new FakeTime();
    const reset = `${Math.ceil(time.wallNow() / 1_000) + 1_800}`;
    const { fetch, sent } = talk([answer(403, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset }, {})], { vendor: github }, time);
    const error = await givenUp(fetch(URL_A));
    expect(error.reason).toBe("wait_too_long");
    expect(error.waitMs).toBeGreaterThan(1_790_000);
    expect(sent).toHaveLength(1);
  });

  test("throttling by AWS is waited out: a POST only when the call says so", async () => {
    const throttled = answer(400, { "x-amz-retry-after": "1500" }, { __type: "com.amazonaws.dynamodb.v20120810#ThrottlingException" });
    const { fetch, sent, time } = talk([throttled], { vendor: aws });
    expect(await (await time.run(fetch(URL_A, { method: "POST", body: "{}", retry: true }))).text()).toBe("answer 2");
    expect(sent.map(({ at }) => at)).toEqual([0, 1_500]);
    expect((await givenUp(talk([throttled], { vendor: aws }).fetch(URL_A, { method: "POST" }))).reason).toBe("not_repeatable");
  });

  test("a credit that is used up gives up at once", async () => {
    const unpaid = answer(429, { "retry-after": "1" }, { error: { code: "insufficient_quota", message: "You exceeded your current quota." } });
    const { fetch, sent } = talk([unpaid], { vendor: openai });
    expect(await givenUp(fetch(URL_A))).toMatchObject({ reason: "wait_too_long", waitMs: Infinity, serverCode: "insufficient_quota" });
    expect(sent).toHaveLength(1);
  });

  test("Gemini's delay is waited", async () => {
    const { fetch, sent, time } = talk([answer(429, {}, { error: { details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "2.5s" }] } })], { vendor: gemini });
    await time.run(fetch(URL_A));
    expect(sent.map(({ at }) => at)).toEqual([0, 2_500]);
  });
});
