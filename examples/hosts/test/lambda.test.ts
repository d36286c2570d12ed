import { MemoryStore } from "sluice";
// The example for AWS Lambda, with events as an HTTP API sends them (payload format 2.0).
import type { APIGatewayProxyEventV2, Context } from "aws-lambda";
import type { Outcome } from "sluice/http";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { rateLimit } from "../servers/lambda.js";

const context = { awsRequestId: "b1a7", functionName: "inbox" } as Context;

/** An event of an HTTP API with a JWT authorizer. Names of header fields are in lower case. */
function eventOf(user: string | undefined, { method = "GET", headers = {} }: { method?: string; headers?: Record<string, string> } = {}): APIGatewayProxyEventV2 {
  const jwt = { claims: user === undefined ? {} : { sub: user }, scopes: [] };
  return {
    version: "2.0",
    routeKey: `${method} /inbox`,
    rawPath: "/inbox",
    rawQueryString: "",
    cookies: ["theme=dark"],
    headers: { accept: "*/*", "content-length": "0", host: "abc123.execute-api.eu-central-1.amazonaws.com", ...headers },
    requestContext: {
      accountId: "123456789012",
      apiId: "abc123",
      authorizer: { jwt },
      domainName: "abc123.execute-api.eu-central-1.amazonaws.com",
      domainPrefix: "abc123",
      http: { method, path: "/inbox", protocol: "HTTP/1.1", sourceIp: "192.0.2.1", userAgent: "test" },
      requestId: "JKJaXmPLvHcESHA=",
      routeKey: `${method} /inbox`,
      stage: "$default",
      time: "22/Nov/2026:12:00:00 +0000",
      timeEpoch: 1_795_348_800_000,
    },
    isBase64Encoded: false,
  } as APIGatewayProxyEventV2;
}

type Options = Parameters<typeof rateLimit>[0];

function limit(options: Partial<Options> = {}) {
  const clock = new ManualClock();
  const policy = { name: "inbox", capacity: 2, refill: { tokens: 1, everyMs: 1_500 } };
  type Authorized = { requestContext: { authorizer: { jwt: { claims: { sub?: string } } } } };
  const key = (event: APIGatewayProxyEventV2) => ["user", (event as unknown as Authorized).requestContext.authorizer.jwt.claims.sub] as const;
  return { clock, limited: rateLimit({ policy, key, store: new MemoryStore({ clock: clock.now }), ...options } as Options) };
}

test("an allowed event gets the handler's result, cookies and body included, and the fields", async () => {
  const { limited } = limit();
  const seen: unknown[] = [];
  const handler = limited(async (event, given) => {
    seen.push(event.rawPath, given);
    return { statusCode: 201, headers: { "Content-Type": "application/json", "X-Messages": 3 }, cookies: ["a=1; Secure", "b=2"], body: '{"messages":[]}', isBase64Encoded: false };
  });
  const result = await handler(eventOf("ann"), context);
  expect(seen).toEqual(["/inbox", context]);
  expect(result).toMatchObject({ statusCode: 201, cookies: ["a=1; Secure", "b=2"], body: '{"messages":[]}', isBase64Encoded: false });
  expect({ ...result.headers }).toEqual({
    "content-type": "application/json",
    "x-messages": 3,
    "ratelimit-limit": "2",
    "ratelimit-remaining": "1",
    "ratelimit-reset": "2",
    "ratelimit-policy": '"inbox";q=2;w=3',
    ratelimit: '"inbox";r=1;t=2',
  });
  expect(JSON.parse(JSON.stringify(result))).toEqual(result); // as Lambda sends it
});

