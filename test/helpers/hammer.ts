// Four processes on one key of a server. They get not one token too many and not one too few.
import { TokenBucket } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect } from "vitest";
import { messageFrom, startProcess } from "./processes.js";
import type { RateNumbers } from "./arbitraries.js";

/** One verdict of the server: its instant, whether it granted, and the number of requested tokens. */
export type Told = readonly [now: number, granted: boolean, tokens: number];

/** The report of a process. */
export interface Tale {
  readonly told: readonly Told[];
  /** The number of decisions of one token each that its callers got, and how many of them were allowed. */
  readonly asked: number;
  readonly allowed: number;
}

/**
 * Starts a file in four processes with these arguments, the limit, the duration in milliseconds, and a different word
 * for each process. Each says that it is ready, waits for a message, and then sends its {@link Tale}.
 */
export async function hammer(what: string, file: string, args: readonly string[], limit: RateNumbers, kinds: readonly string[] = ["", "", "", ""]): Promise<void> {
  const children = await Promise.all(kinds.map((kind) => startProcess(file, [...args, JSON.stringify(limit), "2000", kind])));
  try {
    await Promise.all(children.map(messageFrom)); // "ready"
    for (const child of children) child.send("go");
    judge(what, limit, await Promise.all(children.map((child) => messageFrom<Tale>(child))));
  } finally {
    for (const child of children) child.kill("SIGKILL");
  }
}

function judge(what: string, limit: RateNumbers, tales: readonly Tale[]): void {
  // In the order of the server. No token comes back within one instant, so the grants of an instant came before its
  // refusals.
  const told = tales.flatMap((tale) => tale.told).sort(([now, granted], [other, wasGranted]) => now - other || Number(wasGranted) - Number(granted));
  const grants = told.filter(([, granted]) => granted);

  // The most tokens that any window got beyond its refill: the best end minus the best start, in one pass.
  const perMs = limit.refill.tokens / limit.refill.everyMs;
  let [most, least, tokens] = [0, Infinity, 0];
  for (const [now, , of] of grants) {
    least = Math.min(least, tokens - perMs * now);
    tokens += of;
    most = Math.max(most, tokens - perMs * now - least);
  }
  const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
  const elapsed = (told.at(-1) as Told)[0] - (told[0] as Told)[0];
  console.log(
    `${what}, four processes: ${sum(tales.map(({ asked }) => asked))} decisions by ${told.length} of the server in ${elapsed} ms, ` +
      `${tokens} granted, at most ${most.toFixed(2)} of ${limit.capacity} ahead of the rate`,
  );
  expect(most).toBeLessThan(limit.capacity + 0.001); // doubles
  expect(told.length - grants.length).toBeGreaterThan(100);
  expect(sum(tales.map(({ allowed }) => allowed))).toBe(tokens);

  // No token is lost: one bucket in one process, called at the same instants, grants exactly as many.
  const clock = new ManualClock();
  const bucket = new TokenBucket({ ...limit, clock: clock.now });
  const alone = told.map(([now, , of]): Told => (clock.set(now), [now, bucket.consume(of).allowed, of]));
  expect(alone).toEqual(told);
}
