// Shared by all five servers: the limits, and the account or phone number of a body, in one spelling.
import { definePolicy, perHour, perMinute, type Clock } from "sluice";

/** Many callers can share an address, and one caller can ask for many accounts. */
export const perAddress = definePolicy({ name: "login-address", capacity: 30, refill: perMinute(30) });
/** Guesses at one account, from all addresses together. */
export const perAccount = definePolicy({ name: "login-account", capacity: 10, refill: perHour(10) });
/** Text messages to one number, from all callers together. */
export const perPhone = definePolicy({ name: "login-code", capacity: 3, refill: perHour(3) });

/** The parts that each server needs. */
export interface Service {
  /** Whether this is the account's password. `account` is in the stored spelling: look up exactly that one. */
  readonly check: (account: string, password: string) => Promise<boolean>;
  readonly sendCode: (phone: string) => Promise<void>;
  readonly clock?: Clock;
}

/** The account in `{ "account": "Ann@example.com" }`, in the stored spelling. Undefined if there is none. */
export function accountOf(body: unknown): string | undefined {
  const account = textIn(body, "account").normalize("NFKC").trim().toLowerCase();
  return account === "" || account.length > 254 ? undefined : account;
}

export function passwordOf(body: unknown): string {
  return textIn(body, "password");
}

/** The number in `{ "phone": "+49 (151) 555-0100" }`, as `+491515550100`. Undefined if there is none. */
export function phoneOf(body: unknown): string | undefined {
  const phone = textIn(body, "phone").replaceAll(/[\s().-]/g, "").replace(/^00/, "+");
  return /^\+[1-9]\d{6,14}$/.test(phone) ? phone : undefined;
}

// The sender also chooses the type: `{"account": ["ann"]}` must not be another spelling of ann.
function textIn(body: unknown, name: string): string {
  const value = typeof body === "object" && body !== null && Object.hasOwn(body, name) ? (body as Record<string, unknown>)[name] : undefined;
  return typeof value === "string" ? value : "";
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
