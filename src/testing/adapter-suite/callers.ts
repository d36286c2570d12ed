import { definePolicy } from "../../core/policy.js";
import { createLimiter } from "../../limiter/create-limiter.js";
import { combine } from "../../limiter/several/combine.js";
import { unlimited } from "../../limiter/unlimited.js";
import { MemoryStore } from "../../stores/memory/memory.js";
import { assert, assertEqual } from "../assert.js";
import { ManualClock } from "../manual-clock.js";
import { checkFields, checkNoFields, checkProblem, checkRefusal } from "./response-checks.js";
import { BULK_POLICY, userKey, type AdapterCase, type CaseOptions, type StartServer } from "./server.js";
import type { WireResponse } from "./wire.js";

/** Cases about the keys of requests: which requests share a bucket. */
export const callerCases: readonly AdapterCase[] = [
  {
    name: "33 · each key has its own bucket, and the address does not matter",
    cause: "The adapter adds the address to the key, or ignores the `key` option.",
    async run(start) {
      const server = await start();
      for (const address of ["192.0.2.1", "192.0.2.2", "2001:db8::3"]) {
        await server.request("/ok", { headers: { "X-Forwarded-For": address, "X-Real-IP": address } });
      }
      checkRefusal(await server.request("/ok", { headers: { "X-Forwarded-For": "192.0.2.4" } }), { retryAfter: 1 });
      checkFields(await server.get("/ok", { "X-User": "bob" }), 200, { remaining: 2 });
    },
  },
  {
    name: "34 · keys with separators in their parts stay different",
    cause: "The adapter joins the parts of a key. Pass the `key` option through unchanged.",
    async run(start) {
      const server = await start({ key: (request) => ["u", request.header("x-a"), request.header("x-b")] });
      const pairs = [
        ["a:b", "c"], ["a", "b:c"], ["a:b:c", ":"], ["a,b", "c"], ["a", "b,c"], ['a"', '"b'], ["{a}", "b"],
        ["1:a", "2:bb"], ["1:a2:b", "b"],
      ];
      for (const [a = "", b = ""] of pairs) {
        checkFields(await server.get("/ok", { "X-A": a, "X-B": b }), 200, { remaining: 2 });
      }
      checkFields(await server.get("/ok", { "X-A": "a:b", "X-B": "c" }), 200, { remaining: 1 });
    },
  },
  {
    name: "34 · keys can hold any character, and different characters make different keys",
    cause: "The adapter trims, normalizes or decodes the key.",
    async run(start) {
      const server = await start({ key: (request) => decodeURIComponent(request.header("x-user") ?? "") });
      for (const name of [
        "é", "e\u0301", "É", "用户", "用戶", "\u{1F984}", "\u{1F984}\u{1F984}", "a b", "\0", "a\r\nb", "constructor",
        "__proto__",
      ]) {
        const headers = { "X-User": encodeURIComponent(name) };
        checkFields(await server.get("/ok", headers), 200, { remaining: 2 });
        checkFields(await server.get("/ok", headers), 200, { remaining: 1 });
      }
    },
  },
  {
    name: "33 · requests without a key share one bucket that no other key can reach",
    cause: "The adapter replaces a missing key with text such as `undefined` or `anonymous`.",
    async run(start) {
      const server = await start();
      for (let i = 0; i < 3; i++) checkFields(await server.get("/ok", {}), 200, { remaining: 2 - i });
      checkRefusal(await server.get("/ok", {}), { retryAfter: 1 });
      checkRefusal(await server.get("/ok", { "X-User": "" }), { retryAfter: 1 });
      for (const user of ["undefined", "null", "anonymous", "("]) {
        checkFields(await server.get("/ok", { "X-User": user }), 200, { remaining: 2 });
      }
    },
  },
  {
    name: '33 · `unidentified: "refuse"` answers requests without a key with 401',
    cause: "The adapter sends 429 for every refusal. Send the status of the verdict.",
    async run(start) {
      const server = await start({ unidentified: "refuse" });
      const response = await server.get("/ok", {});
      assertEqual(response.status, 401, "the status");
      assert((response.field("WWW-Authenticate") ?? "") !== "", "Expected WWW-Authenticate on a 401, got none");
      assertEqual(response.field("Retry-After"), null, "Retry-After");
      checkNoFields(response);
      checkProblem(response, "unidentified");
      assertEqual(
        (await server.request("/ok", { method: "HEAD", headers: { "X-User": "" } })).status,
        401,
        "the status for a HEAD",
      );
      assertEqual(server.entered, [], "the requests that reached the handler");
      checkFields(await server.get("/ok"), 200, { remaining: 2 });
    },
  },
  {
    name: '33, 43 · `unidentified: "skip"` does not limit requests without a key',
    cause: "The adapter treats the outcome `skip` like `pass`.",
    async run(start) {
      const server = await start({ unidentified: "skip" });
      for (let i = 0; i < 4; i++) {
        const response = await server.get("/ok", {});
        assertEqual(response.status, 200, "the status");
        checkNoFields(response);
      }
      checkFields(await server.get("/ok"), 200, { remaining: 2 });
    },
  },
  {
    name: "33, 43 · a request with the policy `unlimited` is not limited",
    cause: "The adapter treats the outcome `skip` like `pass`.",
    async run(start) {
      const policy = definePolicy({ name: "suite", capacity: 3, refill: { tokens: 1, everyMs: 1_000 } });
      const server = await start({ policy: (request) => (request.header("x-user") === "eve" ? unlimited : policy) });
      for (let i = 0; i < 4; i++) {
        const free = await server.get("/ok", { "X-User": "eve" });
        assertEqual(free.status, 200, "the status");
        checkNoFields(free);
      }
      checkFields(await server.get("/ok"), 200, { remaining: 2 });
    },
  },
  {
    name: "a blocked caller gets a 429 with the wait of the block",
    cause: "The adapter replaces the wait or the body of the verdict.",
    async run(start) {
      const clock = new ManualClock(1_000_000);
      const policy = { name: "suite", capacity: 3, refill: { tokens: 1, everyMs: 1_000 } };
      const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
      const server = await start({ limiter });
      limiter.block(["user", "ann"], 60_000);
      const refused = await server.get("/ok");
      assertEqual([refused.status, refused.field("Retry-After")], [429, "60"], "the status and Retry-After");
      checkProblem(refused, "rate_limited");
      assertEqual((await server.get("/ok", { "X-User": "bob" })).status, 200, "the status of another caller");
      limiter.block(["user", "ann"], 0);
      assertEqual((await server.get("/ok")).status, 200, "the status after the block");
    },
  },
  {
    name: "two limiters on one server do not affect each other",
    cause: "The adapter keeps state in a variable of the module.",
    async run(start) {
      const server = await start();
      const bulk = { policy: BULK_POLICY.name, capacity: BULK_POLICY.capacity, window: 20 };
      for (let i = 0; i < 3; i++) await server.get("/ok");
      checkRefusal(await server.get("/ok"), { retryAfter: 1 });
      checkFields(await server.get("/bulk"), 200, { ...bulk, remaining: 1, reset: 10 });
      checkFields(await server.get("/bulk"), 200, { ...bulk, remaining: 0, reset: 10 });
      checkRefusal(await server.get("/bulk"), { ...bulk, retryAfter: 10 });
      server.clock.advance(1_000);
      checkFields(await server.get("/ok"), 200, { remaining: 0 });
    },
  },
  {
    name: "the policy can be picked for each request",
    cause: "The adapter keeps the policy of the first request.",
    async run(start) {
      const free = definePolicy({ name: "suite", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } });
      const paid = definePolicy({ name: "suite", capacity: 9, refill: { tokens: 1, everyMs: 1_000 } });
      const server = await start({ policy: (request) => (request.header("x-tier") === "paid" ? paid : free) });
      const pay = (user: string): Promise<WireResponse> =>
        server.request("/ok", { headers: { "X-User": user, "X-Tier": "paid" } });
      for (let i = 0; i < 2; i++) checkFields(await server.get("/ok"), 200, { capacity: 2, window: 2, remaining: 1 - i });
      checkRefusal(await server.get("/ok"), { capacity: 2, window: 2, retryAfter: 1 });
      checkFields(await pay("bob"), 200, { capacity: 9, window: 9, remaining: 8 });
      checkFields(await pay("ann"), 200, { capacity: 9, window: 9, remaining: 6 }); // the 2 tokens spent before still count
    },
  },
  {
    name: "11, 35 · with several limits, the fields name the limit that refuses, and a refusal takes no token",
    cause: "The adapter shows only the first limit, or drops fields of the verdict.",
    async run(start) {
      const limits = [
        { name: "burst", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } },
        { name: "day", capacity: 5, refill: { tokens: 1, everyMs: 60_000 } },
      ] as const;
      const server = await start({ policy: { name: "suite", limits } });
      for (let i = 0; i < 2; i++) await server.get("/ok");
      const refused = await server.get("/ok");
      assertEqual(
        [refused.status, refused.field("Retry-After"), refused.field("RateLimit")],
        [429, "1", '"suite:burst";r=0;t=1'],
        "the refusal",
      );
      assertEqual(checkProblem(refused, "rate_limited")["violated-policies"], ["suite:burst"], "violated-policies");
      assertEqual(refused.field("RateLimit-Policy"), '"suite:burst";q=2;w=2, "suite:day";q=5;w=300', "RateLimit-Policy");
      server.clock.advance(1_000);
      assertEqual((await server.get("/ok")).field("RateLimit"), '"suite:burst";r=0;t=1, "suite:day";r=2;t=59', "RateLimit");
    },
  },
  {
    name: "a combination takes from a user and a tenant together or not at all, with one answer",
    cause: "The adapter drops the `limiter` option, or shows the fields of one member only.",
    async run(start) {
      const server = await start({ ...userAndTenant() });
      const first = await askBoth(server, "ann");
      assertEqual(told(first), [200, "2", "1", null], "the status and fields of the first request");
      assertEqual(
        first.field("RateLimit-Policy")?.split(", ").sort(), ['"tenant";q=3;w=6', '"user";q=2;w=2'], "RateLimit-Policy",
      );
      await askBoth(server, "ann");
      const refused = await askBoth(server, "ann");
      assertEqual(told(refused), [429, "2", "0", "1"], "the status and fields when the user's bucket is empty");
      assertEqual(checkProblem(refused, "rate_limited")["violated-policies"], ["user"], "violated-policies");
      assertEqual(told(await askBoth(server, "bob")), [200, "3", "0", null], "the status and fields of the tenant's last token");
      assertEqual(
        told(await askBoth(server, "eve")),
        [429, "3", "0", "2"],
        "the status and fields when the tenant's bucket is empty",
      );
      assertEqual(server.entered.length, 3, "the number of requests that reached the handler");
    },
  },
  {
    name: "over a combination, `unidentified` holds for each member, and `unlimited` leaves a member out",
    cause: "The adapter changes the keys, or treats the outcome `skip` like `pass`.",
    async run(start) {
      const refusing = await start({ ...userAndTenant(), unidentified: "refuse" });
      assertEqual((await askBoth(refusing, "")).status, 401, "the status without a user");
      assertEqual(refusing.entered, [], "the requests that reached the handler");
      const skipping = await start({ ...userAndTenant(), unidentified: "skip" });
      assertEqual((await askBoth(skipping, "")).field("RateLimit-Policy"), '"tenant";q=3;w=6', "RateLimit-Policy without a user");
      checkNoFields(await skipping.get("/ok", {}));
      const sharing = await start({ ...userAndTenant(), key: (request) => ({ user: userKey(request), tenant: unlimited }) });
      assertEqual(
        (await askBoth(sharing, "ann")).field("RateLimit-Policy"),
        '"user";q=2;w=2',
        "RateLimit-Policy of a member alone",
      );
    },
  },
];

function userAndTenant(): Pick<CaseOptions, "limiter" | "key"> {
  const store = new MemoryStore({ clock: new ManualClock(1_000_000).now });
  const user = createLimiter({ policy: { name: "user", capacity: 2, refill: { tokens: 1, everyMs: 1_000 } }, store });
  const tenant = createLimiter({ policy: { name: "tenant", capacity: 3, refill: { tokens: 1, everyMs: 2_000 } }, store });
  return {
    limiter: combine({ user, tenant }),
    key: (request) => ({ user: userKey(request), tenant: ["tenant", request.header("x-tenant")] }),
  };
}

function askBoth(server: Awaited<ReturnType<StartServer>>, user: string): Promise<WireResponse> {
  return server.get("/ok", { "X-User": user, "X-Tenant": "acme" });
}

function told({ status, field }: WireResponse): readonly unknown[] {
  return [status, field("RateLimit-Limit"), field("RateLimit-Remaining"), field("Retry-After")];
}
