import type { Key, KeyPart } from "../../core/key.js";
import { writtenAddress } from "../../http/address/written-address.js";

/** A key, and what the operator should know of how it was read. */
interface ReadKey {
  readonly key: Key;
  readonly notes: readonly string[];
}

/**
 * The key with the address after the part `"address"` as `addressKey` writes it. All other parts stay as they were
 * typed: a user may be named `::1`, and a module may use the raw address as a key.
 */
export function addressInKey(typed: Key, ipv6Prefix: number): ReadKey {
  if (typeof typed === "string") return { key: typed, notes: [] };
  const notes: string[] = [];
  const parts = typed.map((part, i): KeyPart => {
    const found = i > 0 && typed[i - 1] === "address" && typeof part === "string" ? writtenAddress(part, ipv6Prefix) : undefined;
    if (found?.taken !== undefined) notes.push(`Took the first address of the list: ${found.taken}.`);
    if (found === undefined && i > 0 && typed[i - 1] === "address") {
      notes.push(`addressKey makes no key of ${part}, so this is no caller of a gate that uses it.`);
    }
    return found?.key[1] ?? part;
  });
  return { key: parts as [KeyPart, ...KeyPart[]], notes };
}

/** One text that looks like a tuple is another key than the tuple. Says how to write that. */
export function tupleHint(typed: Key): readonly string[] {
  if (typeof typed !== "string") return [];
  const [, after = typed] = /^\W*address["'\s:=,](.*?)["'\s\]]*$/i.exec(typed) ?? [];
  const address = after.replace(/^["'\s=,]+/, "");
  if (writtenAddress(address) !== undefined) return [`The key is one text. For the key of addressKey write: address ${address}.`];
  if (!/[\s:]|^\[/.test(typed)) return [];
  const parts = typed.split(/[\s:"',[\]]+/).filter((part) => part !== "");
  const [first = "user", second = "42", ...others] = parts;
  const tuple = [first, second, ...others];
  return [`The key is one text. For the tuple ${JSON.stringify(tuple)} write its parts with blanks between: ${tuple.join(" ")}.`];
}
