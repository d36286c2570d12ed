// The shipped script with the deny cache and batches on, asked by four processes at once.
import { once } from "node:events";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { messageFrom, startProcess } from "../helpers/processes.js";
import { startRedis } from "../helpers/own-redis.js";
import { describeWith } from "../helpers/services.js";
import { replay, type Told } from "./redis-replay.js";

const PROCESSES = 4;
const STEPS = 900;

describeWith("redis-server", "Redis, four processes", () => {
  test("L8, L10, L14 · in whatever order their calls interleave, every answer that any of them got is the core's", async () => {
    const server = await startRedis();
    const observer = new Redis(server.url);
    const children = Array.from({ length: PROCESSES }, (_, i) =>
      startProcess("test/stores/redis-replay-child.ts", [server.url, String(Number(process.env["FC_SEED"]) + i), String(STEPS)]),
    );
    try {
      const order: string[] = [];
      const monitor = await observer.monitor();
      monitor.on("monitor", (_time: string, [name]: string[], source: string) => {
        if (/^eval/i.test(name as string)) order.push(source);
      });
      await Promise.all(children.map(messageFrom)); // "ready"
      for (const child of children) child.send("go");
      const told = await Promise.all(children.map((child) => messageFrom<Told>(child)));
      // What the monitor has still to tell comes before the answer to this.
      const calls = told.reduce((sum, { calls: list }) => sum + list.length, 0);
      while (order.length < calls) await once(monitor, "monitor");
      monitor.disconnect();

      const { steps, denials, changes, back, fromMemory, unknownScript } = replay(order, told);
      const share = (part: number): string => `${part} (${Math.round((part / steps) * 100)} %)`;
      console.log(
        `Redis, ${PROCESSES} processes: ${steps} steps in ${calls} calls, ${share(denials)} denials, ${share(changes)} changes of numbers, ` +
          `${share(back)} steps back; ${share(fromMemory)} from memory, ${unknownScript} calls after a flush of the scripts`,
      );
      for (const part of [denials, changes, back, fromMemory]) expect(part).toBeGreaterThan(steps / 20);
      expect(unknownScript).toBeGreaterThan(0);
    } finally {
      for (const child of children) child.kill("SIGKILL");
      observer.disconnect();
      await server.stop();
    }
  }, 30_000);
});
