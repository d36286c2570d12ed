import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { callersOf, inRounds, sample, type Side } from "./measure.js";
import { median } from "./ratios.js";
import type { RedisServer } from "./redis-server.js";
import { EXPRESS, PEER, SLUICE, type Client } from "./redis-sides.js";
import { plot, quick, show, type Series } from "./results.js";

const ROUNDS = quick ? 1 : 3;
const CALLERS = [1, 4, 16, 64, 256, 1_024, 4_096];
const PROCESSES = [1, 2, 3, 4];
const KEYS = callersOf(20_000);
const WORKER = fileURLToPath(new URL("./redis-process.ts", import.meta.url));

/** Thousands of decisions per second, by the number of callers or processes. */
type Points = Map<string, Array<{ x: number; y: number; low: number; high: number }>>;

/** Decisions per second in this process, by the number of callers. */
export async function asCallersGrow(client: Client, server: RedisServer): Promise<void> {
  const sides = client.allowed.filter(({ name }) => name !== EXPRESS);
  const lines: Points = new Map(sides.map(({ name }) => [name, []]));
  for (const callers of CALLERS) {
    const load = { callers, calls: (quick ? 1_000 : 2_000) + 8 * callers, keys: KEYS, expected: true, serverCpu: server.cpu };
    keep(lines, callers, await inRounds(`${client.name}, ${callers} callers`, sides, ROUNDS, async (side: Side) => (await sample(side, load)).perSecond));
  }
  tell(`${client.name}: thousands of decisions a second as callers grow`, `redis-callers-${client.name}`, lines);
}

/** Decisions per second of all processes together, by the number of processes on one Redis. */
export async function asProcessesGrow(server: RedisServer): Promise<void> {
  const sides = [{ name: SLUICE }, { name: PEER }];
  const lines: Points = new Map(sides.map(({ name }) => [name, []]));
  const children: ChildProcess[] = [];
  try {
    for (const processes of PROCESSES) {
      const child = fork(WORKER, [String(server.port)]);
      children.push(child);
      await once(child, "message");
      const ms = quick ? 300 : 1_000;
      const results = await inRounds(`ioredis, ${processes} processes`, sides, ROUNDS, async ({ name }) => {
        const answers = children.map((each) => once(each, "message") as Promise<[number]>);
        for (const each of children) each.send({ name, ms });
        return ((await Promise.all(answers)).reduce((sum, [decisions]) => sum + decisions, 0) / ms) * 1_000;
      });
      keep(lines, processes, results);
    }
  } finally {
    for (const child of children) child.kill();
  }
  tell("ioredis: thousands of decisions a second as processes on one Redis grow", "redis-processes", lines);
}

function keep(lines: Points, x: number, results: ReadonlyMap<string, readonly number[]>): void {
  for (const [name, perSecond] of results) {
    const thousands = perSecond.map((each) => each / 1_000);
    lines.get(name)?.push({ x, y: median(thousands), low: Math.min(...thousands), high: Math.max(...thousands) });
  }
}

function tell(title: string, name: string, lines: Points): void {
  show(title, Object.fromEntries([...lines].map(([side, points]) => [side, Object.fromEntries(points.map(({ x, y }) => [x, Number(y.toFixed(1))]))])));
  plot(name, [...lines].map(([side, points]): Series => ({ name: side, points })));
}
