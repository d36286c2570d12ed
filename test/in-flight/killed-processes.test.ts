// Four processes work under one limit in flight over a real Redis. One of them is killed again and again.
import { Redis } from "ioredis";
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createLimiter } from "sluice";
import { RedisStore } from "sluice/redis";
import { expect, test } from "vitest";
import { startProcess } from "../helpers/processes.js";
import { describeWith, redisUrl } from "../helpers/services.js";
import { mostAtOnce, sharedInstant, type Spell } from "../helpers/spells.js";
import { CAPACITY, chat, STALE_MS } from "./killed-policy.js";

const PROCESSES = 4;
const KILLS = 4;
// The law: no place of a dead process is held for longer than `staleAfterMs` and a sixteenth.
const LOST_MS = (STALE_MS * 17) / 16;
// For the last calls of a process that dies, for those of the observer, and for a busy machine.
const MARGIN_MS = 750;
const POLL_MS = 15;

/** What the observer saw: so many places were held at an instant between the two. */
interface Look {
  readonly sent: number;
  readonly answered: number;
  readonly held: number;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describeWith("redis", "limits in flight over Redis", () => {
  test("L21 · while processes are killed, never more than the capacity is at work, and no place is lost for longer than its date", async () => {
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
    const kills: { at: number; places: number }[] = [];
    const kill = async ({ process: one, open }: (typeof children)[number]): Promise<void> => {
      const exited = new Promise((resolve) => one.once("exit", resolve));
      const killedAt = sharedInstant();
      one.kill("SIGKILL");
      await exited;
      await sleep(POLL_MS); // its last messages
      kills.push({ at: sharedInstant(), places: open.size });
      for (const spell of open.values()) spell.ended = killedAt;
    };

    const client = new Redis(redisUrl());
    const limiter = createLimiter({ policy: chat, store: new RedisStore(client, { prefix, denyCacheMs: 0, timeoutMs: 5_000 }) });
    const looks: Look[] = [];
    const look = async (): Promise<Look> => {
      const sent = sharedInstant();
      const { limits } = await limiter.peek("one", 0);
      const remaining = limits?.find(({ limit }) => limit === "parallel")?.remaining as number;
      return { sent, answered: sharedInstant(), held: CAPACITY - remaining };
    };
    let isOver = false;
    const observe = async (): Promise<void> => {
      for (; !isOver; await sleep(POLL_MS)) looks.push(await look());
    };

    const children = await Promise.all(Array.from({ length: PROCESSES }, child));
    const observed = observe();
    try {
      await sleep(STALE_MS);
      for (let i = 0; i < KILLS; i++) {
        await kill(children.shift() as (typeof children)[number]);
        await sleep(LOST_MS + MARGIN_MS);
        children.push(await child());
        await sleep(500);
      }
      for (const one of children) await kill(one);
      await sleep(LOST_MS + MARGIN_MS);
    } finally {
      isOver = true;
      await observed;
      await limiter.reset("one");
      client.disconnect();
    }

    expect(mostAtOnce(spells)).toBeLessThanOrEqual(CAPACITY);
    // Renewal kept many of these works, and processes died in the middle of some.
    const long = spells.filter(({ began, ended }) => ended - began > LOST_MS * 1_000);
    expect(long.length).toBeGreaterThan(KILLS);
    expect(kills.slice(0, KILLS).reduce((sum, { places }) => sum + places, 0)).toBeGreaterThan(0);
    // Work of living processes holds a place from before it says that it begins until after it says that it ends. If there are
    // as many works as places that are held, then no dead process holds one.
    const isClean = ({ sent, answered, held }: Look): boolean =>
      held <= spells.filter(({ began, ended }) => began <= sent && ended >= answered).length;
    const lostMs = kills.map(({ at }) => {
      const first = looks.find((each) => each.sent >= at && isClean(each));
      return first === undefined ? Infinity : (first.answered - at) / 1_000;
    });
    for (const ms of lostMs.slice(0, KILLS)) expect(ms).toBeLessThan(LOST_MS + MARGIN_MS);
    // All have died: all places come back.
    expect(looks.at(-1)?.held).toBe(0);
  }, 60_000);
});
