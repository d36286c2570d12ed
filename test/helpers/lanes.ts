import fc from "fast-check";
import { runs, type Run } from "./runs.js";
import type { Tally } from "./tally.js";

/** Plays random runs, several side by side, until `steps` steps were made. A failure names the run and the seed. */
export async function playInLanes(lanes: number, steps: number, tally: Tally, play: (run: Run) => Promise<void>): Promise<void> {
  const seed = Number(process.env["FC_SEED"]);
  const drawn: Run[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (tally.steps < steps) {
      if (next === drawn.length) drawn.push(...fc.sample(runs, { seed: seed + drawn.length, numRuns: 500 }));
      const number = next++;
      await play(drawn[number] as Run).catch((error: unknown) => {
        throw new Error(`Run ${number} of seed ${seed} differs`, { cause: error });
      });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** Removes every key that begins with `prefix`. */
export async function removeKeys(client: { scanStream(options: { match: string; count: number }): AsyncIterable<unknown>; unlink(...keys: string[]): Promise<unknown> }, prefix: string): Promise<void> {
  for await (const found of client.scanStream({ match: `${prefix}*`, count: 1_000 })) {
    if ((found as string[]).length > 0) await client.unlink(...(found as string[]));
  }
}
