import type { Key } from "../core/key.js";
import { isQuiet, warnOnce } from "../warnings/warnings.js";

/** What the check reads of a request. */
export interface HeaderReader<Request> {
  header(request: Request, name: string): string | readonly string[] | null | undefined;
}

// Checking costs as much as deciding, so only the first 1,000 requests of a gate are checked.
const CHECKED_REQUESTS = 1_000;

/**
 * Makes a check that warns about two kinds of keys. One is the address of a proxy, which all callers behind it share.
 * The other is a whole IPv6 address, because one caller has 2^64 of them.
 */
export function createAddressCheck<Request>(reader: HeaderReader<Request>): (request: Request, key: Key, policy: string) => void {
  let left = CHECKED_REQUESTS;
  return (request, key, policy) => {
    if (left === 0 || isQuiet("SLUICE_KEY_IS_ADDRESS")) return;
    left--;
    for (const part of typeof key === "string" ? [key] : key.map(String)) {
      // A proxy on this machine connects from ::1, and `addressKey` cuts ::1 to "::/64".
      const address = part.replace(/^::\/\d\d$/, "::1");
      if (!ADDRESS.test(address)) continue;
      if (isProxyAddress(address, request, reader)) {
        warnOnce("SLUICE_KEY_IS_ADDRESS", `A key under policy "${policy}" is the address of a proxy, which all callers behind it share: configure the proxies that your framework trusts`);
      } else if (!HAS_NO_HOST.test(address)) {
        warnOnce("SLUICE_KEY_IS_ADDRESS", `A key under policy "${policy}" is a whole IPv6 address, of which one caller has 2^64: use addressKey from "sluice"`);
      }
    }
  };
}

// True for the address of the connection when the proxy's header fields name other addresses.
function isProxyAddress<Request>(address: string, request: Request, reader: HeaderReader<Request>): boolean {
  const forwarded = ["x-forwarded-for", "forwarded"].flatMap((name) => reader.header(request, name) ?? []).join();
  return forwarded !== "" && !forwarded.toLowerCase().includes(address.toLowerCase().replace(MAPPED, ""));
}

// An IPv6 address has eight groups, or fewer with "::". Six pairs of digits are the address of a network card.
const ADDRESS = /^(?:(?:::ffff:)?\d{1,3}(?:\.\d{1,3}){3}|(?=.*::|(?:[^:]*:){7})[\da-f:]+(?:%\w+)?)$/i;
const MAPPED = /^::ffff:(?=\d+\.)/;
// Matches IPv4, the network part of an IPv6 address, the loopback address, and link-local addresses.
const HAS_NO_HOST = /\.|::$|^::1$|^fe80:/i;
