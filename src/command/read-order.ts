import { parseArgs, type ParseArgsConfig } from "node:util";
import type { Cost } from "../core/cost.js";
import type { Key, KeyPart } from "../core/key.js";
import { Misuse } from "./io.js";
import { writtenAddress } from "./written-address.js";

/** What an operator may do. */
export type Verb = "peek" | "credit" | "debit" | "block" | "reset";

/** What an operator wants. */
export interface Order {
  readonly verb: Verb;
  readonly file: string;
  /** The name of the limiter in the module. */
  readonly name: string;
  readonly key: Key;
  /** How the key was read, for the operator. Empty if it was read as it was typed. */
  readonly notes: readonly string[];
  /** What to look for, to give or to take. Undefined for the policy's own. */
  readonly cost: Cost | undefined;
  readonly forMs: number;
  /** As it was written. Empty without one. */
  readonly forText: string;
  readonly tier: string | undefined;
  readonly reason: string | undefined;
  readonly json: boolean;
  /** Whether a limiter over a store in memory is wanted. */
  readonly inMemory: boolean;
}

const ORDER_OPTIONS = {
  cost: { type: "string" },
  for: { type: "string" },
  policy: { type: "string" },
  reason: { type: "string" },
  json: { type: "boolean" },
  memory: { type: "boolean" },
  "ipv6-prefix": { type: "string" },
} as const satisfies ParseArgsConfig["options"];

/** What each verb needs beside a key, in the form that a mistake shows. */
const MORE = { peek: "", reset: "", credit: " --cost 10", debit: " --cost 10", block: " --for 10min" } as const;

/** Reads the arguments of `npx sluice <verb>`. Throws a {@link Misuse} that says what to write. */
export function readOrder(verb: Verb, args: readonly string[]): Order {
  const { values, positionals } = parse(args);
  const [file, name, ...parts] = positionals;
  const form = `npx sluice ${verb} ./limits.mjs interactive user 42${MORE[verb]}`;
  if (file === undefined) throw new Misuse(`Expected the module of your limiters, got nothing. Write ${form}`);
  if (name === undefined) throw new Misuse(`Expected the name of a limiter that ${file} exports, got nothing. Write ${form}`);
  const [first, ...more] = parts;
  if (first === undefined) throw new Misuse(`Expected the key of a caller, got nothing. Write ${form}`);
  const cost = values.cost === undefined ? undefined : costOfText(values.cost);
  if (cost === undefined && (verb === "credit" || verb === "debit"))
    throw new Misuse(`Expected --cost, the tokens to ${verb}, such as --cost 10 or --cost tokens=500, got nothing`);
  if (cost !== undefined && (verb === "block" || verb === "reset")) throw new Misuse(`Expected no --cost: ${verb} needs none`);
  if (verb === "block" && values.for === undefined)
    throw new Misuse("Expected --for, such as --for 10min, or --for 0 to end a block, got nothing");
  if (verb !== "block" && values.for !== undefined) throw new Misuse(`Expected no --for: it is for block, not for ${verb}`);
  const typed = more.length === 0 ? keyOfText(first) : ([first, ...more] as [KeyPart, ...KeyPart[]]);
  const { key, notes } = addressInKey(typed, prefixOfText(values["ipv6-prefix"] ?? "64"));
  return {
    verb, file, name, cost, key,
    notes: [...notes, ...tupleHint(typed)],
    forMs: values.for === undefined || values.for === "0" ? 0 : durationOfText(values.for),
    forText: values.for?.trim() ?? "",
    tier: values.policy,
    reason: values.reason,
    json: values.json === true,
    inMemory: values.memory === true,
  };
}

/** A text, or the parts of a list in JSON: the only way to write a key of one part, and how a log writes them. */
function keyOfText(text: string): Key {
  try {
    const parts = text.startsWith("[") ? (JSON.parse(text) as unknown) : null;
    const isPart = (part: unknown): boolean => typeof part === "string" || Number.isSafeInteger(part);
    return Array.isArray(parts) && parts.length > 0 && parts.every(isPart) ? (parts as [KeyPart, ...KeyPart[]]) : text;
  } catch {
    return text;
  }
}

