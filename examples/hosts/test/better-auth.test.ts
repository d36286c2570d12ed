// better-auth with its own rules in a store of sluice.
import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { rateLimitStorage } from "../servers/better-auth.js";

function serve() {
  const clock = new ManualClock();
  const auth = betterAuth({
    baseURL: "http://localhost", secret: "a secret of thirty-two characters", database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
    emailAndPassword: { enabled: true }, telemetry: { enabled: false }, logger: { disabled: true },
    rateLimit: { enabled: true, customStorage: rateLimitStorage(new MemoryStore({ clock: clock.now })), customRules: { "/ok": { window: 10, max: 2 } } },
  });
  const ask = (path: string, body?: object, address = "192.0.2.1") => {
    const headers = { "x-forwarded-for": address, "content-type": "application/json", origin: "http://localhost" };
    return auth.handler(new Request(`http://localhost/api/auth${path}`, { headers, ...(body && { method: "POST", body: JSON.stringify(body) }) }));
  };
  return { clock, ask };
}

test("better-auth's own rule for sign-ins holds: 3 in any 10 seconds, exactly", async () => {
  const { clock, ask } = serve();
  const signIn = (address?: string) => ask("/sign-in/email", { email: "ann@example.com", password: "wrong password" }, address);
  for (let i = 0; i < 3; i++) expect((await signIn()).status).toBe(401);
  clock.advance(4_000);
  const refused = await signIn();
  expect([refused.status, refused.headers.get("x-retry-after")]).toEqual([429, "6"]);
  expect((await signIn("192.0.2.2")).status).toBe(401);
  clock.advance(5_999);
  expect((await signIn()).status).toBe(429);
  clock.advance(1);
  expect((await signIn()).status).toBe(401);
});

test("a custom rule holds as well, and of calls at once no more pass", async () => {
  const { ask } = serve();
  const all = await Promise.all(Array.from({ length: 10 }, () => ask("/ok")));
  expect(all.filter(({ status }) => status === 200)).toHaveLength(2);
  expect(all.filter(({ status }) => status === 429)).toHaveLength(8);
});
