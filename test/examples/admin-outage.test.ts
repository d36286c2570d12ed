// The operators' page of examples/admin when its store fails, and what it writes to the record then.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { Redis } from "ioredis";
import { createLimiter, perMinute, perSecond, whenDone, type Costs, type Policy } from "sluice";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createAdmin, type AdminOptions } from "../../examples/admin/admin.js";
import { Controls } from "../../examples/admin/controls.js";
import { RecentCallers } from "../../examples/admin/recent-callers.js";
import { onlyThisProcess, shareCallers } from "../../examples/admin/share.js";
import { freePort } from "../helpers/free-port.js";
import { UnsteadyStore, type Health } from "../helpers/unsteady-store.js";
import { PASSWORD, post, signedIn } from "./admin-calls.js";

/** Fails from the first change on: the change itself is made, and its answer comes if `answers`. */
class FailsAfter extends UnsteadyStore {
  readonly kinds = ["rate", "in-flight"] as const;
  next: Health = "up";
  answers = true;
  override async adjust(policy: Policy, key: string, changes: Costs): Promise<boolean> {
    const changed = await super.adjust(policy, key, changes);
    this.health = this.next;
    if (!this.answers) throw new Error("connection lost");
    return changed;
  }
}

let store: FailsAfter;
let lines: Record<string, unknown>[];
let controls: Controls;
let server: Server | undefined;
let admin: string;
const user = { limiter: "reports", key: ["user", "42"], reason: "ticket 7" };
const NUMBERS = { capacity: 10, tokens: 1, everyMs: 1_000 };

