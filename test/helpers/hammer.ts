// Four processes on one key of a server: not one token too many, not one lost.
import { TokenBucket, type LimitOptions } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect } from "vitest";
import { messageFrom, startProcess } from "./processes.js";

/** One decision of the server: its instant, and whether it was granted. */
export type Told = readonly [now: number, granted: boolean];

/**
 * Starts a file in four processes with these arguments, the limit and the milliseconds to go on for. Each says that it is
 * ready, waits for a word, and then sends all that it was {@link Told}.
 */
export async function hammer(what: string, file: string, args: readonly string[], limit: LimitOptions): Promise<void> {
  const children = Array.from({ length: 4 }, () => startProcess(file, [...args, JSON.stringify(limit), "2000"]));
  try {
    await Promise.all(children.map(messageFrom)); // "ready"
    for (const child of children) child.send("go");
    judge(what, limit, (await Promise.all(children.map((child) => messageFrom<Told[]>(child)))).flat());
  } finally {
    for (const child of children) child.kill("SIGKILL");
  }
}

function judge(what: string, limit: LimitOptions, told: Told[]): void {
  // In the order of the server: at one instant nothing comes back, so the grants of it were before its refusals.
  told.sort(([now, granted], [other, wasGranted]) => now - other || Number(wasGranted) - Number(granted));
  const grants = told.filter(([, granted]) => granted).map(([now]) => now);

  // The most that any window got beyond what came back in it: the best end minus the best start, in one pass.
  const perMs = limit.refill.tokens / limit.refill.everyMs;
  let most = 0;
  let least = Infinity;
  grants.forEach((now, i) => {
    least = Math.min(least, i - perMs * now);
    most = Math.max(most, i + 1 - perMs * now - least);
  });
  const elapsed = (told.at(-1) as Told)[0] - (told[0] as Told)[0];
  console.log(
    `${what}, four processes: ${told.length} decisions in ${elapsed} ms, ${grants.length} granted, ` +
      `at most ${most.toFixed(2)} of ${limit.capacity} ahead of the rate`,
  );
  expect(most).toBeLessThan(limit.capacity + 0.001); // doubles
  expect(told.length - grants.length).toBeGreaterThan(100);

  // Nothing is lost: one bucket in one process, asked at the same instants, grants as much and no more.
  const clock = new ManualClock();
  const bucket = new TokenBucket({ ...limit, clock: clock.now });
  const alone = told.map(([now]): Told => (clock.set(now), [now, bucket.consume().allowed]));
  expect(alone).toEqual(told);
}
