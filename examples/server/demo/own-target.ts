/** What a request line and its fields say of the server that is meant. A client chooses them, so all may be garbage. */
import type { IncomingMessage } from "node:http";

/**
 * The path and query of a request target, or null for one that is no path here, such as `*` or `//host`. A proxy sends
 * the absolute form `http://host/path`.
 */
export function pathOf(target = ""): string | null {
  const path = target.replace(/^https?:\/\/[^/?#]+\/?/i, "/");
  return path.startsWith("/") && !path.startsWith("//") ? path : null;
}

/**
 * Whether a change comes from a page of this server, or from a program on this machine. Another site's page sends its
 * own `Origin`. A name that another site pointed at this machine is not among the names here.
 */
export function isFromHere({ headers: { host = "", origin } }: IncomingMessage, boundName: string): boolean {
  const name = host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1").toLowerCase();
  const isKnown = ["localhost", "127.0.0.1", "::1", boundName.toLowerCase()].includes(name);
  return isKnown && (origin === undefined || origin.toLowerCase() === `http://${host.toLowerCase()}`);
}
