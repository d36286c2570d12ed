/** The caller's identity: the key of most budgets. Never the IP address, which all guests of a café may share. */
import type { Key } from "sluice";
import type { UnidentifiedRefusal } from "sluice/http";

// FOR THE DEMO ONLY: the token is the user's name. A real service verifies a session or a signed token here.
export const DEMO_USERS: ReadonlySet<string> = new Set(["alice", "bob", "carol"]);

/**
 * The caller's key, or null for an unknown caller. A wrong token gives null even with a device id, because its sender
 * claims to be a user. The two-part keys separate a user and a device of the same name.
 *
 * The contract asks for device ids. A device id is a name that the client picks. A client that makes up another id gets
 * another budget, so the limit stops honest apps and no attacker. A real service issues ids in a signed token, or puts
 * a second limit behind them, as phone.ts does for login codes.
 */
export function identify(headers: Readonly<Record<string, string | string[] | undefined>>): Key | null {
  const { authorization, "x-device-id": device } = headers;
  if (authorization !== undefined) {
    const [, user] = /^Bearer +(\S+)$/i.exec(String(authorization)) ?? [];
    return user !== undefined && DEMO_USERS.has(user) ? ["user", user] : null;
  }
  return device !== undefined && device !== "" ? ["device", String(device)] : null;
}

/** The media type of {@link askForCaller}. */
export const PROBLEM_TYPE = "application/problem+json";

/** The answer to an unknown caller, as text: the standard document, with the headers to send. */
export function askForCaller({ problem }: UnidentifiedRefusal): string {
  const message = `Send "Authorization: Bearer <user>", where <user> is ${[...DEMO_USERS].join(", ")}, or "X-Device-Id: <any>".`;
  return JSON.stringify({ ...problem, detail: message, message });
}
