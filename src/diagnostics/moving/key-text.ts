/** Stands for the `key` of a signed-in user in the text of a replacement. */
export const USER_KEY = "<user key>";

/** A `key`, and the address of a caller who is not signed in, as they are written for an adapter. */
const KEYS: Readonly<Record<string, readonly [user: string, address: string]>> = {
  express: ['(request) => ["user", request.user?.id]', "request.ip"],
  fastify: ['(request) => ["user", request.user?.id]', "request.ip"],
  nest: ['(request) => ["user", request.user?.id]', "request.ip"],
  hono: ['(c) => ["user", c.var.userId]', "getConnInfo(c).remote.address"],
};

// On Node and on the web, a request has neither a user nor an address that all platforms share.
const OWN = ['(request) => ["user", userOf(request)]', "address"] as const;

/** The `key` of a signed-in user. */
export function keyText(adapter = ""): string {
  const [user] = KEYS[adapter] ?? OWN;
  return `\`key: ${user}\`${user === OWN[0] ? " with your own `userOf`" : ""}`;
}

/** What to write for a `key` that is missing. */
export function keyCure(adapter = ""): string {
  return `Write ${keyText(adapter)}, or \`addressKey(${(KEYS[adapter] ?? OWN)[1]})\` for callers who are not signed in`;
}
