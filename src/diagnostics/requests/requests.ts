import { memberOf } from "../../core/check.js";
import { encodeKey, UNIDENTIFIED, type Key } from "../../core/key.js";
import { processWide } from "../../platform.js";
import { isQuiet, warnOnce } from "../../warnings/warnings.js";
import type { Store } from "../../port/store.js";
import { checkPolicyName } from "../policy-names.js";
import { FIRST_CHECKED, isCheckedTurn } from "./sampling.js";

// The most policy names under which requests are remembered.
const MOST_NAMES = 1_000;

/** Checks a request that was counted under `key`, if the request is one of those to check. */
type RequestCheck = (request: unknown, key: Key, policy: string) => void;

/**
 * Makes the check of one gate. It warns when two gates on one store count a request for the same key, and when two
 * policies without a name limit a request. It also warns when a key is a list that the client sent.
 */
export function createRequestCheck(store: Store): RequestCheck {
  const ledger = ledgerOf(store);
  let first = FIRST_CHECKED;

  return (request, key, policy) => {
    // After its first requests, each gate checks those that the other gates of the store check, because a rarely used
    // second gate must still be compared with the first.
    const isTurn = isCheckedTurn(ledger.counted++);
    if (first > 0) first--;
    else if (!isTurn) return;
    checkPolicyName(store, policy);
    checkUnnamed(store, request, key, policy);
    checkTwoStores(store, request, key, policy);
    if (!isQuiet("SLUICE_COUNTED_TWICE") && wasCounted(ledger, request, key, policy)) {
      warnOnce(
        "SLUICE_COUNTED_TWICE",
        `A request was counted twice for one key under policy "${policy}": two rate limits see it. Keep one of them`,
      );
    }
    if (typeof key !== "string" && key !== UNIDENTIFIED && !isQuiet("SLUICE_KEY_IS_LIST") && isListOf(request, key)) {
      warnOnce(
        "SLUICE_KEY_IS_LIST",
        `A key under policy "${policy}" is a list that the caller sent, so a caller can name the bucket of ` +
        `another. Write \`["client", String(value)]\``,
      );
    }
  };
}

/** The record that the gates of one store share. */
interface Ledger {
  /** The number of requests counted by these gates. */
  counted: number;
  /** The key under which a request was counted, by the policy's name. */
  readonly keys: Map<string, WeakMap<object, Key>>;
}

function wasCounted({ keys }: Ledger, request: unknown, key: Key, policy: string): boolean {
  if (typeof request !== "object" || request === null) return false;
  if (keys.size >= MOST_NAMES) keys.clear();
  const counted = keys.get(policy) ?? new WeakMap<object, Key>();
  keys.set(policy, counted);
  const before = counted.get(request);
  counted.set(request, key);
  return before !== undefined && encodeKey(before) === encodeKey(key);
}

// Frameworks keep the client's input under these names. Some parse it again at each access, so the contents are
// compared.
function isListOf(request: unknown, key: readonly unknown[]): boolean {
  const { query, params, body, headers, url, req } = Object(request) as Readonly<Record<string, unknown>>;
  const address = url ?? (Object(req) as { readonly url?: unknown }).url; // Hono's context has the request in `req`
  const sent = [query, params, body, headers, searchOf(address)].flatMap(
    (from) => Object.values(Object(from) as object) as unknown[],
  );
  return sent.some(
    (list) => Array.isArray(list) && list.length === key.length && list.every((part, i) => String(part) === key[i]),
  );
}

/** The lists of a query string, by name, as `searchParams.getAll` of web-standard servers returns them. */
function searchOf(url: unknown): Readonly<Record<string, readonly string[]>> {
  if (typeof url !== "string" || !url.includes("?")) return {};
  const search = new URLSearchParams(url.slice(url.indexOf("?")));
  return Object.fromEntries([...search.keys()].map((name) => [name, search.getAll(name)]));
}

function ledgerOf(store: object): Ledger {
  const ledgers = processWide("ledgers", () => new WeakMap<object, Ledger>());
  const ledger = ledgers.get(store) ?? { counted: 0, keys: new Map<string, WeakMap<object, Key>>() };
  ledgers.set(store, ledger);
  return ledger;
}

/** What counted a request under a policy's name. */
interface CountedApart {
  readonly store: object;
  readonly key: Key;
}

/**
 * Warns when two memory stores count a request for one key under one policy name: each gate has a store of its own, so
 * the second one limits nothing.
 */
function checkTwoStores(store: Store, request: unknown, key: Key, policy: string): void {
  // Policies without a name have their own warning.
  if (!store.sync || memberOf(store, "guard") !== undefined || policy === "default" || isQuiet("SLUICE_COUNTED_TWICE")) return;
  if (typeof request !== "object" || request === null) return;
  const all = processWide("apart", () => new WeakMap<object, Map<string, CountedApart>>());
  const byName = all.get(request) ?? new Map<string, CountedApart>();
  const other = byName.get(policy);
  all.set(request, byName.set(policy, { store, key }));
  if (other === undefined || other.store === store || encodeKey(other.key) !== encodeKey(key)) return;
  warnOnce(
    "SLUICE_COUNTED_TWICE",
    `A request was counted twice for one key under policy "${policy}", in two memory stores: two rate limits see it. ` +
    "Keep one of them, or give their policies different names",
  );
}

/**
 * Warns when policies without a name limit one request, on two stores or for two keys: their header fields, problem
 * documents and metrics cannot be told apart.
 */
function checkUnnamed(store: object, request: unknown, key: Key, policy: string): void {
  if (policy !== "default" || typeof request !== "object" || request === null || isQuiet("SLUICE_UNNAMED_POLICIES")) return;
  const charges = processWide("unnamed", () => new WeakMap<object, { readonly store: object; readonly key: Key }>());
  const other = charges.get(request);
  charges.set(request, { store, key });
  // One key of one store is one limit that is charged twice, which has its own warning.
  if (other === undefined || (other.store === store && encodeKey(other.key) === encodeKey(key))) return;
  warnOnce(
    "SLUICE_UNNAMED_POLICIES",
    'Two policies without a name limit one request, so both appear as "default" in its header fields: give each a ' +
    '`name`, such as "api" and "login"',
  );
}
