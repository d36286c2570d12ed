import type { Key } from "../../core/key.js";
import { isQuiet, warnOnce } from "../../warnings/warnings.js";

/** What the check reads of a request. */
export interface HeaderReader<Request> {
  header(request: Request, name: string): string | readonly string[] | null | undefined;
}

// Since 5.12.1, Fastify trusts no proxy if it gets a number. A test carries both settings out.
const PROXY_SETTINGS = 'as in `app.set("trust proxy", 1)` of Express or `trustProxy: "10.0.0.0/8"` of Fastify';

// Checking costs as much as deciding, so only the first 1,000 requests of a gate are checked.
const CHECKED_REQUESTS = 1_000;

/**
 * Makes a check that warns about three kinds of keys. One is the address of a proxy, which all callers behind it share.
 * Another is a whole IPv6 address, because one caller has 2^64 of them. The third is any address, when the framework
 * trusts every proxy.
 */
export function createAddressCheck<Request>(reader: HeaderReader<Request>): (request: Request, key: Key, policy: string) => void {
  let left = CHECKED_REQUESTS;
  let isTrustKnown = false;
  return (request, key, policy) => {
    if (left === 0) return;
    left--;
    for (const part of typeof key === "string" ? [key] : key.map(String)) {
      // A proxy on this machine connects from ::1, and `addressKey` cuts ::1 to "::/64".
      const text = part.replace(/(^|[^a-z\d.])::\/\d\d$/i, "$1::1");
      if (!isTrustKnown && addressIn(text.replace(/\/\d\d$/, "")) !== undefined) {
        isTrustKnown = true;
        if (trustsEveryProxy(request)) warnOfTrust(policy);
      }
      const address = isQuiet("SLUICE_KEY_IS_ADDRESS") ? undefined : addressIn(text);
      if (address === undefined) continue;
      if (isProxyAddress(address, request, reader)) {
        warnOnce(
          "SLUICE_KEY_IS_ADDRESS",
          `A key under policy "${policy}" is the address of a proxy, which all callers behind it share: ` +
            `name it to your framework, ${PROXY_SETTINGS}`,
        );
      } else if (!HAS_NO_HOST.test(address)) {
        warnOnce(
          "SLUICE_KEY_IS_ADDRESS",
          `A key under policy "${policy}" is a whole IPv6 address, of which one caller has 2^64: use addressKey from "sluice"`,
        );
      }
    }
  };
}

function warnOfTrust(policy: string): void {
  warnOnce(
    "SLUICE_TRUSTS_EVERY_PROXY",
    `A key under policy "${policy}" is an address that callers can make up, because the framework trusts every proxy: ` +
      `name yours, ${PROXY_SETTINGS}`,
  );
}

// True for the address of the connection when the proxy's header fields name other addresses.
function isProxyAddress<Request>(address: string, request: Request, reader: HeaderReader<Request>): boolean {
  const forwarded = ["x-forwarded-for", "forwarded"].flatMap((name) => reader.header(request, name) ?? []).join();
  return forwarded !== "" && !forwarded.toLowerCase().includes(address.toLowerCase().replace(MAPPED, ""));
}

/** The address at the end of a text: all of it, or the part after a separator, as in "ip:192.0.2.7". */
const addressIn = (text: string): string | undefined => ADDRESS.exec(text)?.[1];

// An IPv6 address has eight groups, or fewer with "::". Six pairs of digits are the address of a network card.
const ADDRESS = /(?:^|[^a-z\d.])((?:::ffff:)?\d{1,3}(?:\.\d{1,3}){3}|(?=.*::|(?:[^:]*:){7})[\da-f:]+(?:%\w+)?)$/i;
const MAPPED = /^::ffff:(?=\d+\.)/;
// Matches IPv4, the network part of an IPv6 address, the loopback address, and link-local addresses.
const HAS_NO_HOST = /\.|::$|^::1$|^fe80:/i;

/** More proxies than any server has in front of it. */
const PROXIES = 100;

/**
 * Whether the framework believes every address in `X-Forwarded-For`. It asks for the `ip` of a request that came
 * through 100 proxies, because a setting has many forms: true, a function, a list of networks.
 */
function trustsEveryProxy(request: unknown): boolean {
  try {
    return (Object.create(Object(request) as object, probe()) as { readonly ip?: unknown }).ip === "192.0.2.1";
  } catch {
    return false;
  }
}

function probe(): PropertyDescriptorMap {
  const forwarded = Array.from({ length: PROXIES }, (_, i) => `192.0.2.${i + 1}`).join(", ");
  const socket = { remoteAddress: "198.51.100.1" };
  const raw = { headers: { "x-forwarded-for": forwarded }, socket, connection: socket };
  // Express reads these members of the request, and Fastify those of its `raw`.
  return Object.fromEntries(Object.entries({ ...raw, raw }).map(([name, value]) => [name, { value }]));
}
