/** The two procedures of a gate, the synchronous one and its twin, do the same over one table of cases. */
import { combine, createLimiter, createWaiter, definePolicy, MemoryStore, perSecond, unlimited, whenDone, type Decision, type Key } from "sluice";
import { createGate, draft11, type GateOptions, type RequestReader, type Verdict } from "sluice/http";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { expectWarnings } from "../setup/warnings.js";
import { brokenStore, reader, SMALL, type AnyOptions, type Ask } from "./asking.js";

/** Returns a value as a function of the options does: at once or later. An Error is thrown, or it rejects. Takes notes. */
type Say = (name: string, value: unknown) => never;
type Options = Omit<AnyOptions, "policy" | "limiter" | "key"> & { readonly policy?: unknown; readonly limiter?: unknown; readonly key?: unknown };

interface Case {
  readonly options: (say: Say, store: MemoryStore) => Options;
  readonly asks: readonly Ask[];
  readonly reader?: RequestReader<Ask>;
  readonly warnings?: readonly string[];
}

const PREFLIGHT: Ask = { method: "OPTIONS", headers: { origin: "https://app.example", "access-control-request-method": "POST" }, user: null };
const GOLD = definePolicy({ name: "small", capacity: 5, refill: perSecond(2) });
const PARALLEL = definePolicy({ name: "parallel", capacity: 2, returns: whenDone() });
const four: readonly Ask[] = [{}, {}, {}, {}];
const callers: readonly Ask[] = [{ user: "ann" }, { user: null }, { user: ["device", ""] }, { user: "ann" }];

/** All functions of the options that may answer later. Those of a case replace them. */
const asked = (say: Say): Options => ({
  skip: () => say("skip", false),
  key: ({ user = "ann" }: Ask) => say("key", user),
  cost: ({ cost = 1 }: Ask) => say("cost", cost),
  policy: () => say("policy", SMALL),
  onDecision: ({ allowed }) => say("onDecision", allowed),
});
const limiters = (store: MemoryStore) => ({ user: createLimiter({ policy: SMALL, store }), tenant: createLimiter({ policy: { name: "tenant", capacity: 5, refill: perSecond(1) }, store }) });

const cases: Record<string, Case> = {
  "allowed, then refused": { options: () => ({}), asks: four },
  "a partition key": { options: (say) => ({ headers: [draft11({ partitionKey: (key) => (say("partitionKey", key), new Uint8Array([1])) })] }), asks: four },
  "a skip": { options: (say) => ({ skip: ({ user }: Ask) => say("skip", user === "health") }), asks: [{ user: "health" }, {}] },
  "costs": { options: () => ({}), asks: [{ cost: 0 }, { cost: 2 }, { cost: 4 }, { cost: 2 }] },
  "a fixed cost": { options: () => ({ cost: 2 }) as Options, asks: [{}, {}] },
  "costs by name": { options: (say) => ({ cost: () => say("cost", { small: 2 }) }), asks: [{}, {}] },
  "tiers, and a plan without a limit": { options: (say) => ({ policy: ({ user }: Ask) => say("policy", user === "free" ? unlimited : user === "gold" ? GOLD : SMALL) }), asks: [{ user: "free" }, { user: "gold" }, { user: "ann" }] },
  "its own policy": { options: () => ({ policy: SMALL }), asks: four },
  "unidentified: share": { options: () => ({ unidentified: "share" }), asks: callers },
  "unidentified: refuse": { options: () => ({ unidentified: "refuse" }), asks: callers },
  "unidentified: skip": { options: () => ({ unidentified: "skip" }), asks: callers },
  "unidentified: a function": { options: (say) => ({ unidentified: ({ code }: { code: string }) => say("unidentified", code) }), asks: callers },
  "shadow": { options: () => ({ shadow: true }), asks: four },
  "shadow for one caller": { options: (say) => ({ shadow: (key: Key) => (say("shadow", null), key === "bob") }), asks: [...four, { user: "bob", cost: 4 }, { user: "bob", cost: 3 }] },
  "respond": { options: (say) => ({ respond: ({ code }: { code: string }) => say("respond", code) }), asks: four },
  "plain preflights": { options: () => ({}), asks: [PREFLIGHT, PREFLIGHT, {}] },
  "a plain preflight of a caller": { options: () => ({}), asks: [{ ...PREFLIGHT, user: "ann" }, {}] },
  "a preflight for which `key` fails": { options: (say) => ({ key: ({ user }: Ask) => say("key", user ?? new Error("no user")) }), asks: [PREFLIGHT, { user: "ann" }] },
  "more preflights than the lane holds": { options: () => ({ unidentified: "refuse" }), asks: Array.from({ length: 102 }, () => PREFLIGHT), warnings: ["SLUICE_PREFLIGHTS"] },
  "a request from another origin": { options: () => ({}), asks: [{ headers: { origin: "https://app.example" } }] },
  "tokens in flight": { options: (say) => ({ policy: () => say("policy", PARALLEL) }), asks: [{}, {}, {}] },
  "tokens in flight of a client that left": {
    options: (say) => ({ policy: () => say("policy", PARALLEL) }),
    asks: four, reader: { ...reader, onDisconnect: (_, listener) => (listener(), () => undefined) },
  },
  "a client that left, without tokens in flight": { options: () => ({}), asks: [{}], reader: { ...reader, onDisconnect: (_, listener) => (listener(), () => undefined) } },
  "a store that is down: unavailable": { options: () => ({ store: brokenStore(true), onStoreError: "unavailable" }), asks: [{}, {}] },
  "a store that is down: allow": { options: () => ({ store: brokenStore(true), onStoreError: "allow" }), asks: [{}, {}] },
  "a store that is down: local": { options: () => ({ store: brokenStore(true) }), asks: four },
  "several limiters": {
    options: (say, store) => ({
      limiter: combine(limiters(store)), key: ({ user = "ann" }: Ask) => say("key", { user, tenant: "acme" }), policy: () => say("policy", { user: GOLD }),
    }),
    asks: [...four, { user: null }, { cost: 9 }],
  },
  "several limiters, one left out": {
    options: (say, store) => ({
      limiter: combine(limiters(store)), unidentified: "skip", policy: () => say("policy", { tenant: unlimited }),
      key: ({ user = "ann" }: Ask) => say("key", { user, tenant: unlimited }),
    }),
    asks: [...four, { user: null }],
  },
  "several limiters, none of a caller without a key": {
    options: (say, store) => ({ limiter: combine(limiters(store)), unidentified: "refuse", policy: undefined, key: ({ user = "ann" }: Ask) => say("key", { user, tenant: "acme" }) }),
    asks: [{}, { user: null }],
  },
  "a limiter that waits": { options: (_, store) => ({ limiter: createWaiter(createLimiter({ policy: SMALL, store }), { maxWaitMs: 500 }), policy: undefined }), asks: four },
  ...Object.fromEntries(
    Object.entries({
      skip: [new Error("mine"), "yes", 1], key: [new Error("mine"), unlimited, 42, {}], cost: [new Error("mine"), Number.NaN, -1, 0.5, undefined, null, "2", { none: 1 }],
      policy: [new Error("mine"), undefined, null, "free", { capacity: 1 }],
    }).flatMap(([name, values]) => values.map((value, i): [string, Case] => [`\`${name}\` fails (${i})`, { options: (say) => ({ [name]: () => say(name, value) }), asks: [{}, {}] }])),
  ),
};

