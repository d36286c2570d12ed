import { ownMembers } from "../../core/check.js";

// A problem document needs less. A longer or slower body is an error page or a broken server.
const MAX_BODY_CHARACTERS = 65_536;
const MAX_READ_MS = 1_000;

const MAX_MESSAGE_CHARACTERS = 300;
const MAX_POLICIES = 16;
const MAX_POLICY_CHARACTERS = 256;

// C0, DEL, C1, the separators of lines and paragraphs, and what changes the direction of text. They can forge lines of
// a log, clear a terminal and reorder what a screen shows.
const CONTROLS = /[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu;

/** The facts in the body of a refusal. */
export interface RefusalBody {
  /** The parsed JSON, or the text of a body that is not JSON. Null when the body is empty or cannot be read. */
  readonly value: unknown;
  readonly serverCode: string | null;
  /** Without control characters. Up to 300 characters. */
  readonly serverMessage: string | null;
  /** Up to 16 names, each without control characters and up to 256 characters long. Undefined without a list. */
  readonly policies: readonly string[] | undefined;
}

/**
 * Reads a copy of the body: a problem document, `{ code, message }`, `{ error: { code, message } }` or
 * `{ error: "code or message" }`. Never rejects: other bodies give null. Reads up to 64 KiB for up to 1 second.
 */
export async function parseRefusal(response: Response): Promise<RefusalBody> {
  let value: unknown = null;
  try {
    const text = (await readText(response)).slice(0, MAX_BODY_CHARACTERS);
    value = text || null;
    value = JSON.parse(text);
  } catch {
    // HTML, an empty body, JSON that is cut off, or a connection that broke.
  }
  const body = sentMembers(value);
  const { error, "violated-policies": policies } = body;
  const inner = sentMembers(error);
  const prose = typeof error === "string" && /[^\w.:-]/.test(error) && error;
  const messages = [body["message"], body["detail"], inner["message"], prose, body["title"]].map((text) =>
    withoutControls(text).trim(),
  );
  return {
    value,
    serverCode: [body["code"], inner["code"], error].find(isCode) ?? null,
    // A cut between the two halves of a character would leave an invalid one.
    serverMessage: messages.find(Boolean)?.slice(0, MAX_MESSAGE_CHARACTERS).replace(/[\ud800-\udbff]$/, "") ?? null,
    policies: Array.isArray(policies) ? policies.filter(isPolicyName).slice(0, MAX_POLICIES) : undefined,
  };
}

/** The own members of an object or a list that a server sent. None of anything else. */
export function sentMembers(value: unknown): Record<string, unknown> {
  return ownMembers(typeof value === "object" ? value : null) as Record<string, unknown>;
}

function isCode(code: unknown): code is string {
  return typeof code === "string" && /^[\w.:-]{1,64}$/.test(code);
}

function isPolicyName(name: unknown): name is string {
  return withoutControls(name) === name && name.length <= MAX_POLICY_CHARACTERS;
}

function withoutControls(text: unknown): string {
  return typeof text === "string" ? text.replace(CONTROLS, " ") : "";
}

async function readText(response: Response): Promise<string> {
  const copy = response.clone();
  const reader = (copy.body as Partial<ReadableStream<Uint8Array<ArrayBuffer>>> | null)?.getReader?.();
  // React Native has no streams: the whole body has arrived. The copy of node-fetch stalls when the other one is
  // unread.
  if (!reader) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<string>((resolve) => (timer = setTimeout(resolve, MAX_READ_MS, "")));
    return Promise.race([copy.text(), late]).finally(() => clearTimeout(timer)); // it would keep the process alive
  }
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
