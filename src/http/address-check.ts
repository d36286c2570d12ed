import type { Key } from "../core/key.js";
import { isQuiet, warnOnce } from "../warnings/warnings.js";
import type { RequestReader } from "./reader.js";

// A check costs as much as a decision, so only a gate's first 1 000 requests are checked.
const CHECKED_REQUESTS = 1_000;

/**
 * Makes a check that warns when a key is the address of a proxy, which all callers behind it share, or a whole IPv6
 * address, of which one caller has 2^64.
 */
export function createAddressCheck<Request>(reader: RequestReader<Request>): (request: Request, key: Key, policy: string) => void {
  let left = CHECKED_REQUESTS;
  return (request, key, policy) => {
    if (left === 0) return;
    left--;
    for (const part of typeof key === "string" ? [key] : key.map(String)) {
      // A proxy on this machine connects from ::1, whose addressKey this is.
      const address = part.replace(/^::\/\d\d$/, "::1");
      if (!ADDRESS.test(address)) continue;
      if (!isQuiet("SLUICE_KEY_IS_ADDRESS") && isProxyAddress(address, request, reader)) {
        warnOnce("SLUICE_KEY_IS_ADDRESS", `A key under policy "${policy}" is the address of a proxy, which all callers behind it share`);
      } else if (!HAS_NO_HOST.test(address)) {
        warnOnce("SLUICE_KEY_IS_IPV6", `A key under policy "${policy}" is a whole IPv6 address, of which one caller has 2^64: use addressKey from "sluice"`);
      }
    }
  };
}

// The address that the connection came from, when the proxy's header fields name others.
function isProxyAddress<Request>(address: string, request: Request, reader: RequestReader<Request>): boolean {
  const forwarded = ["x-forwarded-for", "forwarded"].flatMap((name) => reader.header(request, name) ?? []).join();
  return forwarded !== "" && !forwarded.toLowerCase().includes(address.toLowerCase().replace(MAPPED, ""));
}

// An IPv6 address has eight groups, unless "::" stands for some. Six pairs are the address of a network card.
const ADDRESS = /^(?:(?:::ffff:)?\d{1,3}(?:\.\d{1,3}){3}|(?=.*::|(?:[^:]*:){7})[\da-f:]+(?:%\w+)?)$/i;
const MAPPED = /^::ffff:(?=\d+\.)/;
// IPv4, the network part of an IPv6 address alone, the machine itself, and the local link.
const HAS_NO_HOST = /\.|::$|^::1$|^fe80:/i;
