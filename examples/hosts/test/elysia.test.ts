// The plugin for Elysia, in an app of Elysia.
import { Elysia } from "elysia";
import { MemoryStore, whenDone } from "sluice";
import type { Outcome } from "sluice/http";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { until } from "../../../test/helpers/soon.js";
import { rateLimit } from "../servers/elysia.js";

interface User { readonly user: { readonly id: string } | undefined }
type Options = Parameters<typeof rateLimit<User>>[0];

/** An app behind a sign-in, its clock, and what it answers. */
function serve(options: Partial<Options> = {}) {
  const clock = new ManualClock();
  const policy = { name: "api", capacity: 2, refill: { tokens: 1, everyMs: 1_500 } };
  const limits = { policy, key: ({ user }: User) => ["user", user?.id], unidentified: "refuse", store: new MemoryStore({ clock: clock.now }), ...options } as Options;
  const auth = new Elysia().derive({ as: "scoped" }, ({ headers }) => ({ user: headers["x-user"] === undefined ? undefined : { id: headers["x-user"] } }));
  const app = new Elysia()
    .get("/open", () => "open") // before the plugin: not limited
    .use(auth)
    .use(rateLimit<User>(limits))
    .get("/inbox", ({ user, status, headers }) => (headers["x-missing"] ? status(404, "missing") : `inbox of ${user?.id}`))
    .get("/broken", () => new Response("broken", { status: 503 }))
    .get("/throws", () => { throw new Error("the handler fails"); });
  const get = (path = "/inbox", user: string | null = "ann", headers = {}) => app.handle(new Request(`http://localhost${path}`, { headers: { ...(user !== null && { "x-user": user }), ...headers } }));
  return { clock, get };
}

test("each user has a limit: fields on responses, a 429 with its document, and the wait is right", async () => {
  const { clock, get } = serve();
  const first = await get();
  expect([first.status, await first.text(), first.headers.get("ratelimit-remaining")]).toEqual([200, "inbox of ann", "1"]);
  await get();
  const refused = await get();
  expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("cache-control"), refused.headers.get("content-type")]).toEqual([429, "2", "no-store", "application/problem+json"]);
  expect(await refused.json()).toMatchObject({ code: "rate_limited", retry_after: 2 });
  expect((await get("/inbox", "bob")).status).toBe(200);
  expect((await get("/inbox", null)).status).toBe(401);
  const open = await get("/open", null);
  expect([open.status, open.headers.has("ratelimit-limit")]).toEqual([200, false]);
  clock.advance(1_500);
  expect((await get()).status).toBe(200);
});

test("the fields are on a response of `status`, and on that of a handler that throws", async () => {
  const { get } = serve();
  const missing = await get("/inbox", "ann", { "x-missing": "yes" });
  expect([missing.status, missing.headers.get("ratelimit-remaining")]).toEqual([404, "1"]);
  const thrown = await get("/throws");
  expect([thrown.status, thrown.headers.get("ratelimit-remaining")]).toEqual([500, "0"]);
});

test("`respond` and an `unidentified` function answer, and `skip` skips", async () => {
  const seen: unknown[] = [];
  const { get } = serve({
    respond: ({ retryAfter }, { path }) => (seen.push(path), Response.json({ wait: retryAfter }, { status: 420 })),
    unidentified: ({ status }) => ({ status }),
    skip: ({ headers }) => headers["x-skip"] === "yes",
  });
  for (let i = 0; i < 2; i++) await get();
  const refused = await get();
  expect([refused.status, await refused.json(), refused.headers.get("retry-after"), seen]).toEqual([420, { wait: 2 }, "2", ["/inbox"]]);
  const skipped = await get("/inbox", "ann", { "x-skip": "yes" });
  expect([skipped.status, skipped.headers.has("ratelimit-limit")]).toEqual([200, false]);
  const unknown = await get("/inbox", null);
  expect([unknown.status, await unknown.json()]).toEqual([401, { status: 401 }]);
});

test("the work ends with the response: costs are settled, and places in flight come back", async () => {
  const outcomes: Outcome[] = [];
  const { get } = serve({ actualCost: (outcome) => (outcomes.push(outcome), 0) });
  await get();
  await until(() => outcomes.length === 1);
  await get("/inbox", "ann", { "x-missing": "yes" });
  await until(() => outcomes.length === 2);
  await get("/broken");
  await until(() => outcomes.length === 3);
  await get("/throws");
  await until(() => outcomes.length === 4);
  expect(outcomes).toEqual([200, 404, 503, 500].map((status) => ({ status, aborted: false })));
  expect((await get()).headers.get("ratelimit-remaining")).toBe("1"); // all were free

  const places = serve({ policy: { name: "open", capacity: 1, returns: whenDone() } });
  await Promise.all([places.get(), places.get()]).then((both) => expect(both.map(({ status }) => status).sort()).toEqual([200, 429]));
  await until(async () => (await places.get()).status === 200);
});
