// Enough for any problem document. What is longer or slower is an error page, or trouble.
const MOST_CHARACTERS = 65_536;
const LONGEST_READ_MS = 1_000;

/** What the body of a refusal says, as far as it can be read. */
export interface RefusalBody {
  readonly code: string;
  readonly serverMessage: string | null;
  readonly policies: readonly string[] | undefined;
}

/** Reads a copy of the body: a problem document, `{ code, message }`, `{ error: { code, message } }` or `{ error: "code or message" }`. Never throws. */
export async function readRefusal(response: Response): Promise<RefusalBody> {
  let body: Record<string, unknown> = {};
  try {
    body = Object(JSON.parse(await readText(response))) as typeof body;
  } catch {
    // HTML, nothing, or cut off.
  }
  const { error, "violated-policies": policies } = body;
  const inner = Object(error) as typeof body;
  return {
    code: pick(/^[\w.:-]{1,64}$/, body["code"], inner["code"], error) ?? "rate_limited",
    serverMessage: pick(/\S/, body["message"], body["detail"], inner["message"], pick(/\S\s+\S|[^\s\w.:-]/, error), body["title"])?.slice(0, 300) ?? null,
    policies: Array.isArray(policies) ? policies.filter((name) => typeof name === "string") : undefined,
  };
}

function pick(form: RegExp, ...values: readonly unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === "string" && form.test(value));
}

async function readText(response: Response): Promise<string> {
  const copy = response.clone();
  const reader = (copy.body as Partial<ReadableStream<Uint8Array<ArrayBuffer>>> | null)?.getReader?.();
  if (!reader) return copy.text(); // React Native has no streams: the body has arrived already
  const late = setTimeout(stop, LONGEST_READ_MS);
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let part; text.length < MOST_CHARACTERS && !(part = await reader.read()).done; ) text += decoder.decode(part.value, { stream: true });
  } finally {
    clearTimeout(late);
    stop();
  }
  return text;

  // Settles only once the other copy is cancelled as well, so nobody waits for it.
  function stop(): void {
    void reader?.cancel().catch(() => undefined);
  }
}
