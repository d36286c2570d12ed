// A problem document needs less. A longer or slower body is an error page or a broken server.
const MAX_BODY_CHARACTERS = 65_536;
const MAX_READ_MS = 1_000;

/** What the body of a 429 says. */
export interface RefusalBody {
  readonly serverCode: string | null;
  readonly serverMessage: string | null;
  readonly policies: readonly string[] | undefined;
}

/**
 * Reads a copy of the body: a problem document, `{ code, message }`, `{ error: { code, message } }` or
 * `{ error: "code or message" }`. Never rejects: other bodies give null.
 */
export async function parseRefusal(response: Response): Promise<RefusalBody> {
  let body: Record<string, unknown> = {};
  try {
    body = Object(JSON.parse(await readText(response))) as typeof body;
  } catch {
    // HTML, an empty body, or JSON that is cut off.
  }
  const { error, "violated-policies": policies } = body;
  const inner = Object(error) as typeof body;
  const prose = firstMatch(/\S\s+\S|[^\s\w.:-]/, error);
  return {
    serverCode: firstMatch(/^[\w.:-]{1,64}$/, body["code"], inner["code"], error) ?? null,
    serverMessage: firstMatch(/\S/, body["message"], body["detail"], inner["message"], prose, body["title"])?.slice(0, 300) ?? null,
    policies: Array.isArray(policies) ? policies.filter((name) => typeof name === "string") : undefined,
  };
}

function firstMatch(pattern: RegExp, ...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === "string" && pattern.test(value));
}

async function readText(response: Response): Promise<string> {
  const copy = response.clone();
  const reader = (copy.body as Partial<ReadableStream<Uint8Array<ArrayBuffer>>> | null)?.getReader?.();
  // React Native has no streams: the whole body has arrived.
  if (!reader) return copy.text();
  const timeout = setTimeout(stop, MAX_READ_MS);
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let chunk; text.length < MAX_BODY_CHARACTERS && !(chunk = await reader.read()).done; ) {
      text += decoder.decode(chunk.value, { stream: true });
    }
  } finally {
    clearTimeout(timeout);
    stop();
  }
  return text;

  // Not awaited: `cancel` of one copy settles only after the other copy is cancelled or read.
  function stop(): void {
    void reader?.cancel().catch(() => undefined);
  }
}
