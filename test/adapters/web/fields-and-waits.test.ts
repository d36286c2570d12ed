/** What authors of adapters get beside the gate: fields as a record, the wait in seconds, and the whole response. */
import { createLimiter, type Decision, MemoryStore } from "sluice";
import { createGate, fieldRecord, retryAfterSeconds, type GateOptions, type PassVerdict, type RefuseVerdict } from "sluice/http";
import { refusalResponse, webReader } from "sluice/web";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";

const ORIGIN = { Origin: "https://app.example" };
const FIELDS = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "ratelimit-policy", "ratelimit"];

/** The verdicts on an allowed request and on a refused one. */
async function verdicts(headers: Record<string, string> = {}, options: Partial<GateOptions<Request>> = {}): Promise<[PassVerdict, RefuseVerdict]> {
  const policy = { name: "small", capacity: 1, refill: { tokens: 1, everyMs: 2_500 } };
  const gate = createGate<Request>({ policy, key: () => "ann", store: new MemoryStore({ clock: new ManualClock().now }), ...options } as GateOptions<Request>, webReader);
  const request = new Request("http://localhost/", { headers });
  return [(await gate(request)) as PassVerdict, (await gate(request)) as RefuseVerdict];
}

describe("fieldRecord", () => {
  test("has every field of the verdict by its lower-case name", async () => {
    const [pass, refuse] = await verdicts();
    expect(Object.keys(fieldRecord(pass))).toEqual(FIELDS);
    expect(fieldRecord(pass)).toMatchObject({ "ratelimit-remaining": "0", "ratelimit-reset": "3" });
    expect(fieldRecord(refuse)).toMatchObject({ "retry-after": "3", "cache-control": "no-store", "content-type": "application/problem+json", "content-length": String(refuse.body.length) });
  });

  test("37 · names the fields for scripts of another origin, after the names that are exposed already", async () => {
    const [pass, refuse] = await verdicts(ORIGIN);
    const exposed = (verdict: PassVerdict | RefuseVerdict, present?: unknown): unknown => fieldRecord(verdict, present)["access-control-expose-headers"];
    expect(exposed(pass)).toBe(pass.expose.join(", "));
    expect(exposed(refuse, "X-Request-Id, RateLimit")).toBe(["X-Request-Id", "RateLimit", ...refuse.expose.filter((name) => name !== "RateLimit")].join(", "));
    expect(exposed(refuse, ["X-A", "X-B"])).toMatch(/^X-A, X-B, /);
  });

  test("leaves the exposed names alone for a request of the same origin", async () => {
    for (const verdict of await verdicts()) expect(fieldRecord(verdict, "X-Request-Id")).not.toHaveProperty("access-control-expose-headers");
  });

  test("is plain data of its own: a field may have any name, and two calls share nothing", async () => {
    const [pass] = await verdicts();
    const record = fieldRecord({ ...pass, fields: ["__proto__", "1", "constructor", "2"] });
    expect(JSON.stringify(record)).toBe('{"__proto__":"1","constructor":"2"}');
    record["x"] = "3";
    expect(fieldRecord(pass)["x"]).toBeUndefined();
  });
});

describe("refusalResponse", () => {
  test("12 · is the whole response, without a body for HEAD", async () => {
    const [, refuse] = await verdicts();
    const response = await refusalResponse(refuse, new Request("http://localhost/"));
    expect([response.status, response.headers.get("Retry-After"), await response.text()]).toEqual([429, "3", refuse.body]);
    const head = await refusalResponse(refuse, { method: "HEAD" });
    expect([head.status, head.headers.get("Content-Length"), await head.text()]).toEqual([429, String(refuse.body.length), ""]);
  });
});

describe("retryAfterSeconds", () => {
  const decide = (everyMs: number, cost = 1): Decision[] => {
    const limiter = createLimiter({ policy: { capacity: 1, refill: { tokens: 1, everyMs } }, store: new MemoryStore({ clock: new ManualClock().now }) });
    return [limiter.consume("ann"), limiter.consume("ann", cost)];
  };

  test.each([[1, 1], [999, 1], [1_000, 1], [1_001, 2], [3_600_000, 3_600]])("a wait of %i ms is %i s, as in Retry-After", async (everyMs, seconds) => {
    expect(retryAfterSeconds(decide(everyMs)[1] as Decision)).toBe(seconds);
    const [, refuse] = await verdicts({}, { policy: { capacity: 1, refill: { tokens: 1, everyMs } } });
    expect(fieldRecord(refuse)["retry-after"]).toBe(String(seconds));
  });

  test("is null when there is nothing to wait for: the request is allowed, or can never be", () => {
    const [allowed, tooMuch] = decide(1_000, 2);
    expect([allowed, tooMuch].map((decision) => retryAfterSeconds(decision as Decision))).toEqual([null, null]);
    expect(tooMuch).toMatchObject({ reason: "cost_above_capacity", retryAfterMs: Infinity });
  });

  test("is 1 for a refusal whose wait is 0, as a store of your own may say", () => {
    const [, refused] = decide(1_000) as [Decision, Decision];
    expect(retryAfterSeconds({ ...refused, retryAfterMs: 0 })).toBe(1);
  });
});
