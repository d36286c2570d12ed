// How to test your app with its limits: pass a clock, and time passes only when the test moves it.
import assert from "node:assert/strict";
import { perSecond, MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { rateLimit } from "sluice/web";

const users = new Map([["Bearer token-of-ann", "ann"]]);

const clock = new ManualClock();
const limited = rateLimit({
  policy: { name: "interactive", capacity: 10, refill: perSecond(2) },
  key: (request) => ["user", users.get(request.headers.get("authorization") ?? "")],
  store: new MemoryStore({ clock: clock.now }),
});
const app = limited(() => new Response("hello"));
const ask = async (): Promise<Response> => app(new Request("http://localhost/", { headers: { Authorization: "Bearer token-of-ann" } }));

for (let i = 0; i < 10; i++) assert.equal((await ask()).status, 200);

const refused = await ask();
assert.equal(refused.status, 429);
assert.equal(refused.headers.get("Retry-After"), "1");

clock.advance(499);
assert.equal((await ask()).status, 429);
clock.advance(1);
assert.equal((await ask()).status, 200);
