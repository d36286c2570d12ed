import { writtenAddress } from "./written-address.js";

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
// Before a sure name these make it that of a machine of the service. It is then the last choice.
const SERVER_WORDS = new Set([
  "upstream", "proxy", "server", "backend", "origin", "destination", "target", "local", "host", "node", "pod",
]);
const DEEPEST_ADDRESS = 4;
const LONGEST_MEMBER_NAME = 60;
// Callers may choose the names of members, such as those of headers.
const MOST_PLACES = 10_000;
const MOST_FIELDS = 100;

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

/** The address of a line, and the member that holds it. */
export interface FoundAddress {
  readonly text: string;
  readonly place: NamePlace;
}

/** A name in a line, and how sure it is that it holds the caller's address. */
interface NamePlace {
  readonly path: readonly string[];
  readonly rank: number;
  readonly inner: Map<string, NamePlace>;
}

/** Requests whose address is in one member. */
export interface AddressFieldUse {
  readonly field: string;
  readonly requests: number;
}

/**
 * Finds the member of each line that holds the caller's address, by the names that programs give it: the surest name
 * that the line has. So the order of lines changes nothing.
 */
export class AddressFinder {
  readonly #root = placeAt([]);
  // The lines of a program have the same names.
  #known = 0;
  readonly #uses = new Map<string, { readonly rank: number; requests: number }>();

  /** The members that were used, the surest name first. */
  get uses(): readonly AddressFieldUse[] {
    const uses = [...this.#uses].toSorted(([, a], [, b]) => a.rank - b.rank);
    return uses.map(([field, { requests }]) => ({ field, requests }));
  }

  find(record: unknown): FoundAddress | undefined {
    return this.#surest(record, this.#root, undefined);
  }

  /** Counts a request by the address that was found. */
  use({ place: { path, rank } }: FoundAddress): void {
    const field = path.join(".");
    const known = this.#uses.get(field);
    if (known !== undefined) known.requests += 1;
    else if (this.#uses.size < MOST_FIELDS) this.#uses.set(field, { rank, requests: 1 });
  }

  #surest(value: unknown, place: NamePlace, before: FoundAddress | undefined): FoundAddress | undefined {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return before;
    if (place.path.length >= DEEPEST_ADDRESS) return before;
    let best = before;
    for (const name of Object.keys(value)) {
      const inner = (value as Record<string, unknown>)[name];
      const at = this.#placeIn(place, name);
      const text = addressTextOf(inner);
      if (text === "") best = this.#surest(inner, at, best);
      else if (at.rank < (best?.place.rank ?? Infinity) && writtenAddress(text) !== undefined) best = { text, place: at };
    }
    return best;
  }

  #placeIn({ path, inner }: NamePlace, name: string): NamePlace {
    const known = inner.get(name);
    if (known !== undefined) return known;
    const made = placeAt([...path, name]);
    if (name.length > LONGEST_MEMBER_NAME || this.#known >= MOST_PLACES) return made;
    this.#known += 1;
    inner.set(name, made);
    return made;
  }
}

const placeAt = (path: readonly string[]): NamePlace => ({ path, rank: rankOf(path), inner: new Map() });

/**
 * How sure it is that a name is that of a caller's address: 0 is the surest. Of names with the same last words the one
 * with fewer words before them is surer. Infinity for another name.
 */
function rankOf(path: readonly string[]): number {
  const words = path.flatMap(wordsOf);
  for (let i = 0; i < words.length; i++) {
    const before = words.slice(0, i);
    const last = words.slice(i).join("");
    const ofServer = before.some((word) => SERVER_WORDS.has(word)) ? SURE_NAMES.length + UNSURE_NAMES.length : 0;
    if (SURE_NAMES.includes(last)) return SURE_NAMES.indexOf(last) + i / 100 + ofServer;
    const isAlone = before.every((word) => NEUTRAL_NAMES.has(word));
    if (isAlone && UNSURE_NAMES.includes(last)) return SURE_NAMES.length + UNSURE_NAMES.indexOf(last) + i / 100;
  }
  return Infinity;
}

/** The words of a name in lower case: those of `ClientIP`, `client_ip` and `client.ip` are the same. */
function wordsOf(name: string): string[] {
  if (name.length > LONGEST_MEMBER_NAME) return [];
  return name.replace(/([a-z\d])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z\d]+/).filter((word) => word !== "");
}
