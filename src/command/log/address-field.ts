import { writtenAddress } from "../../http/address/written-address.js";
import { valueAt } from "./names.js";

// The last words of a name, from the surest to the least sure. A proxy writes the caller before its own connection.
const SURE_NAMES = [
  "clientip", "clientipaddress", "clientaddress", "clientaddr", "clienthost", "cip", "trueclientip", "cfconnectingip",
  "userip", "useripaddress", "callerip", "calleripaddress", "sourceip", "sourceips", "sourceipaddress", "sourceaddress", "srcip",
  "remoteip", "remoteipaddress", "remoteaddress", "remoteaddr", "remotehost", "peerip", "peeraddress", "peeraddr",
  "xrealip", "xforwardedfor", "forwardedfor",
];
// These may be of a server as well, as in host.ip. So all words before them are known, too.
const UNSURE_NAMES = ["address", "ip", "ipaddress", "ipaddr", "forwarded"];
const NEUTRAL_NAMES = new Set(["request", "req", "http", "httprequest", "headers", "attributes", "fields", "properties", "data"]);
const DEEPEST_ADDRESS = 4;

/**
 * How `--key` names an address: the field, or undefined where the lines say which one it is. Null for other callers.
 */
export function addressFieldOf(key: string): { readonly field: string | undefined } | null {
  if (key === "address") return { field: undefined };
  if (key.startsWith("address=") && key.length > "address=".length) return { field: key.slice("address=".length) };
  return rankOf(key.split(".")) < Infinity ? { field: key } : null;
}

/** The text of an address, or of a list of them. Empty for anything else. */
export function addressTextOf(value: unknown): string {
  const text = Array.isArray(value) && value.every((each) => typeof each === "string") ? value.join(", ") : value;
  return typeof text === "string" ? text : "";
}

/** Finds the member of a line that holds the caller's address, by the names that programs give it. */
export class AddressFinder {
  #known: readonly string[] = [];
  #rank = Infinity;

  /** The name of the first member that was found. */
  field: string | undefined;

  /** The address, or an empty text. Lines of one program have it at one place, which is looked at first. */
  find(record: unknown): string {
    const known = this.#known.length === 0 ? "" : addressTextOf(valueAt(record, this.#known));
    if (known !== "" && writtenAddress(known) !== undefined) return known;
    const best = candidatesOf(record, []).toSorted((a, b) => a.rank - b.rank)[0];
    if (best === undefined) return "";
    // A line without the surer name must not make the others fall back to a less sure one.
    if (best.rank < this.#rank) [this.#known, this.#rank] = [best.path, best.rank];
    this.field ??= best.path.join(".");
    return best.text;
  }
}

interface Candidate {
  readonly path: readonly string[];
  readonly rank: number;
  readonly text: string;
}

function candidatesOf(value: unknown, before: readonly string[]): Candidate[] {
  if (typeof value !== "object" || value === null || Array.isArray(value) || before.length >= DEEPEST_ADDRESS) return [];
  return Object.entries(value).flatMap(([name, inner]): Candidate[] => {
    const path = [...before, name];
    const text = addressTextOf(inner);
    if (text === "") return candidatesOf(inner, path);
    const rank = rankOf(path);
    return rank < Infinity && writtenAddress(text) !== undefined ? [{ path, rank, text }] : [];
  });
}

/** How sure it is that a name is that of a caller's address: 0 is the surest. Infinity for another name. */
function rankOf(path: readonly string[]): number {
  const words = path.flatMap(wordsOf);
  for (let i = 0; i < words.length; i++) {
    const last = words.slice(i).join("");
    if (SURE_NAMES.includes(last)) return SURE_NAMES.indexOf(last);
    const isAlone = words.slice(0, i).every((word) => NEUTRAL_NAMES.has(word));
    if (isAlone && UNSURE_NAMES.includes(last)) return SURE_NAMES.length + UNSURE_NAMES.indexOf(last);
  }
  return Infinity;
}

/** The words of a name in lower case: those of `ClientIP`, `client_ip` and `client.ip` are the same. */
function wordsOf(name: string): string[] {
  if (name.length > 60) return [];
  return name.replace(/([a-z\d])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z\d]+/).filter((word) => word !== "");
}