test("a refused event gets a 429 with its document, the handler is not called, and the wait is right", async () => {
  const { clock, limited } = limit();
  let calls = 0;
  const handler = limited(async () => ({ statusCode: 200, body: String((calls += 1)) }));
  for (let i = 0; i < 2; i++) await handler(eventOf("ann"), context);
  const refused = await handler(eventOf("ann"), context);
  expect([refused.statusCode, refused.headers?.["retry-after"], refused.headers?.["cache-control"], refused.headers?.["content-type"]]).toEqual([429, "2", "no-store", "application/problem+json"]);
  expect(Object.keys(refused.headers ?? {})).not.toContain("content-length");
  expect(JSON.parse(refused.body ?? "")).toMatchObject({ status: 429, code: "rate_limited", retry_after: 2 });
  expect((await handler(eventOf("bob"), context)).statusCode).toBe(200);
  expect(await handler(eventOf("ann", { method: "HEAD" }), context)).toMatchObject({ statusCode: 429, body: "" });
  clock.advance(1_500);
  expect((await handler(eventOf("ann"), context)).statusCode).toBe(200);
  expect(calls).toBe(4);
});

test("the handler's own fields win in any case, and the exposed names are joined", async () => {
  const handler = limit().limited(async () => ({ headers: { "RateLimit-Remaining": "777", "Access-Control-Expose-Headers": "X-Messages" } }));
  const { headers = {} } = await handler(eventOf("ann", { headers: { origin: "https://app.example" } }), context);
  expect(Object.entries(headers).filter(([name]) => name.toLowerCase() === "ratelimit-remaining")).toEqual([["ratelimit-remaining", "777"]]);
  expect(headers["access-control-expose-headers"]).toMatch(/^X-Messages, RateLimit-Limit, /);
});

test("costs are settled before the result is returned, and know the status, also of a handler that throws", async () => {
  const outcomes: Outcome[] = [];
  const { limited } = limit({ actualCost: (outcome) => (outcomes.push(outcome) > 0 && outcome.status >= 400 ? 0 : undefined) });
  const handler = limited(async (event) => {
    if (event.headers["x-fails"] === "yes") throw new Error("the handler fails");
    return { statusCode: event.headers["x-missing"] === "yes" ? 404 : 200 };
  });
  const remaining = async (headers: Record<string, string>): Promise<unknown> => (await handler(eventOf("ann", { headers }), context)).headers?.["ratelimit-remaining"];
  expect(await remaining({ "x-missing": "yes" })).toBe("1");
  await expect(handler(eventOf("ann", { headers: { "x-fails": "yes" } }), context)).rejects.toThrow("the handler fails");
  expect(await remaining({})).toBe("1");
  expect(outcomes).toEqual([404, 500, 200].map((status) => ({ status, aborted: false })));
});

test("a skipped event gets the handler's result as it is, and an event without a user a 401", async () => {
  const skipping = limit({ skip: () => true }).limited(async () => ({ statusCode: 204 }));
  expect(await skipping(eventOf("ann"), context)).toEqual({ statusCode: 204 });
  const refusing = limit({ unidentified: "refuse" }).limited(async () => ({ statusCode: 200 }));
  expect(await refusing(eventOf(undefined), context)).toMatchObject({ statusCode: 401, headers: { "www-authenticate": "Bearer" } });
});

test("`respond` answers a refusal with an object or a Response, and an `unidentified` function a 401", async () => {
  const seen: unknown[] = [];
  const { limited } = limit({
    respond: ({ retryAfter }, event, given) => {
      seen.push([event.rawPath, given]);
      return seen.length === 1 ? { wait: retryAfter } : new Response("slow down", { status: 420, headers: [["X-Own", "yes"], ["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"]] });
    },
    unidentified: ({ status }) => ({ status }),
  });
  const handler = limited(async () => ({ statusCode: 204 }));
  for (let i = 0; i < 2; i++) await handler(eventOf("ann"), context);
  const [object, response, unknown] = [await handler(eventOf("ann"), context), await handler(eventOf("ann"), context), await handler(eventOf(undefined), context)];
  expect(object).toMatchObject({ statusCode: 429, body: '{"wait":2}', headers: { "content-type": "application/json", "retry-after": "2", "cache-control": "no-store" } });
  expect(response).toMatchObject({ statusCode: 420, body: "slow down", cookies: ["a=1", "b=2"], headers: { "x-own": "yes", "retry-after": "2" } });
  expect(unknown).toMatchObject({ statusCode: 401, body: '{"status":401}' });
  expect(seen).toEqual([["/inbox", context], ["/inbox", context]]);
});
