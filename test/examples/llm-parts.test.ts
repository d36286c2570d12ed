// Parts of examples/llm by themselves: waiting, counting, and the check that the processes are held to.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { MemoryStore, RefusedError } from "sluice";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createBudget, keysOf, minute, month } from "../../examples/llm/budgets.js";
import { nightShift } from "../../examples/llm/jobs.js";
import { Meter } from "../../examples/llm/meter.js";
import { bundled } from "../helpers/bundled.js";
import { mostAhead } from "./llm-windows.js";
import { ask } from "./llm-world.js";

test("main starts a gateway and a language model, and logs what each answer is charged for", async () => {
  const program = spawn(process.execPath, [await bundled("examples/llm/main.ts"), "--memory"], { env: { ...process.env, PORT: "0" }, stdio: ["ignore", "pipe", "inherit"] });
  try {
    let said = "";
    program.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    while (!said.includes("\n")) await once(program.stdout, "data");
    const url = /gateway (\S+), language model http/.exec(said)?.[1] as string;
    const response = await ask(url, { as: "ann-key", prompt: "write 3" });
    expect([response.status, (await response.text()).includes("[DONE]")]).toEqual([200, true]);
    while (!said.includes('"complete"')) await once(program.stdout, "data");
    expect(JSON.parse(said.trim().split("\n").at(-1) as string)).toMatchObject({ caller: { user: "ann", team: "red" }, estimate: 102, used: 5 });
    expect((await ask(url, { as: "dan-key", prompt: "write 3" })).status).toBe(401);
  } finally {
    program.kill();
  }
});

test("a job waits for its tokens as long as it must, pays for what it used, and can be stopped", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const clock = () => performance.now();
  const budget = createBudget("large", { user: { ...minute(3, 1_000), ...month(100_000, 4) }, team: minute(4, 1_500) }, new MemoryStore({ clock }));
  const work = nightShift(budget);
  const stop = new AbortController();
  const start = performance.now();
  const done: string[] = [];
  const job = (name: string, estimate: number, used: number) => {
    const ask = async () => ({ answer: done.push(`${name} at ${performance.now() - start}`), used });
    return work({ caller: { user: "ann", team: "red" }, estimate, ask }, stop.signal);
  };
  const jobs = Promise.all([job("a", 500, 500), job("b", 500, 100), job("c", 900, 900)]);
  const impossible = expect(job("d", 1_001, 0)).rejects.toThrow(RefusedError);
  await vi.advanceTimersByTimeAsync(60_000);
  await jobs;
  await impossible;
  expect(done).toEqual(["a at 0", "b at 0", "c at 30000"]); // 600 were used, and 500 of 1000 a minute have to come back
  const stopped = expect(job("e", 1_000, 0)).rejects.toThrow("the night is over");
  stop.abort(new Error("the night is over"));
  await stopped;
  expect(budget.peek(keysOf({ user: "ann", team: "red" }), 0)).toMatchObject({ allowed: true });
  expect(done).toHaveLength(3);
});

test("the meter counts the pieces of a tool call", () => {
  const meter = new Meter(5);
  meter.read(new TextEncoder().encode('data: {"choices":[{"delta":{"role":"assistant"}}]}\n\ndata: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}\n\n'));
  expect([meter.used, meter.text]).toEqual([6, ""]);
});

test("the meter reads events that arrive in pieces", () => {
  const stream = 'data: {"choices":[{"delta":{"content":"Grü"}}]}\n\ndata: {"choices":[{"delta":{"content":"ße"}}]}\n\n: a comment\n\ndata: {"choices":[],"usage":{"total_tokens":9}}\n\ndata: [DONE]\n\n';
  const meter = new Meter(5);
  const seen = new Set<number>();
  for (const byte of new TextEncoder().encode(stream)) {
    meter.read(Uint8Array.of(byte));
    seen.add(meter.used);
  }
  expect([...seen]).toEqual([5, 6, 7, 9]);
  expect(meter.text).toBe("Grüße");
});

describe("the independent check", () => {
  const limit = { capacity: 30_000, refill: { tokens: 30_000, everyMs: 60_000 } };

  test("finds the 59,000 of 30,000 tokens, in the window where they are", () => {
    expect(mostAhead([[0, 1_000], [60_000, 30_000], [60_000, 29_000]], limit)).toBe(59_000);
  });

  test("finds a single token too many, and none where there is none", () => {
    expect(mostAhead([[0, 30_000], [10_000, 5_000], [11_000, 500]], limit)).toBe(30_000);
    expect(mostAhead([[11_000, 500], [0, 30_000], [10_000, 5_001]], limit)).toBe(30_001);
  });
});
