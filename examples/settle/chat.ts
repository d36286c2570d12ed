// A service in front of a language model. The tokens of an answer are known only after it was written.
import { createLimiter, MemoryStore, perMinute, RefusedError, run, type Decision, type Store } from "sluice";
import { retryAfterSeconds } from "sluice/http";

/** Writes an answer word by word, and stops when its reader disconnects. Throws when it cannot begin. */
export type Model = (prompt: string, maxTokens: number) => AsyncGenerator<string, void>;

interface ChatOptions {
  /** The signed-in user, as your authentication verified it. */
  readonly userOf: (request: Request) => string;
  readonly store?: Store;
}

interface Question {
  readonly prompt: string;
  readonly maxTokens: number;
  /** Whether to send each word as soon as it is written. */
  readonly stream?: boolean;
}

/** Answers a {@link Question}. Each user has 6000 tokens a minute, and 1000 at once. */
export function chat(model: Model, { userOf, store = new MemoryStore() }: ChatOptions): (request: Request) => Promise<Response> {
  const limiter = createLimiter({ policy: { name: "tokens", capacity: 1_000, refill: perMinute(6_000) }, store });

  return async (request) => {
    const question = (await request.json()) as Question;
    const key = ["user", userOf(request)] as const;
    return question.stream === true ? streamed(key, question) : whole(key, question);
  };

  // `run` takes the largest possible cost, and settles it when the answer is there. When the model fails, it stays
  // taken.
  async function whole(key: readonly ["user", string], { prompt, maxTokens }: Question): Promise<Response> {
    const asked = tokensOf(prompt);
    try {
      const words = await run(limiter, key, () => allOf(model(prompt, maxTokens)), {
        cost: asked + maxTokens,
        actualCost: ({ length }) => asked + length,
      });
      return new Response(words.join(" "));
    } catch (error) {
      if (error instanceof RefusedError) return refusal(error.decision);
      return new Response("The model failed", { status: 502 });
    }
  }

  // The work of a stream goes on after this function returns, so it settles by itself.
  async function streamed(key: readonly ["user", string], { prompt, maxTokens }: Question): Promise<Response> {
    const asked = tokensOf(prompt);
    const decision = await limiter.consume(key, asked + maxTokens);
    if (!decision.allowed) return refusal(decision);
    try {
      const words = metered(model(prompt, maxTokens), (written) => limiter.settle(key, decision, asked + written));
      return new Response(streamOf(words));
    } catch {
      await limiter.refund(key, decision); // nothing was written
      return new Response("The model is not there", { status: 502 });
    }
  }
}

/** The same words. Settles in all three cases: the answer ends, the reader disconnects, or the model breaks off. */
async function* metered(words: AsyncIterable<string>, settle: (written: number) => unknown): AsyncGenerator<string, void> {
  let written = 0;
  try {
    for await (const word of words) {
      written += 1;
      yield word;
    }
  } finally {
    await settle(written);
  }
}

function tokensOf(prompt: string): number {
  return prompt.split(" ").length; // a tokenizer of your own
}

async function allOf(words: AsyncIterable<string>): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const word of words) all.push(word);
  return all;
}

function refusal(decision: Decision): Response {
  const seconds = retryAfterSeconds(decision);
  if (seconds === null) return new Response("Ask for fewer tokens", { status: 400 }); // no wait helps
  return new Response("Too many tokens", { status: 429, headers: { "Retry-After": String(seconds) } });
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
