/** The phone number that a login code goes to. It is the key of the budget, because a caller can make up any device. */
import type { IncomingMessage } from "node:http";
import type { Key } from "sluice";
import { identify } from "./identity.js";

const LONGEST_BODY = 1_000;

/** A caller may name any number. Fields would tell how many codes it was sent. */
export const QUIET = { headers: [] };

const numbers = new WeakMap<IncomingMessage, Promise<string | null>>();

/**
 * The number in the body `{"phone": "+49 151 5550100"}`, in one spelling, or null without one. The body is read once,
 * however often this is called.
 */
export function phoneOf(request: IncomingMessage): Promise<string | null> {
  let number = numbers.get(request);
  if (number === undefined) numbers.set(request, (number = readPhone(request)));
  return number;
}

/**
 * The key of a request for a code: the number, for any device. So a number gets as many messages as the policy allows,
 * and made-up devices get no more. Null for an unknown caller. A request without a number is charged to its caller, and
 * gets a 400. Messages to many numbers need another limit, such as one by address.
 */
export async function codeReceiver(request: IncomingMessage): Promise<Key | null> {
  const caller = identify(request.headers);
  if (caller === null) return null;
  const number = await phoneOf(request);
  return number === null ? caller : ["phone", number];
}

async function readPhone(request: IncomingMessage): Promise<string | null> {
  let text = "";
  try {
    // Leaving the loop early must not close the connection, because it carries the response.
    for await (const chunk of request.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
      text += chunk as string;
      if (text.length > LONGEST_BODY) return null;
    }
    const { phone } = JSON.parse(text) as { phone?: unknown };
    const digits = typeof phone === "string" ? phone.replaceAll(/[\s().-]/g, "") : "";
    return /^\+[1-9]\d{6,14}$/.test(digits) ? digits : null;
  } catch {
    return null; // not JSON, or the client disconnected
  } finally {
    request.resume(); // the rest of a long body is dropped
  }
}