async function open(options: Partial<AdminOptions> = {}): Promise<void> {
  server?.close();
  const policy = { name: "reports", limits: [{ name: "requests", capacity: 10, refill: perMinute(10) }, { name: "parallel", capacity: 2, returns: whenDone() }] } as const;
  server = createServer(createAdmin({
    limiters: {
      reports: { limiter: createLimiter({ policy, store }) },
      inbox: { limiter: createLimiter({ policy: { name: "inbox", capacity: 10, refill: perSecond(1) }, store }) },
    },
    controls,
    change: controls,
    counts: onlyThisProcess(new RecentCallers()),
    operators: { ann: PASSWORD }, store, secure: false,
    audit: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    ...options,
  })).listen(0, "127.0.0.1");
  await once(server, "listening");
  admin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
beforeEach(async () => {
  lines = [];
  store = new FailsAfter(() => 0);
  controls = new Controls({ interactive: NUMBERS });
  await open();
});
afterEach(() => void server?.close());
const does = async (order: object, headers: { cookie: string }) => {
  const response = await post(admin, "act", { ...user, ...order }, headers);
  return { status: response.status, ...((await response.json()) as { message?: string; state?: { levels: { limit: string; remaining: number }[] } | null }) };
};

test("a policy with several limits: tokens are given to and taken from the one that is named", async () => {
  const headers = await signedIn(admin);
  expect(await does({ verb: "debit", limit: "requests", tokens: 9 }, headers)).toMatchObject({ status: 200, state: { levels: [{ limit: "requests", remaining: 1, inFlight: false }, { limit: "parallel", remaining: 2, inFlight: true }] } });
  expect((await does({ verb: "credit", limit: "requests", tokens: 4 }, headers)).state?.levels[0]?.remaining).toBe(5);
  expect(await does({ verb: "credit", limit: "inbox", limiter: "inbox", tokens: 4 }, headers)).toMatchObject({ status: 200 });
  expect(lines.at(-2)).toMatchObject({ verb: "credit", limit: "requests", tokens: 4 });
  for (const limit of [undefined, "parallel", "no such limit", 5]) expect(await does({ verb: "credit", limit, tokens: 1 }, headers)).toMatchObject({ status: 400, message: expect.stringMatching(/^Expected /) as string });
});

test("the store fails after the change: it is in the record, and the answer says that what is left is unknown", async () => {
  const headers = await signedIn(admin);
  store.next = "down";
  expect(await does({ verb: "debit", limit: "requests", tokens: 9 }, headers)).toEqual({ status: 200, state: null, message: "Done. What is left is unknown." });
  expect(lines.at(-1)).toMatchObject({ verb: "debit", outcome: "done", tokens: 9, reason: "ticket 7", before: [{ remaining: 10 }, {}] });
});

test("the change itself gets no answer: it may have been made, and the record says so", async () => {
  const headers = await signedIn(admin);
  store.answers = false;
  expect(await does({ verb: "debit", limit: "requests", tokens: 9 }, headers)).toEqual({ status: 503, message: "It may have been done. Look before you repeat it." });
  expect(lines.at(-1)).toMatchObject({ verb: "debit", outcome: "unknown", tokens: 9 });
});

test("the store fails before the change: nothing was changed, and nothing is in the record", async () => {
  const headers = await signedIn(admin);
  store.health = "down";
  expect(await does({ verb: "reset" }, headers)).toEqual({ status: 503, message: "The store failed. Nothing was changed." });
  const peeked = await post(admin, "peek", user, headers);
  expect([peeked.status, await peeked.json()]).toEqual([503, { message: "The store failed. Nothing was changed." }]);
  expect(lines.map(({ verb }) => verb)).toEqual(["sign-in"]);
});

test("numbers whose change fails on the way may hold, and the record says so", async () => {
  await open({ change: { set: () => Promise.reject(new Error("connection lost")), unset: () => undefined } });
  const headers = await signedIn(admin);
  const response = await post(admin, "policy", { name: "interactive", ...NUMBERS, capacity: 5, shadow: false, was: { ...NUMBERS, shadow: false }, reason: "ticket 7" }, headers);
  expect([response.status, await response.json()]).toEqual([503, { message: "It may have been done. Look before you repeat it." }]);
  expect(lines.at(-1)).toMatchObject({ verb: "policy", outcome: "unknown", before: { capacity: 10 }, after: { capacity: 5 } });
});

test("numbers that another operator changed meanwhile are not overwritten", async () => {
  const headers = await signedIn(admin);
  controls.set("interactive", { ...NUMBERS, capacity: 20 });
  const wanted = { name: "interactive", ...NUMBERS, capacity: 5, shadow: false, reason: "ticket 7" };
  const refused = await post(admin, "policy", { ...wanted, was: { ...NUMBERS, shadow: false } }, headers);
  expect([refused.status, await refused.json()]).toEqual([409, { message: "interactive was changed meanwhile: capacity 20, 1 token every 1 s, enforced. Nothing was changed.", now: { name: "interactive", ...NUMBERS, capacity: 20, shadow: false } }]);
  expect(controls.policy("interactive").maxCost).toBe(20);
  expect((await post(admin, "policy", { ...wanted, was: { ...NUMBERS, capacity: 20, shadow: false } }, headers)).status).toBe(200);
  expect(controls.policy("interactive").maxCost).toBe(5);
  expect(lines.filter(({ verb }) => verb === "policy")).toHaveLength(1);
});

test("during an outage no one can sign in, and that is not the guesser's fault", async () => {
  store.health = "down";
  const response = await post(admin, "sign-in", { name: "ann", password: PASSWORD });
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(((await response.json()) as { message: string }).message).toBe("The store does not answer, so no one can sign in now.");
});

test("failed and refused sign-ins are in the record, a flood of them with one line a minute for each address", async () => {
  for (const name of ["ann", "a password in the wrong field"]) await post(admin, "sign-in", { name, password: "wrong" });
  for (let i = 0; i < 10; i++) await post(admin, "sign-in", { name: "ann", password: "wrong" });
  expect(lines.slice(0, 2)).toMatchObject([{ verb: "sign-in", outcome: "wrong", operator: "ann", address: "127.0.0.1" }, { outcome: "wrong", operator: null }]);
  expect(lines.map(({ outcome }) => outcome)).toEqual(["wrong", "wrong", "wrong", "wrong", "wrong", "refused"]);
});

test("behind a proxy guesses are counted by the address that `addressOf` returns", async () => {
  await open({ addressOf: ({ headers }) => headers["x-real-ip"] as string | undefined });
  for (let i = 0; i < 6; i++) await post(admin, "sign-in", { name: "ann", password: "wrong" }, { "x-real-ip": "192.0.2.1" });
  expect((await post(admin, "sign-in", { name: "ann", password: PASSWORD }, { "x-real-ip": "192.0.2.1" })).status).toBe(429);
  expect((await post(admin, "sign-in", { name: "ann", password: PASSWORD }, { "x-real-ip": "192.0.2.2" })).status).toBe(200);
});

test.each(["//", "/\\", "http://[", "/page.ts", "*"])("the path %s is no page", async (path) => {
  const socket = connect(Number(new URL(admin).port), "127.0.0.1");
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  const [answer] = (await once(socket.setEncoding("utf8"), "data")) as [string];
  socket.destroy();
  expect(answer).toMatch(/^HTTP\/1.1 40[04] /);
});

test("without Redis the counts of this process are shown, and marked", async () => {
  const redis = new Redis(await freePort(), "127.0.0.1").on("error", () => undefined);
  const callers = new RecentCallers({ now: () => 0 });
  callers.listener("inbox")({ type: "decision", outcome: "allowed" } as never, ["user", "ann"]);
  const shared = shareCallers(callers, redis, "admin:callers", 10);
  expect(await shared.all()).toMatchObject({ processes: 1, alone: true, requests: { total: 1 } });
  await shared.close();
  redis.disconnect();
});
