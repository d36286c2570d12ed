import { spawn } from "node:child_process";
import { once } from "node:events";
import { createLimiter, perSecond, createWaiter } from "sluice";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runJobs, type Job } from "../../examples/job-runner/runner.js";
import { bundled } from "../helpers/bundled.js";

describe("a job runner", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
  afterEach(() => void vi.useRealTimers());

  const line = () => createWaiter(createLimiter({ policy: { name: "mail", capacity: 2, refill: perSecond(1) } }), { maxWaitMs: 3_000 });
  const job = (id: string, cost = 1, account = "news"): Job => ({ id, account, cost });

  test("sends in order, each account at its own pace, and puts off what would come too late or never fits", async () => {
    const start = performance.now();
    const log: string[] = [];
    const send = async ({ id }: Job): Promise<void> => void log.push(`${id} at ${performance.now() - start}`);
    const jobs = [job("a"), job("b", 2), job("c"), job("d", 2), job("other", 2, "invoices"), job("huge", 3)];
    const running = runJobs(jobs, line(), send, new AbortController().signal);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(log).toEqual(["a at 0", "other at 0", "b at 1000", "c at 2000"]);
    expect(await running).toEqual({
      sent: ["a", "other", "b", "c"],
      putOff: expect.arrayContaining([{ id: "d", why: "limited", retryAfterMs: 4_000 }, { id: "huge", why: "cost_above_capacity", retryAfterMs: Infinity }]) as unknown,
      left: [],
      failed: [],
    });
  });

  test("stopped, begins nothing more and takes nothing for what it leaves", async () => {
    const stop = new AbortController();
    const running = runJobs([job("a", 2), job("b"), job("c")], line(), async () => undefined, stop.signal);
    await vi.advanceTimersByTimeAsync(1_000);
    stop.abort();
    expect(await running).toEqual({ sent: ["a", "b"], putOff: [], left: ["c"], failed: [] });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a job that fails does not hold up the others", async () => {
    const gone = new Error("mailbox full");
    const running = runJobs([job("a"), job("b")], line(), ({ id }) => (id === "a" ? Promise.reject(gone) : Promise.resolve()), new AbortController().signal);
    expect(await running).toMatchObject({ sent: ["b"], failed: [{ id: "a", error: gone }] });
  });
});

test("the program runs, and ends in order when it is told to", async () => {
  const child = spawn(process.execPath, [await bundled("examples/job-runner/main.ts")], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const before = output.includes("sent mail 20 ");
    output += text;
    if (!before && output.includes("sent mail 20 ")) child.kill("SIGTERM");
  });
  const [code] = (await once(child, "close")) as [number | null];
  expect(code).toBe(0);
  expect(output).toMatch(/\d+ sent, 0 put off, \d+ left for the next time\n$/);
  const sent = output.match(/^sent mail \d+/gm)?.length ?? 0;
  expect(output).toContain(`${sent} sent, 0 put off, ${100 - sent} left`);
});
