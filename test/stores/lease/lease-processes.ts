// Four processes on one key under leases, one of which is killed and one stopped for a while, judged from the outside: by the
// instants of their grants alone.
import { setTimeout as sleep } from "node:timers/promises";
import type { ChildProcess } from "node:child_process";

import { expect } from "vitest";
import { mostAhead } from "../../examples/llm-windows.js";
import { messageFrom, startProcess } from "../../helpers/processes.js";
import type { RateNumbers } from "../../helpers/arbitraries.js";

/** What one process is told. */
export interface LeaseChild {
  readonly kind: "redis" | "postgres";
  readonly url: string;
  /** The prefix or the table. */
  readonly name: string;
  readonly limit: RateNumbers;
  readonly leaseMs: number;
  /** How long it asks. */
  readonly ms: number;
  /** One answer in five comes so much later, at most. */
  readonly lateMs: number;
  /** How far its clock of the day steps to and fro. */
  readonly stepMs: number;
}

/** What a process tells now and then. */
export interface LeaseTale {
  /** The instants of its grants, of one token each. */
  readonly grants: number[];
  /** How many of them needed no call. */
  readonly leases: number;
  /** Calls to the store. */
  readonly calls: number;
}

const LIMIT = { capacity: 400, refill: { tokens: 2, everyMs: 1 } };
const LEASE_MS = 40;
const MS = 3_000;
const [STOPPED, KILLED] = [2, 3];

/** Runs the processes and checks the law of leases. Resolves when the killed one's tokens must have refilled. */
export async function leaseProcesses(what: string, server: Pick<LeaseChild, "kind" | "url" | "name">): Promise<RateNumbers> {
  const told: LeaseChild = { ...server, limit: LIMIT, leaseMs: LEASE_MS, ms: MS, lateMs: 0, stepMs: 0 };
  const own = [{ stepMs: 70 }, { lateMs: 5 * LEASE_MS }, {}, {}];
  const children = await Promise.all(own.map((each) => startProcess("test/stores/lease/lease-child.ts", [JSON.stringify({ ...told, ...each })])));
  try {
    await Promise.all(children.map(messageFrom)); // "ready"
    const grants: number[] = [];
    const sums = children.map(() => ({ grants: 0, leases: 0, calls: 0 }));
    const over = children.map((child, i) => new Promise<void>((resolve) => {
      child.once("exit", () => resolve());
      child.on("message", (message: LeaseTale | "over") => {
        if (message === "over") return resolve();
        const sum = sums[i] as (typeof sums)[number];
        for (const at of message.grants) grants.push(at);
        sum.grants += message.grants.length;
        sum.leases += message.leases;
        sum.calls += message.calls;
      });
    }));
    for (const child of children) child.send("go");
    await Promise.all([...over, trouble(children)]);

    const byInstant = new Map<number, number>();
    for (const at of grants) byInstant.set(at, (byInstant.get(at) ?? 0) + 1);
    const most = mostAhead([...byInstant], LIMIT);
    const bound = LIMIT.capacity + (LIMIT.refill.tokens * (LEASE_MS + 1)) / LIMIT.refill.everyMs; // instants are whole milliseconds
    const list = (of: "grants" | "leases" | "calls"): string => sums.map((sum) => sum[of]).join(" + ");
    console.log(`${what}, four processes under leases: ${list("grants")} granted, ${list("leases")} of them without a call, ${list("calls")} calls; at most ${most} of ${bound} ahead of the rate`);
    expect(most).toBeLessThanOrEqual(bound);
    expect(most).toBeGreaterThan(LIMIT.capacity / 4);
    for (const { leases } of sums) expect(leases).toBeGreaterThan(0);
  } finally {
    for (const child of children) child.kill("SIGKILL");
  }
  await sleep(LIMIT.capacity / (LIMIT.refill.tokens / LIMIT.refill.everyMs) + 50);
  return LIMIT;
}

/** Stops a process for longer than a lease, and kills another in a flood. */
async function trouble(children: readonly ChildProcess[]): Promise<void> {
  await sleep(900);
  children[STOPPED]?.kill("SIGSTOP");
  await sleep(10 * LEASE_MS);
  children[STOPPED]?.kill("SIGCONT");
  await sleep(600 - (Date.now() % 600) + 75);
  children[KILLED]?.kill("SIGKILL");
}
