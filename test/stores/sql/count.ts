// Four processes on one table: not one token too many, not one lost.
import { expect } from "vitest";
import { messageFrom, startProcess } from "../../helpers/processes.js";

/** The grants of one process. */
export interface Counts {
  one: number;
  fresh: number;
  together: number;
}

const PROCESSES = 4;

/** Starts four processes over one table, and counts what they got together. `execPath` is the Node to run them. */
export async function countGrants(kind: "mysql" | "sqlite", place: string, execPath?: string): Promise<void> {
  const children = await Promise.all(Array.from({ length: PROCESSES }, (_, i) => startProcess("test/stores/sql/count-child.ts", [kind, place, String(i)], execPath)));
  try {
    await Promise.all(children.map(messageFrom)); // "ready"
    const began = performance.now();
    for (const child of children) child.send("go");
    const all = await Promise.all(children.map((child) => messageFrom<Counts>(child)));
    const sum = (name: keyof Counts): number => all.reduce((total, counts) => total + counts[name], 0);
    const granted = { one: sum("one"), fresh: sum("fresh"), together: sum("together") };
    console.log(`${kind}, four processes: ${PROCESSES * 8 * 25 * 3} decisions in ${Math.round(performance.now() - began)} ms, granted ${JSON.stringify(granted)}`);
    expect(granted).toEqual({ one: 300, fresh: 50, together: 100 });
  } finally {
    for (const child of children) child.kill("SIGKILL");
  }
}
