// The shipped script with the deny cache and batches on, asked by four processes at once: by a clock that wanders, and as it comes.
import { once } from "node:events";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { startRedis } from "../../helpers/own-redis.js";
import { messageFrom, startProcess } from "../../helpers/processes.js";
import { describeWith } from "../../helpers/services.js";
import { replay, type Mode, type Told } from "./replay.js";

const PROCESSES = 4;
const STEPS = 900;
const name = "in whatever order their calls interleave, every answer that any of them got is the core's";

describeWith("redis-server", "Redis, four processes", () => {
  test(`L8, L10, L14 · ${name}, by a clock that wanders`, async () => {
    const { steps, back, line } = await run("told");
    console.log(`Redis, ${line}, ${Math.round((back / steps) * 100)} % steps back`);
    expect(back).toBeGreaterThan(steps / 20);
  });

  test(`L8, L10, L14 · ${name}, as the store comes, by the server's own clock`, async () => {
    const { line } = await run("server");
    console.log(`Redis by its own clock, ${line}; no steps back, which a server's clock does not make when told to: the clock that wanders has them`);
  });
});

async function run(mode: Mode): Promise<{ steps: number; back: number; line: string }> {
  const server = await startRedis();
  const observer = new Redis(server.url);
  const children = await Promise.all(
    Array.from({ length: PROCESSES }, (_, i) =>
      startProcess("test/stores/redis/replay-child.ts", [server.url, String(Number(process.env["FC_SEED"]) + i), String(STEPS), mode]),
    ),
  );
  try {
    const order: string[] = [];
    const monitor = await observer.monitor();
    monitor.on("monitor", (_time: string, [command]: string[], source: string) => {
      if (/^eval/i.test(command as string)) order.push(source);
    });
    await Promise.all(children.map(messageFrom)); // "ready"
    for (const child of children) child.send("go");
    const told = await Promise.all(children.map((child) => messageFrom<Told>(child)));
    // What the monitor has still to tell comes before the answer to this.
    const calls = told.reduce((sum, { calls: list }) => sum + list.length, 0);
    while (order.length < calls) await once(monitor, "monitor");
    monitor.disconnect();

    const { steps, denials, changes, back, fromMemory, unknownScript, lone, handedOn } = replay(order, told, mode);
    for (const part of [denials, changes, fromMemory]) expect(part).toBeGreaterThan(steps / 20);
    expect(unknownScript).toBeGreaterThan(0);
    // The script for lone decisions has the server's clock alone.
    for (const times of [lone, handedOn]) expect(times > 0).toBe(mode === "server");
    const share = (part: number): string => `${part} (${Math.round((part / steps) * 100)} %)`;
    const line =
      `${PROCESSES} processes: ${steps} steps in ${calls} calls, of which ${lone} lone and ${handedOn} handed on, ${share(denials)} denials, ${share(changes)} changes of numbers, ` +
      `${share(fromMemory)} from memory, ${unknownScript} calls after a flush of the scripts`;
    return { steps, back, line };
  } finally {
    for (const child of children) child.kill("SIGKILL");
    observer.disconnect();
    await server.stop();
  }
}
