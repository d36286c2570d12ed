import { encodeKey, type Key } from "../core/key.js";
import { isQuiet, warnOnce } from "./warnings.js";
import type { RequestReader } from "../http/reader.js";

// Looking costs as much as deciding. What is mounted or read wrongly shows in a gate's first requests, also after each deploy,
// unless the second gate stands where few requests come: then the first one has long stopped when they do.
const LOOKS = 1_000;

// So all gates on a store look again at the same time: at so many in a row, of each so many that they count together. A row is
// long enough for a request to come from one gate to the other while it lasts.
const LOOKS_AGAIN = 250;
const LOOKS_AGAIN_OF = 16_000;

/** Looks at a request that was counted, if it is among those to look at, and warns of what cannot be meant. */
export type Lookout<Request> = (request: Request, key: Key, policy: string) => void;

/** Makes the lookout of a gate. `store` is where the gate's buckets are. */
export function makeLookout<Request>(store: object, reader: RequestReader<Request>): Lookout<Request> {
  const books = booksOf(store);
  let looks = LOOKS;

  return function lookOut(request, key, policy) {
    const isTurn = books.counted++ % LOOKS_AGAIN_OF < LOOKS_AGAIN;
    if (looks > 0) looks--;
    else if (!isTurn) return;
    if (!isQuiet("SLUICE_COUNTED_TWICE") && isCountedAgain(request, key, policy)) {
      warnOnce("SLUICE_COUNTED_TWICE", `A request was counted twice for one key under policy "${policy}": two rate limits see it`);
    }
    if (!isQuiet("SLUICE_KEY_IS_ADDRESS") && parts(key).some((part) => isProxysAddress(part, request))) {
      warnOnce("SLUICE_KEY_IS_ADDRESS", `A key under policy "${policy}" is the address of a proxy, which all callers behind it share`);
    }
  };

  function isCountedAgain(request: Request, key: Key, policy: string): boolean {
    if (typeof request !== "object" || request === null) return false;
    let ledger = books.ledgers.get(policy);
    if (ledger === undefined) books.ledgers.set(policy, (ledger = new WeakMap()));
    const before = ledger.get(request);
    ledger.set(request, key);
    return before !== undefined && encodeKey(before) === encodeKey(key);
  }

  // The address that the request came from, when what forwarded it names others.
  function isProxysAddress(part: string, request: Request): boolean {
    if (!ADDRESS.test(part)) return false;
    const forwarded = ["x-forwarded-for", "forwarded"].flatMap((name) => reader.header(request, name) ?? []).join();
    return forwarded !== "" && !forwarded.toLowerCase().includes(part.toLowerCase().replace(MAPPED, ""));
  }
}

// An IPv6 address has eight groups, unless it leaves some out by "::"; six pairs are a network card's.
const ADDRESS = /^(?:(?:::ffff:)?\d{1,3}(?:\.\d{1,3}){3}|(?=.*::|(?:[^:]*:){7})[\da-f:]+(?:%\w+)?)$/i;
const MAPPED = /^::ffff:(?=\d+\.)/;

const parts = (key: Key): readonly string[] => (typeof key === "string" ? [key] : key.map(String));

/** What the gates on one store know together. */
interface Books {
  /** Requests that they counted. */
  counted: number;
  /** Under which key a request was counted, by the policy's name. */
  readonly ledgers: Map<string, WeakMap<object, Key>>;
}

const byStore = new WeakMap<object, Books>();

function booksOf(store: object): Books {
  let books = byStore.get(store);
  if (books === undefined) byStore.set(store, (books = { counted: 0, ledgers: new Map() }));
  return books;
}
