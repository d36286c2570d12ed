import { parseArgs, type ParseArgsConfig } from "node:util";
import type { Cost } from "../core/cost.js";
import type { Key, KeyPart } from "../core/key.js";
import { Misuse } from "./io.js";
import { readKey } from "./read-key.js";

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
  /** Whether an IPv6 address was cut to the default prefix, which the gate may not have. */
  readonly isDefaultPrefix: boolean;
  /** What to look for, to give or to take. Undefined for the policy's own. */
  readonly cost: Cost | undefined;
  readonly forMs: number;
  /** In words. Empty without one. */
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
  exactly: { type: "boolean" },
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
  const prefix = values["ipv6-prefix"];
  const ipv6Prefix = prefix === undefined ? undefined : prefixOfText(prefix);
  const duration = values.for === undefined || values.for === "0" ? { ms: 0, text: "" } : durationOfText(values.for);
  return {
    verb, file, name, cost,
    ...readKey(typed, { exactly: values.exactly === true, ipv6Prefix }),
    forMs: duration.ms,
    forText: duration.text,
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

/** Reads a duration such as `"10s"` or `"2min"`. A minute is also `m`, as in other tools. */
function durationOfText(text: string): { readonly ms: number; readonly text: string } {
  const [, count = "", written] = /^(\d+)\s*(ms|s|m|min|h|d)$/.exec(text.trim()) ?? [];
  if (written === undefined) throw new Misuse(`Expected a time such as 10s, 500ms or 2min, got "${text}"`);
  const unit = written === "m" ? "min" : written;
  return { ms: Number(count) * (TIME_UNITS[unit] as number), text: `${count} ${unit}` };
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
