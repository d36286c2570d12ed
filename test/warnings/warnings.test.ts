import { perSecond, type Limiter, type WarningCode, MemoryStore } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { messageFrom, startProcess } from "../helpers/processes.js";
import { freshSluice } from "../helpers/warned.js";
import { anchorsOf } from "../helpers/docs-read.js";
import type { Heard } from "./cluster-child.js";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

const policy = { name: "api", capacity: 5, refill: perSecond(1) };

/** The codes of the headings of the guide, which `silenceWarnings` must know, and no others. */
const codes = [...anchorsOf("docs/guides/warnings.md")].filter((anchor) => anchor.startsWith("sluice_")).map((anchor) => anchor.toUpperCase() as WarningCode);

/** Makes so many limiters, each in a turn of its own, as requests would. */
async function eachInItsTurn(count: number, make: (i: number) => Limiter): Promise<void> {
  for (let i = 0; i < count; i++) {
    make(i);
    await Promise.resolve();
  }
}

/** The variables of test runners, without which this process looks like a server. */
const RUNNERS = ["VITEST", "JEST_WORKER_ID", "NODE_TEST_CONTEXT", "NODE_ENV"];
const outsideOfTests = (): void => RUNNERS.forEach((name) => void vi.stubEnv(name, ""));

/** A limiter's options with an observer that fails. */
const broken = ({ createObserver }: Pick<typeof import("sluice"), "createObserver">) => ({
  policy,
  observe: createObserver(() => {
    throw new Error("my exporter is down");
  }),
});

describe("a warning", () => {
  test("is given once for its code, however many limiters see it", async () => {
    const { createLimiter, createObserver, codes } = await freshSluice();
    for (let i = 0; i < 3; i++) for (const key of ["ann", "bob"]) createLimiter(broken({ createObserver })).consume(key);
    expect(codes()).toEqual(["SLUICE_FUNCTION_FAILED"]);
  });

  test("is in one line, and says where to read on", async () => {
    const { createLimiter, createObserver, given } = await freshSluice();
    createLimiter(broken({ createObserver })).consume("ann");
    expect(given[0]?.message).not.toContain("\n");
    expect(given[0]?.detail).toMatch(/\nSee https:\/\/\S+\/docs\/guides\/warnings\.md#sluice_function_failed$/);
  });

  test("is not given when its code is silenced, and others are", async () => {
    const { createLimiter, createObserver, silenceWarnings, codes } = await freshSluice();
    silenceWarnings("SLUICE_FUNCTION_FAILED", "SLUICE_HEADERS_SENT");
    outsideOfTests();
    createLimiter(broken({ createObserver })).consume("ann");
    await eachInItsTurn(100, () => createLimiter({ policy }));
    expect(codes()).toEqual(["SLUICE_LIMITER_PER_REQUEST"]);
  });

  test("goes to the console where there is no `process`", async () => {
    const { createLimiter, createObserver } = await freshSluice();
    const warned = vi.spyOn(console, "warn").mockReturnValue();
    vi.stubGlobal("process", undefined);
    createLimiter(broken({ createObserver })).consume("ann");
    vi.unstubAllGlobals();
    expect(warned.mock.calls).toEqual([[expect.stringMatching(/^\[SLUICE_FUNCTION_FAILED\] A listener of `createObserver` threw/)]]);
  });

  test("goes to the console on Workers, where Node's `process` prints nothing", async () => {
    const { createLimiter, createObserver, given } = await freshSluice();
    const warned = vi.spyOn(console, "warn").mockReturnValue();
    vi.stubGlobal("WebSocketPair", class WebSocketPair {});
    createLimiter(broken({ createObserver })).consume("ann");
    expect([warned.mock.calls.length, given]).toEqual([1, []]);
  });

  test("has a heading in the guide, and every heading is of one", async () => {
    const { silenceWarnings } = await freshSluice();
    expect(codes.length).toBeGreaterThan(10);
    expect(() => silenceWarnings("" as WarningCode)).toThrow(new RangeError(`Expected \`code\` to be one of ${codes.join(", ")}, got ""`));
  });
});

test("silenceWarnings knows the codes", async () => {
  const { silenceWarnings } = await freshSluice();
  for (const code of codes) expect(() => silenceWarnings(code)).not.toThrow();
  expect(() => silenceWarnings("SLUICE_COUNTED_TWIC" as WarningCode)).toThrow(RangeError);
});

describe("SLUICE_LIMITER_PER_REQUEST", () => {
  beforeEach(outsideOfTests);

  test.each([["VITEST", "true"], ["JEST_WORKER_ID", "1"], ["NODE_TEST_CONTEXT", "child-v8"], ["NODE_ENV", "test"]])("not in tests, known by %s", async (name, value) => {
    const { createLimiter, given } = await freshSluice();
    vi.stubEnv(name, value);
    await eachInItsTurn(200, () => createLimiter({ policy }));
    expect(given).toEqual([]);
    vi.stubEnv(name, "");
    await eachInItsTurn(100, () => createLimiter({ policy }));
    // Other runners set none of these.
    expect(given).toMatchObject([{ message: expect.stringContaining("In tests, which make an app each, silenceWarnings") as string }]);
  });

  test("when a hundred limiters of one policy are made within a minute", async () => {
    const { createLimiter, given } = await freshSluice();
    await eachInItsTurn(99, () => createLimiter({ policy }));
    expect(given).toEqual([]);
    createLimiter({ policy });
    expect(given).toMatchObject([{ code: "SLUICE_LIMITER_PER_REQUEST", message: expect.stringContaining('policy "api"') as string }]);
  });

  test("not when they are made in one go, such as one for each route", async () => {
    const { createLimiter, given } = await freshSluice();
    for (let i = 0; i < 500; i++) createLimiter({ policy });
    expect(given).toEqual([]);
  });

  test("not when it takes them longer than a minute", async () => {
    vi.useFakeTimers({ toFake: ["performance", "Date"] });
    const { createLimiter, given } = await freshSluice();
    for (let minute = 0; minute < 3; minute++) {
      await eachInItsTurn(99, () => createLimiter({ policy }));
      vi.advanceTimersByTime(60_001);
    }
    expect(given).toEqual([]);
  });

  test("not when their numbers differ", async () => {
    const { createLimiter, given } = await freshSluice();
    await eachInItsTurn(200, (i) => createLimiter({ policy: { ...policy, capacity: i + 1 } }));
    expect(given).toEqual([]);
  });

  test("not when they have a clock of their own, as tests do", async () => {
    const { createLimiter, given } = await freshSluice();
    await eachInItsTurn(200, () => createLimiter({ policy, store: new MemoryStore({ clock: () => 0 }) }));
    expect(given).toEqual([]);
  });
});

describe("SLUICE_MEMORY_IN_CLUSTER", () => {
  test("in each worker of a cluster, and nowhere else, for memory stores alone", async () => {
    const primary = await startProcess("test/warnings/cluster-child.ts", []);
    try {
      const heard = await messageFrom<Heard>(primary);
      expect(heard).toEqual({
        primary: [],
        "another store": [],
        memory: ["SLUICE_MEMORY_IN_CLUSTER"],
        silenced: [],
      });
    } finally {
      primary.kill();
    }
  });
});
