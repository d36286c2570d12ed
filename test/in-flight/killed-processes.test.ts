// Four processes work under one limit in flight over a real Redis. One of them is killed again and again.
import { Redis } from "ioredis";
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createLimiter, type Decision, type Reading } from "sluice";
import { RedisStore } from "sluice/redis";
import { expect, test, vi } from "vitest";
import { startProcess } from "../helpers/processes.js";
import { describeWith, redisUrl } from "../helpers/services.js";
import { mostAtOnce, sharedInstant, type Spell } from "../helpers/spells.js";
import { CAPACITY, chat, STALE_MS } from "./killed-policy.js";

const PROCESSES = 4;
const KILLS = 5;
const BETWEEN_MS = 1_500;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describeWith("redis", "limits in flight over Redis", () => {
  test("L21 · while processes are killed, never more than the capacity is at work, and no token is lost for longer than its date", async () => {
    const prefix = `killed-${process.pid}-${Date.now()}`;
    const spells: Spell[] = [];
    const child = async (): Promise<{ process: ChildProcess; open: Map<number, Spell> }> => {
      const started = await startProcess(join(import.meta.dirname, "killed-child.ts"), [redisUrl(), prefix]);
      const open = new Map<number, Spell>();
      started.on("message", ({ began, ended }: { began: number; ended?: number }) => {
        const known = open.get(began);
        if (known === undefined) {
          const spell = { began, ended: Infinity };
          spells.push(spell);
          open.set(began, spell);
        } else {
          known.ended = ended as number;
          open.delete(began);
        }
      });
      return { process: started, open };
    };
    const children = await Promise.all(Array.from({ length: PROCESSES }, child));
    const ends: Array<() => void> = [];
    const kill = async ({ process: one, open }: (typeof children)[number]): Promise<void> => {
      const killedAt = sharedInstant();
      const exited = new Promise((resolve) => one.once("exit", resolve));
      one.kill("SIGKILL");
      await exited;
      ends.push(() => open.forEach((spell) => (spell.ended = Math.min(spell.ended, killedAt))));
    };
    for (let i = 0; i < KILLS; i++) {
      await sleep(BETWEEN_MS);
      await kill(children.shift() as (typeof children)[number]);
      children.push(await child());
    }
    await sleep(BETWEEN_MS);
    await Promise.all(children.map(kill));
    for (const end of ends) end();
    expect(spells.length).toBeGreaterThan(100);
    expect(mostAtOnce(spells)).toBeLessThanOrEqual(CAPACITY);
    // All tokens of the dead come back by themselves.
    const client = new Redis(redisUrl());
    try {
      const limiter = createLimiter({ policy: chat, store: new RedisStore(client, { prefix, denyCacheMs: 0, timeoutMs: 5_000 }) });
      const parallel = (decision: Decision): Reading | undefined => decision.limits?.find(({ limit }) => limit === "parallel");
      const soon = { timeout: STALE_MS * 2, interval: 50 };
      await vi.waitFor(async () => expect(parallel(await limiter.peek("one", 0))?.remaining).toBe(CAPACITY), soon);
      await limiter.reset("one");
    } finally {
      client.disconnect();
    }
  }, 60_000);
});
