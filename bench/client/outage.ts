// 1,000 devices that were all refused at the same instant. Each has its own client and random numbers.
import { createFetch } from "../../src/client/index.js";
import { createTraffic } from "../../src/client/traffic/traffic.js";
import { seeded, VirtualTime } from "./virtual-time.js";

/** The number of devices. */
export const DEVICES = 1_000;
/**
 * Returns when each retry reached the server, in milliseconds. The server refuses until `outageMs`, with a
 * `Retry-After` of `retryAfter` seconds or without that field.
 */
export async function afterOutage(outageMs: number, retryAfter: number | null, { seed = 1, traffic = true } = {}): Promise<number[]> {
  const time = new VirtualTime();
  const retries: number[] = [];
  const headers: Record<string, string> = retryAfter === null ? {} : { "Retry-After": String(retryAfter) };
  const wire = (): Promise<Response> => {
    const now = time.now();
    if (now > 0) retries.push(now);
    return Promise.resolve(now < outageMs ? new Response(null, { status: 429, headers }) : new Response("ok"));
  };
  const { now, sleep } = time;
  const devices = Array.from({ length: DEVICES }, (_, i) => {
    const random = seeded(seed * DEVICES + i);
    const known = traffic ? createTraffic() : undefined;
    const fetch = createFetch({ fetch: wire, time: { now, sleep, random }, traffic: known, maxAttempts: 20, retryBudget: false });
    return fetch("https://api.example.com/inbox");
  });
  await time.pass();
  const answers = await Promise.all(devices);
  if (answers.some(({ status }) => status !== 200)) throw new Error("a device gave up");
  return retries;
}

/** The largest number of instants within any `ms`. */
export function crowd(instants: readonly number[], ms = 100): number {
  const sorted = [...instants].sort((a, b) => a - b);
  let most = 0;
  let from = 0;
  sorted.forEach((instant, to) => {
    while (instant - (sorted[from] as number) >= ms) from++;
    most = Math.max(most, to - from + 1);
  });
  return most;
}