/** What a test can compare of a verdict, with what its option answers. A store that fails is read by another clock. */
async function shown(verdict: Verdict): Promise<unknown> {
  if (verdict.outcome === "skip") return verdict;
  const { allowed, reason, cost, remaining, degraded } = verdict.decision ?? ({} as Partial<Decision>);
  const decision = [allowed, reason, cost, remaining, degraded];
  if (verdict.outcome === "pass") return { ...verdict, decision, work: [verdict.work.settles, verdict.work.holds, verdict.work.isReleased] };
  const { respond } = verdict;
  return { ...verdict, decision, respond: respond && [respond.name, respond.timeoutMs, await respond.call()] };
}

/** The verdicts or errors of all requests, and the notes. The functions in `laters` answer later. */
async function runCase({ options, asks, reader: read = reader }: Case, laters: readonly string[]): Promise<unknown> {
  const notes: string[] = [];
  const say = (name: string, value: unknown): unknown => {
    notes.push(name);
    if (laters.includes(name)) return value instanceof Error ? Promise.reject(value) : Promise.resolve(value);
    if (value instanceof Error) throw value;
    return value;
  };
  const store = new MemoryStore({ clock: new ManualClock().now });
  const own = options(say as Say, store);
  const limits = own.limiter === undefined ? { store } : {};
  const gate = createGate<Ask>({ ...limits, ...asked(say as Say), ...own } as unknown as GateOptions<Ask>, read);
  const seen: unknown[] = [];
  for (const ask of asks) {
    try {
      seen.push(await shown(await gate({ ...ask })));
    } catch (error) {
      seen.push(String(error));
    }
  }
  return { seen, notes };
}

const NAMES = ["skip", "key", "cost", "policy"];
const WAYS = Array.from({ length: 2 ** NAMES.length }, (_, bits) => NAMES.filter((_name, i) => bits & (1 << i)));

describe("L17 · a function that answers later changes no verdict", () => {
  test.each(Object.entries(cases))("%s", async (_, each) => {
    expectWarnings(...(each.warnings ?? []));
    const atOnce = await runCase(each, []);
    for (const way of WAYS) {
      expect(await runCase(each, way), way.join()).toEqual(atOnce);
      expect(await runCase(each, [...way, "respond", "unidentified", "onDecision"]), way.join()).toEqual(atOnce);
    }
  });

  test("the table has verdicts of each kind", async () => {
    const seen = await Promise.all(["allowed, then refused", "a skip", "costs", "unidentified: refuse", "tokens in flight of a client that left", "a store that is down: unavailable"].map((name) => runCase(cases[name] as Case, [])));
    const text = JSON.stringify(seen);
    for (const part of ['"pass"', '"skip"', '"status":429', '"status":400', '"status":401', '"status":499', '"status":503']) expect(text).toContain(part);
  });
});
