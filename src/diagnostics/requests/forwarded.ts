import { UNIDENTIFIED, type Key } from "../../core/key.js";
import { isQuiet, warnOnce } from "../../warnings/warnings.js";
import type { HeaderReader } from "./addresses.js";
import { FIRST_CHECKED } from "./sampling.js";

const FIELDS = ["x-forwarded-for", "forwarded"];
/** A list, an address, or the text of `Forwarded`. */
const MAY_BE_FIELD = /,|\d\.\d+\.\d+\.\d|:.*:|for=/i;

/**
 * Makes a check that warns when a key is the text of a header field that callers make up. A list is always one. A
 * single address is one only where the framework finds another: some platforms set the field themselves.
 */
export function createHeaderCheck<Request>(reader: HeaderReader<Request>): (request: Request, key: Key, policy: string) => void {
  let left = FIRST_CHECKED;
  return (request, key, policy) => {
    if (left === 0 || key === UNIDENTIFIED || isQuiet("SLUICE_KEY_IS_HEADER")) return;
    left--;
    const parts = typeof key === "string" ? [key] : key.map(String);
    // Other keys read nothing of a request.
    if (!parts.some((part) => MAY_BE_FIELD.test(part))) return;
    const found = addressOf(request);
    for (const name of FIELDS) {
      const sent = reader.header(request, name);
      const text = (typeof sent === "object" && sent !== null ? sent.join(",") : (sent ?? "")).trim();
      if (text === "" || !isMadeUp(text, found, parts)) continue;
      return warnOnce(
        "SLUICE_KEY_IS_HEADER",
        `A key under policy "${policy}" is the text of ${name}, which callers can make up: use the address that your ` +
        "framework finds, as in addressKey(request.ip)",
      );
    }
  };
}

/** Fields in which platforms write the caller's address. */
const ADDRESS_FIELDS = [
  "cloudfront-viewer-address", "x-real-ip", "x-client-ip", "true-client-ip", "x-azure-clientip", "cf-connecting-ip",
  "fly-client-ip", ...FIELDS,
];
/** An IPv6 address without brackets whose end may be a group or a port. */
const MAY_HAVE_PORT = /(?:^|[",\s])[\da-f:]*::[\da-f:]*:\d{1,4}["\s]*$/i;

/** Warns of a caller without a key whose address is in a field, as a text that is two networks. */
export function checkTwoReadings<Request>(request: Request, reader: HeaderReader<Request>, policy: string): void {
  if (isQuiet("SLUICE_UNIDENTIFIED")) return;
  for (const name of ADDRESS_FIELDS) {
    const sent = reader.header(request, name);
    const text = typeof sent === "object" && sent !== null ? sent.join(",") : (sent ?? "");
    if (text.length > 400 || !MAY_HAVE_PORT.test(text)) continue;
    return warnOnce(
      "SLUICE_UNIDENTIFIED",
      `A request under policy "${policy}" is unidentified, and its ${name} ends in a group or in a port, which are two ` +
      "networks: addressKey reads neither. If the field always has a port, cut it off: addressKey(text.replace(/:\\d+$/, \"\"))",
    );
  }
}

function isMadeUp(text: string, found: string | undefined, parts: readonly string[]): boolean {
  const [first = "", ...others] = text.split(",").map((each) => each.trim());
  const isList = others.length > 0;
  if (parts.some((part) => isList && withoutSpaces(part).endsWith(withoutSpaces(text)))) return true;
  const isOther = found !== undefined && first !== "" && unmapped(first) !== unmapped(found);
  return isOther && parts.some((part) => isOrEndsIn(part, first));
}

const withoutSpaces = (text: string): string => text.replaceAll(" ", "");
const unmapped = (address: string): string => address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, "");

/** Whether a part is the text, or ends in it after a separator, as in "ip:192.0.2.7". */
function isOrEndsIn(part: string, text: string): boolean {
  return part === text || (part.endsWith(text) && /[^a-z\d.]/i.test(part.at(-text.length - 1) as string));
}

/** The address that the framework finds, as Express and Fastify do. */
function addressOf(request: unknown): string | undefined {
  try {
    const { ip } = Object(request) as { readonly ip?: unknown };
    return typeof ip === "string" ? ip : undefined;
  } catch {
    return undefined;
  }
}
