/** Who is calling: the key that most budgets hang on. Never the IP address, which a whole café may share. */
import type { Key } from "sluice";
import type { Problem } from "sluice/http";

// FOR THE DEMO ONLY: the token is the user's name. A real service verifies a session or a signed token here.
export const DEMO_USERS: ReadonlySet<string> = new Set(["alice", "bob", "carol"]);

/**
 * The caller's key, or null for a caller that nobody knows.
 *
 * A token that is wrong is not forgiven for the sake of a device id: its sender claims to be somebody. The two-part keys
 * keep a user and a device of the same name apart.
 *
 * The contract asks for device ids. A device id is a name that the client picks: a client that makes up another one gets
 * another budget, so it limits honest apps and no abuser. A real service issues ids in a signed token, or puts a second
 * limit behind them, as phone.ts does for login codes.
 */
export function identify(headers: Readonly<Record<string, string | string[] | undefined>>): Key | null {
  const { authorization, "x-device-id": device } = headers;
  if (authorization !== undefined) {
    const [, user] = /^Bearer +(\S+)$/i.exec(String(authorization)) ?? [];
    return user !== undefined && DEMO_USERS.has(user) ? ["user", user] : null;
  }
  return device !== undefined && device !== "" ? ["device", String(device)] : null;
}

/** The body of every refusal; the one for unknown callers says what would help. */
export function explainRefusal(problem: Problem): Problem {
  if (problem.status !== 401) return problem;
  const message = `Send "Authorization: Bearer <user>", where <user> is ${[...DEMO_USERS].join(", ")}, or "X-Device-Id: <any>".`;
  return { ...problem, detail: message, message };
}
