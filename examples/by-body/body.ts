// Shared by all five servers: the limits, and the phone number of a body, in one spelling.
import { afterMs, definePolicy, perMinute, type Clock } from "sluice";

/** Many callers can share an address, and one caller can name many numbers. */
export const perAddress = definePolicy({ name: "address", capacity: 30, refill: perMinute(30) });
/** Text messages to one number, from all callers together: never more than 3 in any hour. */
export const perPhone = definePolicy({ name: "code", capacity: 3, returns: afterMs(3_600_000) });

/** The parts that each server needs. */
export interface Service {
  readonly sendCode: (phone: string) => Promise<void>;
  readonly clock?: Clock;
}

/** The number in `{ "phone": "+49 (151) 555-0100" }`, as `+491515550100`. Undefined if there is none. */
export function phoneOf(body: unknown): string | undefined {
  const given = typeof body === "object" && body !== null && Object.hasOwn(body, "phone") ? (body as { phone: unknown }).phone : undefined;
  if (typeof given !== "string") return undefined; // {"phone": ["+49…"]} must not be another spelling
  const phone = given.replaceAll(/[\s().-]/g, "").replace(/^00/, "+");
  return /^\+[1-9]\d{6,14}$/.test(phone) ? phone : undefined;
}

const LONGEST_BODY = 1_000;
const bodies = new WeakMap<object, Promise<unknown>>();

/** The JSON in the body of a request, read only once. Undefined if it is not JSON, or longer than 1,000 bytes. */
export function readJson(request: object, chunks: AsyncIterable<Uint8Array>): Promise<unknown> {
  let body = bodies.get(request);
  if (body === undefined) bodies.set(request, (body = read(chunks)));
  return body;
}

async function read(chunks: AsyncIterable<Uint8Array>): Promise<unknown> {
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  try {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > LONGEST_BODY) return undefined;
      text += decoder.decode(chunk, { stream: true });
    }
    return JSON.parse(text + decoder.decode()) as unknown;
  } catch {
    return undefined; // not JSON, or the client disconnected
  }
}
