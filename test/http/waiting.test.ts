import { combine, createLimiter, createWaiter, definePolicy, MemoryStore, unlimited, type Cost, type Limiter, type LimiterEvent, type Policy, type Store, createObserver, type WaiterOptions } from "sluice";
import { createGate, decisionOf, type GateOptions, type RequestReader } from "sluice/http";
import { guard } from "sluice/store";
import { expectWarnings } from "../setup/warnings.js";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { answerOf, end, type Answer } from "./asking.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

const MAIL = { name: "mail", capacity: 2, refill: { tokens: 1, everyMs: 500 } };
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** A request whose client can disconnect. */
class Asked {
  readonly listeners = new Set<() => void>();
  readonly user: string | null;
  readonly cost: Cost;
  constructor(user: string | null = "ann", cost: Cost = 1) {
    this.user = user;
    this.cost = cost;
  }
  disconnect(): void {
    for (const listener of this.listeners) listener();
  }
}

const reader: RequestReader<Asked> = {
  method: () => "GET",
  header: () => undefined,
  onDisconnect: (asked, listener) => (asked.listeners.add(listener), () => void asked.listeners.delete(listener)),
};

interface Held {
  readonly asked: Asked;
  /** The milliseconds after which it was answered. */
  at?: number;
  answer?: Answer;
}

/** A gate that holds requests, and what became of each. */
function open(bounds: WaiterOptions = {}, { limiter = createLimiter({ policy: MAIL }), ...options }: { readonly limiter?: Limiter } & { readonly [Name in keyof GateOptions<Asked>]?: unknown } = {}) {
  const waiter = createWaiter(limiter, { maxWaitMs: 1_000, ...bounds });
  const gate = createGate<Asked>({ limiter: waiter, key: ({ user }: Asked) => user, cost: ({ cost }: Asked) => cost, ...options } as GateOptions<Asked>, reader);
  const from = performance.now();
  const ask = (asked = new Asked()): Held => {
    const held: Held = { asked };
    void Promise.resolve(gate(asked)).then((verdict) => Object.assign(held, { at: performance.now() - from, answer: answerOf(verdict) }));
    return held;
  };
  return { ask, limiter, waiter };
}

const seen = ({ at, answer }: Held): unknown => answer && [at, answer.status, answer.field("RateLimit-Remaining"), answer.field("Retry-After")];

test("a request passes as soon as its tokens are there, in order of arrival, with the fields of that instant", async () => {
  const { ask, waiter } = open();
  const held = Array.from({ length: 4 }, () => ask());
  await pass(0);
  expect(held.map(seen)).toEqual([[0, 200, "1", undefined], [0, 200, "0", undefined], undefined, undefined]);
  expect([waiter.waiting, held[3]?.asked.listeners.size]).toEqual([2, 1]);
  await pass(499);
  expect(seen(held[2] as Held)).toBeUndefined();
  await pass(1);
  expect(seen(held[2] as Held)).toEqual([500, 200, "0", undefined]);
  await pass(500);
  expect(seen(held[3] as Held)).toEqual([1_000, 200, "0", undefined]);
  expect(decisionOf((held[3] as Held).asked)).toMatchObject({ allowed: true, remaining: 0, nextTokenMs: 500 });
  expect([waiter.waiting, vi.getTimerCount(), ...held.map(({ asked }) => asked.listeners.size)]).toEqual([0, 0, 0, 0, 0, 0]);
});

test("a request that would wait too long is refused at once, with the exact wait behind those that wait", async () => {
  const { ask, waiter } = open();
  for (let i = 0; i < 4; i++) ask();
  await pass(0);
  const late = ask();
  await pass(0);
  expect(seen(late)).toEqual([0, 429, "0", "2"]);
  expect(late.answer?.verdict).toMatchObject({ decision: { reason: "limited", retryAfterMs: 1_500 } });
  expect(late.answer?.body).toMatchObject({ "violated-policies": ["mail"], retry_after: 2 });
  expect([waiter.waiting, late.asked.listeners.size]).toEqual([2, 0]);
  await pass(1_499);
  const early = ask();
  await pass(0);
  expect(seen(early)).toBeUndefined();
  await pass(1);
  expect(seen(early)).toEqual([1_500, 200, "0", undefined]);
});

