/**
 * A service with a language model, for trying the gateway: POST /v1/chat/completions answers in server-sent events.
 *
 * The prompt controls it: "write 40" writes 40 tokens, never more than `max_tokens`, unless the prompt says "ignore the
 * limit". "fail" answers 503, and "break after 10" closes the connection after 10 tokens.
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import { readChat, promptOf, type Chat } from "./chat.js";

/** The tokens that one request really took, by the records of the service. */
export interface Served {
  readonly id: string;
  readonly user: string;
  readonly model: string;
  readonly promptTokens: number;
  /** The written tokens, including those written after the client disconnected. */
  completionTokens: number;
  outcome: "writing" | "complete" | "aborted" | "broken";
}

interface UpstreamOptions {
  /** Called before each token, and sets the speed of the model. Default: 20 ms per token. */
  readonly pace?: (chat: Chat) => Promise<unknown>;
}

/** Makes the service. `served` has a row for each request that it did not refuse. */
export function createUpstream({ pace = () => new Promise((resolve) => setTimeout(resolve, 20)) }: UpstreamOptions = {}): { readonly server: Server; readonly served: readonly Served[] } {
  const served: Served[] = [];
  const server = createServer(async (request, response) => {
    try {
      const chat = await readChat(request);
      const prompt = promptOf(chat);
      if (/\bfail\b/.test(prompt)) return void response.writeHead(503).end();
      const row: Served = { id: `answer-${served.length + 1}`, user: chat.user ?? "", model: chat.model, promptTokens: tokensOf(prompt), completionTokens: 0, outcome: "writing" };
      served.push(row);
      await write(chat, prompt, row, response);
    } catch {
      response.destroy();
    }
  });

  return { server, served };

  async function write(chat: Chat, prompt: string, row: Served, response: ServerResponse): Promise<void> {
    let gone = false;
    response.once("close", () => (gone = true));
    response.writeHead(200, { "content-type": "text/event-stream", "request-id": row.id }).flushHeaders();
    const send = (data: object) => response.write(`data: ${JSON.stringify({ id: row.id, object: "chat.completion.chunk", model: chat.model, ...data })}\n\n`);
    const wanted = numberIn(/\bwrite (\d+)/, prompt) ?? 20;
    const most = /\bignore the limit\b/.test(prompt) ? wanted : Math.min(wanted, chat.max_tokens);
    const breaksAfter = numberIn(/\bbreak after (\d+)/, prompt) ?? Infinity;
    while (row.completionTokens < most) {
      await pace(chat);
      if (gone) return void (row.outcome = "aborted");
      if (row.completionTokens === breaksAfter) {
        row.outcome = "broken";
        return void response.destroy();
      }
      row.completionTokens += 1;
      send({ choices: [{ index: 0, delta: { content: `${WORDS[row.completionTokens % WORDS.length]} ` } }] });
    }
    row.outcome = "complete";
    const [prompt_tokens, completion_tokens] = [row.promptTokens, row.completionTokens];
    send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens } });
    response.end("data: [DONE]\n\n");
  }
}

const WORDS = ["water", "runs", "through", "the", "gate", "as", "fast", "as", "it", "may"];

/** Tokens of a text: words and marks. The gateway's estimate differs, as any estimate does. */
function tokensOf(text: string): number {
  return text.match(/\w+|[^\w\s]/g)?.length ?? 0;
}

function numberIn(pattern: RegExp, text: string): number | null {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? null : Number(found);
}
