// A part of `npm run search`: the first states of each world, and those planted mistakes that a few states show.
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { beyond } from "./accounts.js";
import { explore, fingerprint, type World } from "./explore.js";
import { MISTAKES } from "./mistakes.js";
import { asTest } from "./pasted.js";
import { realFunctions, type Real } from "./real.js";
import type { Account, StoreState, StoreWorld } from "./state.js";
import { storeWorld } from "./store-world.js";
import { STORE_WORLDS, WORLDS, type NamedWorld } from "./worlds.js";

const FEW = 500;
const MORE = 3_000;

describe("no law is broken in the first states of", () => {
  let real: Real;
  beforeAll(async () => {
    real = await realFunctions();
  });

  test.each(WORLDS)("$name", (world) => {
    const { fault, states } = explore(world.make(real), FEW);
    expect(fault).toBeNull();
    expect(states).toBe(FEW);
  });
});

describe("a search finds", () => {
  // Some need more states: `npm run search -- --planted` shows them.
  test.each(MISTAKES.filter(({ states = 0 }) => states < MORE))("$law: $what", async (mistake) => {
    const real = await realFunctions(mistake);
    const [world] = WORLDS.filter(({ name }) => name === mistake.worlds.at(-1));
    const { fault } = explore((world as NamedWorld).make(real), MORE);
    expect(fault?.law).toContain(mistake.law);
  });
});

test("a history that breaks a law is printed as a test", async () => {
  const { law = "", worlds: [name = ""] = [], ...mistake } = MISTAKES.find(({ what }) => what.endsWith("sends again acts twice")) ?? {};
  const world = WORLDS.find((each) => each.name === name) as NamedWorld;
  const { fault } = explore(world.make(await realFunctions(mistake as never)), MORE);
  const lines = asTest(name, law, fault?.state as StoreState).split("\n");
  expect([lines[0], ...lines.slice(4)]).toEqual([
    'test("L1", async () => {', "  expect(real.consumeRecords(records, policies[0]!, 1, 0).decision.allowed).toBe(true);",
    "  expect(real.consumeRecords(records, policies[0]!, 1, 0).decision.allowed).toBe(true);",
    '  real.adjustRecords(records, policies[0]!, -1, 0, {"at":0,"heldAt":0,"since":1999});', '  real.adjustRecords(records, policies[0]!, -1, 0, {"at":0,"heldAt":0,"since":1999});', "});",
  ]);
});

test("L1 · the bound needs its last term: works that overlap grant more than one capacity and what refills, and what they give back is all of it", async () => {
  const real = await realFunctions();
  const [chain] = STORE_WORLDS.filter(({ name }) => name === "a chain of works") as [StoreWorld];
  const few: StoreWorld = { ...chain, works: 6, instants: [0, 999, 1_998] };
  const facts = { real, policies: few.policies(real).map((options) => real.definePolicy(options)), cost: 1, instants: few.instants };
  const most = { net: 0, beyond: 0 };
  const { fault, isExhausted } = explore(storeWorld(few, real), MORE, ({ ledger: { moments, charged, filled, returned } }) => {
    const beyondOf = (...accounts: readonly Account[]): number => beyond(facts, 0, moments, moments.at(-1) as number, ...accounts);
    const [net, given, back] = [charged[0], filled[0], returned[0]] as [Account, Account, Account];
    most.net = Math.max(most.net, beyondOf(net, given));
    most.beyond = Math.max(most.beyond, beyondOf(net, given, back));
  });
  expect([fault, isExhausted, most]).toEqual([null, true, { net: 3, beyond: 2 }]);
});

test("the page on the proof has a row for each world", () => {
  const page = readFileSync(new URL("../../docs/proof.md", import.meta.url), "utf8");
  for (const { name } of WORLDS) expect(page).toContain(`| ${name} | `);
});

test("every law of a world has a planted mistake", () => {
  const laws = MISTAKES.map(({ law }) => law).join(", ");
  for (const law of ["L1", "L2", "L3", "L5", "L6", "L10", "L11", "L12", "L14", "L19", "L20", "L21", "L22"]) expect(laws).toContain(law);
});

describe("a world of two counters", () => {
  const counters = (most: number): World<readonly [number, number]> => ({
    name: "counters", start: [0, 0],
    *next([a, b]) {
      if (a < 3) yield { event: "a", state: [a + 1, b] };
      if (b < 3) yield { event: "b", state: [a, b + 1] };
    },
    nameOf: ([a, b]) => `${a},${b}`,
    broken: ([a, b]) => (a + b > most ? `${a} and ${b}` : undefined),
  });

  test("is searched until no new state is left", () => {
    expect(explore(counters(6))).toMatchObject({ states: 16, steps: 24, depth: 6, isExhausted: true, fault: null });
    expect(explore(counters(6), 10)).toMatchObject({ states: 10, isExhausted: false });
  });

  test("shows the shortest history of a fault", () => {
    expect(explore(counters(1)).fault).toEqual({ law: "2 and 0", events: ["a", "a"], state: [2, 0] });
  });
});

test("a fingerprint has 53 bits, and texts that are nearly alike differ", () => {
  const prints = new Set(Array.from({ length: 50_000 }, (_, i) => fingerprint(`0|p:${i},${i % 7},1|over,0`)));
  expect(prints.size).toBe(50_000);
  expect(Math.max(...prints)).toBeLessThan(2 ** 53);
});
