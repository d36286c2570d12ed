import { refillText, written } from "./numbers.js";
import { NAME } from "./policy-name.js";

/** The options of bottleneck and p-queue that have numbers. */
interface JobOptions {
  readonly maxConcurrent?: unknown;
  readonly minTime?: unknown;
  readonly reservoir?: unknown;
  readonly reservoirRefreshInterval?: unknown;
  readonly reservoirRefreshAmount?: unknown;
  readonly reservoirIncreaseInterval?: unknown;
  readonly reservoirIncreaseAmount?: unknown;
  readonly reservoirIncreaseMaximum?: unknown;
  readonly concurrency?: unknown;
  readonly interval?: unknown;
  readonly intervalCap?: unknown;
}

const EXAMPLE: JobOptions = { concurrency: 5, interval: 1_000, intervalCap: 10 };

/** What to write for a queue of jobs, in the caller's numbers. */
export function jobsText(given: JobOptions): string {
  const own = limitsOf(given);
  const limits = own.length > 0 ? own : limitsOf(EXAMPLE);
  const [only] = limits;
  const policy =
    only !== undefined && limits.length === 1
      ? `{ name: "${NAME}", ${only[1]} }`
      : `{ name: "${NAME}", limits: [${limits.map(([name, text]) => `{ name: "${name}", ${text} }`).join(", ")}] }`;
  return `\`createWaiter(createLimiter({ policy: ${policy} }))\`, and \`run(waiter, key, work)\` for each job`;
}

function limitsOf(given: JobOptions): ReadonlyArray<readonly [name: string, text: string]> {
  const { maxConcurrent, minTime, reservoir, concurrency, interval, intervalCap } = given;
  const places = written(maxConcurrent ?? concurrency, "n");
  const pause = written(minTime, "ms");
  const refresh = bucketText(
    given.reservoirIncreaseMaximum ?? reservoir ?? given.reservoirRefreshAmount,
    given.reservoirRefreshAmount ?? given.reservoirIncreaseAmount ?? reservoir,
    given.reservoirRefreshInterval ?? given.reservoirIncreaseInterval,
  );
  const interim = bucketText(intervalCap, intervalCap, interval);
  return [
    ...(places === undefined ? [] : [["parallel", `capacity: ${places}, returns: whenDone()`] as const]),
    ...(pause === undefined ? [] : [["pause", `refill: { tokens: 1, everyMs: ${pause} }`] as const]),
    ...[refresh, interim].flatMap((text) => (text === undefined ? [] : [["rate", text] as const])),
  ];
}

function bucketText(capacity: unknown, tokens: unknown, everyMs: unknown): string | undefined {
  const [most, each, ms] = [written(capacity, "n"), written(tokens, "n"), written(everyMs, "ms")];
  if (most === undefined || each === undefined || ms === undefined) return undefined;
  return `${most === each ? "" : `capacity: ${most}, `}refill: ${refillText(each, ms)}`;
}