/** Reads `"10"`, or `"requests=1,tokens=500"` for the limits of these names. */
function costOfText(text: string): Cost {
  if (/^\d+$/.test(text)) return Number(text);
  const named = text.split(",").map((each) => /^([^=]+)=(\d+)$/.exec(each));
  if (named.includes(null)) throw new Misuse(`Expected --cost to be a whole number, or tokens=500,requests=1, got ${text}`);
  return Object.fromEntries(named.map((each) => [each?.[1], Number(each?.[2])])) as Cost;
}

const TIME_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a duration such as `"10s"` or `"2min"` in milliseconds. */
function durationOfText(text: string): number {
  const [, count, unit] = /^(\d+)\s*(ms|s|min|h|d)$/.exec(text.trim()) ?? [];
  if (unit === undefined) throw new Misuse(`Expected a time such as 10s, 500ms or 2min, got "${text}"`);
  return Number(count) * (TIME_UNITS[unit] as number);
}

/** Reads how many bits of an IPv6 address make a caller. */
function prefixOfText(text: string): number {
  const bits = /^\d\d$/.test(text) ? Number(text) : 0;
  if (bits >= 32 && bits <= 64) return bits;
  throw new Misuse(`Expected --ipv6-prefix to be a whole number from 32 to 64, as in the gate's addressKey, got ${text}`);
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: ORDER_OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new Misuse((error as Error).message);
  }
}

/** A key, and what the operator should know of how it was read. */
interface ReadKey {
  readonly key: Key;
  readonly notes: readonly string[];
}

/**
 * The key with the address after the part `"address"` as `addressKey` writes it. All other parts stay as they were
 * typed: a user may be named `::1`, and a module may use the raw address as a key.
 */
function addressInKey(typed: Key, ipv6Prefix: number): ReadKey {
  if (typeof typed === "string") return { key: typed, notes: [] };
  const notes: string[] = [];
  const parts = typed.map((part, i): KeyPart => {
    const found = i > 0 && typed[i - 1] === "address" && typeof part === "string" ? writtenAddress(part, ipv6Prefix) : undefined;
    if (found?.taken !== undefined) notes.push(`Took the first address of the list: ${found.taken}.`);
    if (found === undefined && i > 0 && typed[i - 1] === "address") {
      notes.push(`addressKey makes no key of ${part}, so this is no caller of a gate that uses it.`);
    }
    const bits = Number(/\/(\d+)$/.exec(found?.key[1] ?? "")?.[1] ?? ipv6Prefix);
    if (bits !== ipv6Prefix) notes.push(otherPrefixNote(bits, ipv6Prefix));
    return found?.key[1] ?? part;
  });
  return { key: parts as [KeyPart, ...KeyPart[]], notes };
}

/** A gate has no key of a network of another length than its own. */
function otherPrefixNote(bits: number, ipv6Prefix: number): string {
  const own = `A gate with the ipv6Prefix ${ipv6Prefix}${ipv6Prefix === 64 ? ", the default," : ""} has no key of ${bits} bits`;
  return `${own}, so this is no caller of it. If yours has ${bits}, add --ipv6-prefix ${bits}.`;
}

/** One text that looks like a tuple is another key than the tuple. Says how to write that. */
function tupleHint(typed: Key): readonly string[] {
  if (typeof typed !== "string") return [];
  const [, after = typed] = /^\W*address["'\s:=,](.*?)["'\s\]]*$/i.exec(typed) ?? [];
  const address = after.replace(/^["'\s=,]+/, "");
  if (writtenAddress(address) !== undefined) return [`The key is one text. For the key of addressKey write: address ${address}.`];
  if (!/[\s:]|^\[/.test(typed)) return [];
  const parts = typed.split(/[\s:"',[\]{}]+/).filter((part) => part !== "");
  const [first = "user", second = "42", ...others] = parts;
  const tuple = [first, second, ...others];
  return [`The key is one text. For the tuple ${JSON.stringify(tuple)} write its parts with blanks between: ${tuple.join(" ")}.`];
}
