// The log of examples/logging: one line for each key and minute, whatever floods it.
import { createLimiter, MemoryStore, perHour, type Decision, type Key } from "sluice";
import { ManualClock } from "sluice/testing";
import { beforeEach, expect, test } from "vitest";
import { buildServer } from "../../examples/logging/main.js";
import { createRefusalLog, hashOf } from "../../examples/logging/refusal-log.js";
import { listen } from "../adapters/rows/listen.js";

const START = Date.UTC(2026, 10, 20, 12);
let clock: ManualClock;
let lines: Record<string, unknown>[];
const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
beforeEach(() => {
  clock = new ManualClock(START);
  lines = [];
});

/** A limiter of which every second call and later is refused. */
function refusing(): (key: Key) => Decision {
  const limiter = createLimiter({ policy: { name: "api", capacity: 1, refill: perHour(1) }, store: new MemoryStore({ clock: clock.now }) });
  return (key) => (limiter.consume(key), limiter.consume(key));
}

test("a flood of 100,000 refusals of one key is one line a minute, which counts the others", () => {
  const log = createRefusalLog({ secret: "s", write, now: clock.now });
  const decide = refusing();
  for (let i = 0; i < 100_000; i++) log(decide(["user", "ann"]), ["user", "ann"]);
  expect(lines).toEqual([{ time: "2026-11-20T12:00:00.000Z", key: hashOf(["user", "ann"], "s"), policy: "api", reason: "limited", retryAfterMs: 3_600_000 }]);
  clock.advance(59_999);
  log(decide(["user", "ann"]), ["user", "ann"]);
  expect(lines).toHaveLength(1);
  clock.advance(1);
  log(decide(["user", "ann"]), ["user", "ann"]);
  expect(lines.slice(1)).toMatchObject([{ more: 100_000 }, { reason: "limited" }]);
});

test("allowed requests are no lines, and each policy and each unidentified caller has its own", () => {
  const log = createRefusalLog({ secret: "s", write, now: clock.now });
  const decision = refusing()("ann");
  log({ ...decision, allowed: true, reason: null } as Decision, "ann");
  log(decision, null);
  log({ ...decision, policy: "bulk" }, null);
  expect(lines.map(({ key, policy }) => [key, policy])).toEqual([[hashOf(null, "s"), "api"], [hashOf(null, "s"), "bulk"]]);
});

test("200,000 keys are at most 10,000 lines and entries a minute; all others are counted together", () => {
  const log = createRefusalLog({ secret: "s", write, now: clock.now });
  const decision = refusing()("any");
  for (let i = 0; i < 200_000; i++) log(decision, `device-${i}`);
  expect(lines).toHaveLength(10_000);
  clock.advance(60_000);
  log(decision, "device-0");
  expect(lines.slice(10_000)).toMatchObject([{ others: 190_000 }, { key: hashOf("device-0", "s") }]);
});

test("the last refusals are written without a further one", () => {
  const log = createRefusalLog({ secret: "s", write, now: clock.now });
  const decision = refusing()("any");
  for (let i = 0; i < 3; i++) log(decision, "ann");
  clock.advance(30_000);
  for (let i = 0; i < 5; i++) log(decision, "bob");
  clock.advance(30_000);
  log.sweep();
  expect(lines.slice(2)).toEqual([{ time: "2026-11-20T12:01:00.000Z", key: hashOf("ann", "s"), policy: "api", more: 2 }]);
  log.end();
  expect(lines.slice(3)).toEqual([{ time: "2026-11-20T12:01:00.000Z", key: hashOf("bob", "s"), policy: "api", more: 4 }]);
  log.end();
  expect(lines).toHaveLength(4);
});

test("the hash depends on the secret and on the whole key, and shows nothing of it", () => {
  const hashes = [hashOf(["user", "ann"], "s"), hashOf(["user", "ann"], "t"), hashOf(["device", "ann"], "s"), hashOf("ann", "s"), hashOf(["user", 7n], "s")];
  expect(new Set(hashes).size).toBe(5);
  expect([hashOf(["user", "42"], "s"), hashOf(["user", 42n], "s")]).toEqual([hashOf(["user", 42], "s"), hashOf(["user", 42], "s")]);
  for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{16}$/);
});

test("the server logs whom it refuses", async () => {
  const { port, close } = await listen(buildServer(write));
  try {
    const ask = () => fetch(`http://127.0.0.1:${port}/inbox`, { headers: { authorization: "Bearer token-of-ann" } });
    const statuses = await Promise.all(Array.from({ length: 6 }, async () => (await ask()).status));
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
    expect(lines).toMatchObject([{ key: hashOf(["user", "ann"], "only for the demo"), policy: "interactive", reason: "limited" }]);
  } finally {
    await close();
  }
});
