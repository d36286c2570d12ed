import { encodeKey, type Key } from "../core/key.js";
import { isQuiet, warnOnce } from "../limiter/warnings.js";
import type { RequestReader } from "./gate.js";

// Looking costs as much as deciding. What is mounted or read wrongly shows in the first requests, also after each deploy.
const LOOKS = 1_000;

/** Looks at a request that was counted, if it is among the gate's first, and warns of what cannot be meant. */
export type Lookout<Request> = (request: Request, key: Key, policy: string) => void;

/** Makes the lookout of a gate. `store` is where the gate's buckets are. */
export function makeLookout<Request>(store: object, reader: RequestReader<Request>): Lookout<Request> {
  const ledgers = ledgersOf(store);
  let looks = LOOKS;

  return function lookOut(request, key, policy) {
    if (looks === 0) return;
    looks--;
    if (!isQuiet("SLUICE_COUNTED_TWICE") && isCountedAgain(request, key, policy)) {
      warnOnce("SLUICE_COUNTED_TWICE", `A request was counted twice for one key under policy "${policy}": two rate limits see it`);
    }
    if (!isQuiet("SLUICE_KEY_IS_ADDRESS") && parts(key).some((part) => isProxysAddress(part, request))) {
      warnOnce("SLUICE_KEY_IS_ADDRESS", `A key under policy "${policy}" is the address of a proxy, which all callers behind it share`);
    }
  };

  function isCountedAgain(request: Request, key: Key, policy: string): boolean {
    if (typeof request !== "object" || request === null) return false;
    let ledger = ledgers.get(policy);
    if (ledger === undefined) ledgers.set(policy, (ledger = new WeakMap()));
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

/** Under which key a request was counted, by the policy's name. */
type Ledgers = Map<string, WeakMap<object, Key>>;

const byStore = new WeakMap<object, Ledgers>();

function ledgersOf(store: object): Ledgers {
  let ledgers = byStore.get(store);
  if (ledgers === undefined) byStore.set(store, (ledgers = new Map()));
  return ledgers;
}
