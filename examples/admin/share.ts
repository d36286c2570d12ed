/** What processes tell each other: the callers that each has counted. */
import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { mergeCounts, type CallerCounts, type RecentCallers } from "./recent-callers.js";

/** The counts of all processes, and how many processes there are. */
export interface AllCounts extends CallerCounts {
  readonly processes: number;
}

/** Tells the others every two seconds, and forgets a process that has been silent for ten. */
const TELL_MS = 2_000;
const SILENT_MS = 10_000;

/** Shares counts through Redis. Each process has a key that expires, and its name in a set. */
export function shareCallers(callers: RecentCallers, redis: Redis, name = "admin:callers") {
  const own = `${name}:${randomUUID()}`;
  const tell = async (): Promise<void> => {
    await redis.multi().set(own, JSON.stringify(callers.counts()), "PX", SILENT_MS).sadd(name, own).exec();
  };
  const timer = setInterval(() => void tell().catch(() => undefined), TELL_MS).unref(); // told again in two seconds
  return {
    async all(): Promise<AllCounts> {
      await tell();
      const names = await redis.smembers(name);
      const texts = await redis.mget(names);
      const gone = names.filter((_, i) => texts[i] === null);
      if (gone.length > 0) await redis.srem(name, ...gone);
      const told = texts.flatMap((text) => (text === null || text === undefined ? [] : [JSON.parse(text) as CallerCounts]));
      return { ...mergeCounts(told), processes: told.length };
    },
    async close(): Promise<void> {
      clearInterval(timer);
      await redis.multi().del(own).srem(name, own).exec();
    },
  };
}

/** The counts of a service of one process. */
export const onlyThisProcess = (callers: RecentCallers) => async (): Promise<AllCounts> => ({ ...callers.counts(), processes: 1 });
