/** What a client does after each answer: the vectors for people who write one in another language, run against ours. */
import { expect, test } from "vitest";
import { createFetch, RateLimitedError } from "sluice/client";
import { decisions, type DecisionVector } from "../vectors.js";

/** Lets a client get the vector's answer as the answer to its last attempt so far, and tells what it did then. */
async function outcomeOf({ request, settings, attempt, status, headers, now, random }: DecisionVector): Promise<unknown> {
  const { method, body, ...options } = request;
  const sleeps: number[] = [];
  let sent = 0;
  const fetch = createFetch({
    ...settings,
    retryBudget: false,
    clock: () => 0,
    wallClock: () => now,
    random: () => random,
    sleep: async (ms) => void sleeps.push(ms),
    fetch: async () => {
      sent += 1;
      if (sent === attempt) return answer(status, headers);
      return sent < attempt ? answer(429, { "Retry-After": "0" }) : answer(200, {});
    },
  });
  const stream = body === "stream" ? { body: new Response("a").body, duplex: "half" as const } : body === "text" ? { body: "a" } : {};
  try {
    await fetch("http://localhost/", { method, ...stream, ...options });
  } catch (error) {
    if (!(error instanceof RateLimitedError)) throw error;
    expect([sent, error.attempts]).toEqual([attempt, attempt]);
    return { error: error.reason, waitMs: error.waitMs };
  }
  return sent > attempt ? { retry: true, waitMs: sleeps.at(-1) } : { retry: false };
}

function answer(status: number, headers: DecisionVector["headers"]): Response {
  return new Response(null, { status, headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]) });
}

test.each(decisions.map((vector) => [vector.request.method, vector.status, vector.why, vector] as const))("%s %i: %s", async (_method, _status, _why, vector) => {
  expect(await outcomeOf(vector)).toEqual(vector.expected);
});

test("a vector's answer comes after as many attempts as it says", () => {
  expect(decisions.map(({ attempt }) => attempt)).toContain(60);
  expect(new Set(decisions.flatMap(({ expected }) => ("error" in expected ? [expected.error] : [])))).toEqual(
    new Set(["sensitive", "not_repeatable", "attempts", "wait_too_long"]),
  );
});