test("a refusal names the limit of several that has to be waited for", async () => {
  const limiter = createLimiter({ policy: { name: "two", limits: [{ name: "burst", capacity: 9, refill: { tokens: 9, everyMs: 9 } }, { name: "slow", capacity: 1, refill: { tokens: 1, everyMs: 2_000 } }] } });
  const { ask } = open({}, { limiter });
  ask();
  await pass(0);
  const late = ask();
  await pass(0);
  expect(seen(late)).toEqual([0, 429, "0", "2"]);
  expect(late.answer?.body["violated-policies"]).toEqual(["two:slow"]);
  expect(late.answer?.field("RateLimit")).toBe('"two:slow";r=0;t=2');
});

test("a request that finds too many waiting is refused at once", async () => {
  const { ask } = open({ maxWaitersPerKey: 2 });
  const first = [ask(), ask()];
  await pass(0);
  const [waits, alsoWaits, full] = [ask(), ask(), ask()];
  await pass(0);
  expect([...first, waits, alsoWaits, full].map(seen)).toEqual([[0, 200, "1", undefined], [0, 200, "0", undefined], undefined, undefined, [0, 429, "0", "2"]]);
});

test("a client that disconnects leaves the queue, and its tokens go to the next", async () => {
  const decided: unknown[] = [];
  const { ask, waiter } = open({}, { onDecision: (decision: unknown) => decided.push(decision) });
  for (let i = 0; i < 2; i++) ask();
  await pass(0);
  const [gone, next] = [ask(), ask()];
  await pass(100);
  gone.asked.disconnect();
  await pass(0);
  expect([waiter.waiting, gone.answer?.status, gone.answer?.body["code"], gone.asked.listeners.size]).toEqual([1, 499, "disconnected", 0]);
  await pass(400);
  expect(seen(next)).toEqual([500, 200, "0", undefined]);
  // The client that left was not decided about.
  expect([waiter.waiting, vi.getTimerCount(), decided.length]).toEqual([0, 0, 3]);
});

test("a client that disconnected before its turn to wait does not wait", async () => {
  const limiter = createLimiter({ policy: MAIL });
  const waiter = createWaiter(limiter);
  limiter.consume("ann", 2);
  const gone = createGate<Asked>({ limiter: waiter, key: async () => "ann" }, { ...reader, onDisconnect: (_, listener) => (listener(), () => {}) });
  expect(await gone(new Asked())).toMatchObject({ outcome: "refuse", status: 499, decision: null });
  expect([waiter.waiting, vi.getTimerCount()]).toEqual([0, 0]);
});

test.each<[what: string, bounds: WaiterOptions, heldMs: number]>([
  ["30 seconds at most, if no `maxWaitMs` was given", {}, 30_000],
  ["30 seconds at most, if `maxWaitMs` is undefined", { maxWaitMs: undefined }, 30_000],
  ["as long as `maxWaitMs` says", { maxWaitMs: 40_000 }, 40_000],
  ["for ever, if `maxWaitMs` says so", { maxWaitMs: Infinity }, Infinity],
])("L12 · a gate holds a request %s; the waiter alone waits as it was told", async (_, bounds, heldMs) => {
  const waiter = createWaiter(createLimiter({ policy: { name: "slow", capacity: 1, refill: { tokens: 1, everyMs: 10_000 } } }), bounds);
  const gate = createGate<Asked>({ limiter: waiter, key: () => "ann" }, reader);
  const requests = Array.from({ length: 7 }, async () => answerOf(await gate(new Asked())).status);
  const job = waiter.consume("ann").then(({ allowed }) => allowed);
  await pass(80_000);
  const wanted = Array.from({ length: 7 }, (_one, i) => (i * 10_000 <= heldMs ? 200 : 429));
  expect(await Promise.all(requests)).toEqual(wanted);
  expect(await job).toBe((wanted.filter((status) => status === 200).length) * 10_000 <= (bounds.maxWaitMs ?? Infinity));
  expect([waiter.waiting, vi.getTimerCount()]).toEqual([0, 0]);
});

test("a reader without `onDisconnect` holds requests too", async () => {
  const limiter = createLimiter({ policy: MAIL });
  const gate = createGate<Asked>({ limiter: createWaiter(limiter), key: () => "ann", cost: 2 }, { method: reader.method, header: reader.header });
  const verdicts = Promise.all([gate(new Asked()), gate(new Asked())]);
  await pass(1_000);
  expect(await verdicts).toMatchObject([{ outcome: "pass" }, { outcome: "pass" }]);
});

