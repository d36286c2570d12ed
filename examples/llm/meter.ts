/** Counts the tokens of an answer while it streams through. */

/** Reads an answer as server-sent events. */
export class Meter {
  /** The answer so far, for a client that asked for no stream. */
  text = "";
  readonly #decoder = new TextDecoder();
  readonly #prompt: number;
  #written = 0;
  #usage: number | null = null;
  #line = "";

  /** `prompt` is the estimate of the tokens of the prompt. */
  constructor(prompt: number) {
    this.#prompt = prompt;
  }

  /**
   * The tokens used. At the end it is the upstream's number. Until then it is the estimate of the prompt and the tokens
   * written so far.
   */
  get used(): number {
    return this.#usage ?? this.#prompt + this.#written;
  }

  /** Passes an answer on, piece by piece. */
  async *through(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of chunks) {
      this.read(chunk);
      yield chunk;
    }
  }

  read(chunk: Uint8Array): void {
    const lines = (this.#line + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#line = lines.pop() ?? ""; // a chunk may end in the middle of a line
    for (const line of lines) if (line.startsWith("data: {")) this.#event(JSON.parse(line.slice("data: ".length)) as ChatEvent);
  }

  #event({ choices, usage }: ChatEvent): void {
    const { content, tool_calls } = choices?.[0]?.delta ?? {};
    if (content || tool_calls) this.#written += 1; // an event holds one token
    this.text += content ?? "";
    if (Number.isSafeInteger(usage?.total_tokens)) this.#usage = (usage as { total_tokens: number }).total_tokens;
  }
}

interface ChatEvent {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null; readonly tool_calls?: unknown } }[];
  readonly usage?: { readonly total_tokens: number } | null;
}
