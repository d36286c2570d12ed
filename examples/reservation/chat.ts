// A service in front of a language model. The tokens of an answer are known only after it was written.
import { createLimiter, perMinute, createReservations, type Clock, type Decision, type Reservation } from "sluice";
import { toRetryAfter } from "sluice/http";

/** Writes an answer word by word, and stops when its reader disconnects. Throws when it cannot begin. */
export type Model = (prompt: string, maxTokens: number) => AsyncGenerator<string, void>;

interface ChatOptions {
  /** The signed-in user, as your authentication verified it. */
  readonly userOf: (request: Request) => string;
  readonly clock?: Clock;
}

/** Answers `{ prompt, maxTokens }`. Each user has 6000 tokens a minute, and 1000 at once. */
export function chat(model: Model, { userOf, clock }: ChatOptions): (request: Request) => Promise<Response> {
  const limiter = createLimiter({ policy: { name: "tokens", capacity: 1_000, refill: perMinute(6_000) }, clock });
  const budget = createReservations(limiter, { expiresMs: 120_000 }); // longer than any answer takes

  return async (request) => {
    const { prompt, maxTokens } = (await request.json()) as { prompt: string; maxTokens: number };
    const asked = prompt.split(" ").length; // a tokenizer of your own
    const reservation = budget.reserve(["user", userOf(request)], asked + maxTokens); // the largest possible cost
    if (!reservation.allowed) return refusal(reservation.decision);
    try {
      return new Response(streamOf(metered(model(prompt, maxTokens), reservation, asked)));
    } catch {
      reservation.cancel(); // nothing was written
      return new Response("The model is not there", { status: 502 });
    }
  };
}

/**
 * The same words. The written words are charged in all three cases: the answer ends, the reader disconnects, or the
 * model breaks off.
 */
async function* metered(words: AsyncIterable<string>, reservation: Reservation, asked: number): AsyncGenerator<string, void> {
  let used = asked;
  try {
    for await (const word of words) {
      used += 1;
      yield word;
    }
  } finally {
    await reservation.settle(used);
  }
}

function refusal({ reason, retryAfterMs }: Decision): Response {
  if (reason === "cost_above_capacity") return new Response("Ask for fewer tokens", { status: 400 });
  return new Response("Too many tokens", { status: 429, headers: { "Retry-After": String(toRetryAfter(retryAfterMs)) } });
}

function streamOf(words: AsyncGenerator<string, void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await words.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(`${value} `));
    },
    async cancel() {
      await words.return();
    },
  });
}
