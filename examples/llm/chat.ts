/** The requests of the chat completions API, as far as a gateway must understand them. Other members are passed on. */
import type { IncomingMessage } from "node:http";

/** A request for an answer. */
export interface Chat {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  /** The most tokens that the answer may have. */
  readonly max_tokens: number;
  readonly stream: boolean;
  readonly tools?: readonly unknown[];
  /** The user, for the upstream's own records. */
  readonly user?: string;
}

/** Members that a request may not have. */
interface Refused {
  readonly n: unknown;
  readonly max_completion_tokens: unknown;
}

const MOST_BYTES = 1_000_000;
const MOST_TOKENS = 1_000_000;

/** Reads a request. Throws a TypeError with a line for the client when it is not one. */
export async function readChat(request: IncomingMessage): Promise<Chat> {
  let text = "";
  request.setEncoding("utf8");
  for await (const chunk of request) {
    text += chunk;
    if (text.length > MOST_BYTES) throw new TypeError("Expected a body of at most 1 MB");
  }
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new TypeError("Expected the body to be JSON");
  }
  const { model, messages, max_tokens = 256, max_completion_tokens, stream = false, user, n = 1, ...others } = Object(body) as Partial<Chat & Refused>;
  if (typeof model !== "string") throw new TypeError('Expected `model` to be a name such as "small"');
  if (!Array.isArray(messages) || !messages.every((each) => typeof Object(each).content === "string")) throw new TypeError("Expected `messages` to be a list of { role, content }, each content a text");
  if (!Number.isInteger(max_tokens) || max_tokens < 1 || max_tokens > MOST_TOKENS) throw new TypeError(`Expected \`max_tokens\` to be a whole number from 1 to ${MOST_TOKENS}`);
  // Members that would cost more than `max_tokens`, or would be lost on the way.
  if (n !== 1) throw new TypeError(`Expected \`n\` to be 1, got ${JSON.stringify(n)}. Each answer costs tokens of its own`);
  if (max_completion_tokens !== undefined) throw new TypeError("Expected `max_tokens`, got `max_completion_tokens`");
  if (others.tools !== undefined && stream !== true) throw new TypeError("Expected `stream` to be true beside `tools`");
  return { ...others, model, messages, max_tokens, stream: stream === true, ...(typeof user === "string" ? { user } : {}) };
}

/** The text of all messages. */
export const promptOf = ({ messages }: Chat): string => messages.map(({ content }) => content).join("\n");

/**
 * An estimate of the tokens of the prompt and its tools: one for every four characters. A tokenizer is more exact, and
 * slower.
 */
export const promptTokens = (chat: Chat): number => Math.ceil((promptOf(chat) + (JSON.stringify(chat.tools) ?? "")).length / 4);
