// Makes the answers that the documentation quotes: `<!-- docs: answer name -->` above an http block.
import { expect } from "vitest";
import { rateLimit, type WebRateLimitOptions } from "../../src/adapters/web.js";
import { draft11, draft7, retryAfterDate, xRateLimit } from "../../src/http/index.js";
import { MemoryStore, perDay, perMinute, perSecond, type AsyncStore, type PolicyOptions } from "../../src/index.js";
import { adaptive } from "sluice/adaptive";
import { guard } from "sluice/store";
import { storeOf } from "./store-of.js";

const interactive: PolicyOptions = { name: "interactive", capacity: 10, refill: perSecond(2) };
const bulk: PolicyOptions = { name: "bulk", capacity: 3, refill: { tokens: 1, everyMs: 10_000 } };
const api: PolicyOptions = {
  name: "api",
  limits: [
    { name: "burst", capacity: 20, refill: perSecond(10) },
    { name: "day", capacity: 5_000, refill: perDay(5_000) },
  ],
};
/** The policy of examples/quick-start. */
const quickStart: PolicyOptions = { name: "api", refill: perMinute(100) };
const broken: AsyncStore = storeOf({ sync: false, guard: guard(), clock: "server", consume: () => Promise.reject(new Error("connection refused")) });
const clock = (): number => Date.UTC(2026, 0, 1);

/** The last of `count` answers to one caller at one instant. */
function after(count: number, options: Partial<WebRateLimitOptions>, headers: Record<string, string> = {}): () => Promise<Response> {
  return async () => {
    const all = { policy: interactive, key: () => ["user", "42"], store: new MemoryStore({ clock: () => 0 }), ...options };
    const handler = rateLimit(all as WebRateLimitOptions)(() => Response.json({ messages: [] }));
    let answer: Response | undefined;
    for (let i = 0; i < count; i++) {
      await answer?.text(); // a request is in flight until its answer was read
      answer = await handler(new Request("http://localhost/inbox", { headers }));
    }
    return answer as Response;
  };
}

/** The answers, by name. The caller is always `["user", "42"]`, and the clock does not move. */
export const answers: Readonly<Record<string, () => Promise<Response>>> = {
  "inbox 200": after(1, {}),
  "inbox 429": after(11, {}),
  "bulk 429": after(4, { policy: bulk }),
  "api 200": after(1, { policy: api }),
  "quick-start 200": after(1, { policy: quickStart }),
  "quick-start 429": after(101, { policy: quickStart }),
  "cost 400": after(1, { cost: () => 11 }),
  "unidentified 401": after(1, { key: () => null, unidentified: "refuse" }),
  async "overloaded 503"() {
    const { limiter } = adaptive({ most: 1, random: () => 0.5 });
    limiter.consume("service");
    return rateLimit({ limiter, key: () => "service" })(() => new Response("hello"))(new Request("http://localhost/"));
  },
  "store 503": after(1, { store: broken, onStoreError: "unavailable" }),
  "date 429": after(4, { policy: bulk, headers: [retryAfterDate({ clock })] }),
  "cors 200": after(1, {}, { origin: "https://app.example" }),
  "partition 200": after(1, { headers: [draft11({ partitionKey: () => new Uint8Array([1, 2, 3, 4, 5, 6]) })] }),
  "draft-7 200": after(2, { policy: bulk, headers: [draft7()] }),
  "x-ratelimit 200": after(2, { policy: bulk, headers: [xRateLimit({ clock })] }),
};

// Node adds these to every answer.
const BY_NODE = new Set(["date", "connection", "keep-alive"]);

/**
 * Compares a quoted answer with a real one. A quotation with a status line is compared whole. Any other quotes all
 * RateLimit fields, and only these.
 */
export async function sameAnswer(quoted: string, answer: Response): Promise<void> {
  const [head = "", body = ""] = quoted.split("\n\n");
  const lines = head.split("\n");
  const whole = lines[0]?.startsWith("HTTP/1.1 ") === true;
  if (whole) expect(Number(lines.shift()?.slice(9, 12))).toBe(answer.status);
  const fields = lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)]);
  const real = [...answer.headers].filter(([name]) => !BY_NODE.has(name) && (whole || /ratelimit|retry-after/.test(name)));
  expect(Object.fromEntries(fields)).toEqual(Object.fromEntries(real));
  if (body !== "") expect(await answer.json()).toEqual(JSON.parse(body));
}
