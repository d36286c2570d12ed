/** What processes tell each other: the callers that each has counted. */
import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { mergeCounts, type CallerCounts, type RecentCallers } from "./recent-callers.js";

/** The counts of all processes, and how many processes there are. */
export interface AllCounts extends CallerCounts {
  readonly processes: number;
  /** True if the other processes could not be asked: the counts are then those of this one. */
  readonly alone: boolean;
}

/** Tells the others every two seconds, and forgets a process that has been silent for ten. */
const TELL_MS = 2_000;
const SILENT_MS = 10_000;

/**
 * Shares counts through Redis. Each process has a key that expires, and its name in a set. A Redis that does not answer
 * within `waitMs` leaves the page with the counts of this process.
 */
export function shareCallers(callers: RecentCallers, redis: Redis, name = "admin:callers", waitMs = 1_000) {
  const own = `${name}:${randomUUID()}`;
  const tell = async (): Promise<void> => {
    await redis.multi().set(own, JSON.stringify(callers.counts()), "PX", SILENT_MS).sadd(name, own).pexpire(name, SILENT_MS).exec();
  };
  const ask = async (): Promise<AllCounts> => {
    await tell();
    const names = await redis.smembers(name);
    const texts = await redis.mget(names);
    const gone = names.filter((_, i) => texts[i] === null);
    if (gone.length > 0) await redis.srem(name, ...gone);
    const told = texts.flatMap((text) => (text === null || text === undefined ? [] : [JSON.parse(text) as CallerCounts]));
    return { ...mergeCounts(told), processes: told.length, alone: false };
  };
  // Each process that starts removes the names of those that ended, so the set stays small also if no one looks.
  void ask().catch(() => undefined);
  const timer = setInterval(() => void tell().catch(() => undefined), TELL_MS).unref(); // told again in two seconds
  return {
    async all(): Promise<AllCounts> {
      return (await within(waitMs, ask())) ?? { ...callers.counts(), processes: 1, alone: true };
    },
    async close(): Promise<void> {
      clearInterval(timer);
      await within(waitMs, redis.multi().del(own).srem(name, own).exec());
    },
  };
}

/** What `asked` resolves to, or undefined if it fails or takes longer. */
async function within<T>(ms: number, asked: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, ms, undefined)));
  const answer = await Promise.race([asked.catch(() => undefined), late]);
  clearTimeout(timer);
  return answer;
}

/** The counts of a service of one process. */
export const onlyThisProcess = (callers: RecentCallers) => async (): Promise<AllCounts> => ({ ...callers.counts(), processes: 1, alone: false });