test("callers without a key wait for their shared bucket", async () => {
  const { ask } = open();
  const held = Array.from({ length: 3 }, () => ask(new Asked(null)));
  await pass(500);
  expect(held.map(({ at }) => at)).toEqual([0, 0, 500]);
});

test("a cost above the capacity is a 400 at once, also by the names of limits", async () => {
  const { ask, waiter } = open();
  const large = [ask(new Asked("ann", 3)), ask(new Asked("ann", { mail: 3 }))];
  await pass(0);
  expect(large.map(({ answer }) => [answer?.status, answer?.body["code"], answer?.field("Retry-After")])).toEqual([[400, "cost_above_capacity", undefined], [400, "cost_above_capacity", undefined]]);
  expect(waiter.waiting).toBe(0);
});

test("each tier waits at its own pace", async () => {
  const pro: Policy = definePolicy({ ...MAIL, refill: { tokens: 1, everyMs: 100 } });
  const { ask } = open({}, { policy: ({ user }: Asked) => (user === "pro" ? pro : unlimited) });
  const held = ["pro", "pro", "pro", "free"].map((user) => ask(new Asked(user)));
  await pass(1_000);
  expect(held.map(({ at, answer }) => [at, answer?.status])).toEqual([[0, 200], [0, 200], [100, 200], [0, 200]]);
});

test("shadow mode holds and refuses nothing", async () => {
  const events: LimiterEvent[] = [];
  const { ask } = open({}, { limiter: createLimiter({ policy: MAIL, shadow: true, observe: createObserver((event) => events.push(event)) }) });
  const held = Array.from({ length: 4 }, () => ask());
  await pass(0);
  expect(held.map(({ at, answer }) => [at, answer?.status, answer?.names])).toEqual(held.map(() => [0, 200, []]));
  expect(events.map((event) => event.type === "decision" && event.outcome)).toEqual(["allowed", "allowed", "shadow_refused", "shadow_refused"]);
});

describe.each([true, false])("40 · a store that fails, synchronous: %s", (sync) => {
  const failing = (): Store => {
    const fail = (): never => {
      throw new Error("connection lost");
    };
    const method = sync ? fail : async () => fail();
    return { sync, guard: guard(), clock: "server", verbs: ["consume", "peek", "adjust"], ask: method } as unknown as Store;
  };

  test('refuses with a 503 under "unavailable"', async () => {
    const { ask, waiter } = open({}, { limiter: createLimiter({ policy: MAIL, store: failing(), onStoreError: "unavailable" }) });
    const held = [ask(), ask()];
    await pass(500);
    expect(held.map(({ answer }) => [answer?.status, answer?.field("RateLimit"), answer?.field("Retry-After")])).toEqual([[503, undefined, "1"], [503, undefined, "1"]]);
    expect(waiter.waiting).toBe(0);
  });

  test('lets requests through under "allow", and at the pace of a share under "local"', async () => {
    const allowed = open({}, { limiter: createLimiter({ policy: MAIL, store: failing(), onStoreError: "allow" }) }).ask();
    await pass(0);
    expect([allowed.answer?.status, allowed.answer?.names]).toEqual([200, []]);
    const { ask } = open({}, { limiter: createLimiter({ policy: MAIL, store: failing() }) });
    const held = [ask(), ask()];
    await pass(1_000);
    expect(held.map(({ at, answer }) => [at, answer?.status, answer?.names])).toEqual([[0, 200, []], [1_000, 200, []]]);
  });
});

