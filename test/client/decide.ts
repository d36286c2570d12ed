/** What our client does after an answer. */
import { createFetch, RateLimitedError } from "sluice/client";
import { expect } from "vitest";
import type { Decision, DecisionInput } from "./vectors.js";

/** Gives the input's answer to the client's last attempt so far, and returns what the client did then. */
export async function decide({ request, settings, attempt, status, headers, body: text, now, random }: DecisionInput): Promise<Decision> {
  const { method, body, ...options } = request;
  const failure = new TypeError("fetch failed");
  const sleeps: number[] = [];
  let sent = 0;
  const fetch = createFetch({
    ...settings,
    retryBudget: false,
    time: { wallNow: () => now, random: () => random, sleep: async (ms) => void sleeps.push(ms) },
    fetch: async () => {
      sent += 1;
      if (sent < attempt) return answer(429, { "Retry-After": "0" });
      if (sent > attempt) return answer(200, {});
      if (status === null) throw failure;
      return answer(status, headers, text);
    },
  });
  const stream = body === "stream" ? { body: new Response("a").body, duplex: "half" as const } : body === "text" ? { body: "a" } : {};
  try {
    const response = await fetch("http://localhost/", { method, ...stream, ...options });
    if (sent === attempt) expect([response.status, await response.text()]).toEqual([status, text ?? ""]);
  } catch (error) {
    if (error === failure) return { retry: false };
    if (!(error instanceof RateLimitedError)) throw error;
    expect([sent, error.attempts]).toEqual([attempt, attempt]);
    return { error: error.reason, waitMs: error.waitMs };
  }
  return sent > attempt ? { retry: true, waitMs: sleeps.at(-1) ?? Number.NaN } : { retry: false };
}

function answer(status: number, headers: DecisionInput["headers"], body: string | null = null): Response {
  return new Response(body, { status, headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]) });
}