describe("40 · a store that can be read but not written, such as a replica", () => {
  const replica = (): Store => {
    const memory = new MemoryStore({ clock: () => 0 });
    const consume = async (): Promise<never> => Promise.reject(new Error("READONLY You can't write against a read only replica."));
    return storeOf({ sync: false, guard: guard(), clock: "server", consume, peek: async (...asked) => callsOf(memory).peek(...asked), adjust: consume });
  };

  test.each(["unavailable", "local"] as const)('is refused with 503 and never 429 under "%s"', async (onStoreError) => {
    expectWarnings("SLUICE_STORE_SETUP");
    const { ask } = open({ maxWaitMs: 100 }, { limiter: createLimiter({ policy: MAIL, store: replica(), onStoreError }) });
    const statuses: unknown[] = [];
    for (let i = 0; i < 4; i++) {
      const held = ask();
      await pass(200);
      statuses.push([held.answer?.status, held.answer?.field("RateLimit"), held.answer?.verdict.outcome !== "skip" && held.answer?.verdict.decision?.reason]);
    }
    const refused = [503, undefined, "store_unavailable"];
    expect(statuses).toEqual(onStoreError === "local" ? [[200, undefined, null], refused, refused, refused] : [refused, refused, refused, refused]);
  });

  test("is refused with 503 also without a call of its own", async () => {
    expectWarnings("SLUICE_STORE_SETUP");
    const { ask } = open({ maxWaitMs: 100 }, { limiter: createLimiter({ policy: MAIL, store: replica() }) });
    const first = ask();
    await pass(0);
    const later = [ask(), ask(), ask()];
    await pass(200);
    expect([first, ...later].map(({ answer }) => answer?.status)).toEqual([200, 503, 503, 503]);
  });
});

test("an observer sees each refusal once", async () => {
  const events: LimiterEvent[] = [];
  const { ask } = open({ maxWaitMs: 10 }, { limiter: createLimiter({ policy: MAIL, observe: createObserver((event) => events.push(event)) }) });
  const held = Array.from({ length: 5 }, () => ask());
  await pass(100);
  expect(held.map(({ answer }) => answer?.status)).toEqual([200, 200, 429, 429, 429]);
  expect(events.map((event) => event.type === "decision" && event.outcome)).toEqual(["allowed", "allowed", "limited", "limited", "limited"]);
});

test("an observer sees a refusal of the store once", async () => {
  const events: LimiterEvent[] = [];
  const limiter = createLimiter({ policy: MAIL, observe: createObserver((event) => events.push(event)) });
  const { ask } = open({ maxWaitMs: 10 }, { limiter });
  limiter.consume("ann", 2); // the waiter knows nothing of it, so it asks
  const held = ask();
  await pass(100);
  expect(held.answer?.status).toBe(429);
  expect(events.map((event) => event.type === "decision" && event.outcome)).toEqual(["allowed", "limited"]);
});

test("`respond` is not called for a client that is gone", async () => {
  let calls = 0;
  const { ask } = open({}, { ...({ respond: () => (calls += 1) } as object) });
  for (let i = 0; i < 2; i++) ask();
  await pass(0);
  const gone = ask();
  await pass(0);
  gone.asked.disconnect();
  await pass(0);
  const { verdict } = (gone as Required<Held>).answer;
  expect([verdict.outcome === "refuse" && verdict.respond, calls]).toEqual([null, 0]);
});

test("another error of the waiter fails the request", async () => {
  const limiter = createLimiter({ policy: MAIL });
  const asked = new Asked();
  const gate = createGate<Asked>({ limiter: createWaiter(limiter), key: () => "ann", cost: () => ({ tokens: 1 }) }, reader);
  await expect((async () => gate(asked))()).rejects.toThrow("Unknown limit `tokens` in `cost`");
  expect(asked.listeners.size).toBe(0);
});

test("a settlement returns what a held request took", async () => {
  const { ask, limiter } = open({}, { actualCost: () => 0 });
  const held = Array.from({ length: 3 }, () => ask());
  await pass(500);
  await end((held[2] as Required<Held>).answer);
  expect(await limiter.peek("ann")).toMatchObject({ remaining: 1 });
});

test("a waiter over a combination holds a request until the tokens of all members are there", async () => {
  const store = new MemoryStore();
  const both = combine({ user: createLimiter({ policy: MAIL, store }), tenant: createLimiter({ policy: { ...MAIL, name: "tenant", capacity: 9 }, store }) });
  const gate = createGate({ limiter: createWaiter(both), key: () => ({ user: "ann", tenant: "acme" }) } as unknown as GateOptions<Asked>, reader);
  const verdicts = Promise.all(Array.from({ length: 3 }, async () => gate(new Asked())));
  await pass(500);
  expect((await verdicts).map((verdict) => answerOf(verdict).field("RateLimit-Policy")?.split(", ").toSorted())).toEqual(
    Array.from({ length: 3 }, () => ['"mail";q=2;w=1', '"tenant";q=9;w=5']),
  );
});
