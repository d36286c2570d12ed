import { definePolicy, type Policy } from "sluice";
import { Misuse } from "./io.js";

const TIME_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 };
const TEXT = /^(?:(\d[\d_]*)\s*,\s*)?(\d[\d_]*)\s*\/\s*(\d*)\s*(ms|s|min|h|d)$/;
const DURATION = /^(\d+)\s*(ms|s|min|h|d)$/;

/**
 * Reads a policy of one limit as it is written for a command: the capacity, a comma, the tokens that return in a time.
 * Without a capacity it is these tokens. `"30, 5/s"`, `"100/min"`, `"5, 1/10s"`.
 */
export function policyOfText(text: string): Policy {
  const [, capacity, tokens, count, unit] = TEXT.exec(text.trim()) ?? [];
  if (tokens === undefined || unit === undefined) {
    throw new Misuse(`Expected a policy such as "30, 5/s" or "100/min", got "${text}"`);
  }
  const everyMs = Number(count || "1") * (TIME_UNITS[unit] as number);
  try {
    const refill = { tokens: wholeIn(tokens), everyMs };
    return definePolicy({ name: "policy", refill, ...(capacity === undefined ? {} : { capacity: wholeIn(capacity) }) });
  } catch (error) {
    throw new Misuse(`Policy "${text}": ${(error as Error).message}`);
  }
}

/** Reads a duration such as `"10s"` or `"2min"` in milliseconds. */
export function durationOfText(text: string): number {
  const [, count, unit] = DURATION.exec(text.trim()) ?? [];
  if (unit === undefined) throw new Misuse(`Expected a time such as 10s, 500ms or 2min, got "${text}"`);
  return Number(count) * (TIME_UNITS[unit] as number);
}

/** Reads a share such as `"0.1%"` as a number from 0 to 1. */
export function shareOfText(text: string): number {
  const [, number] = /^(\d+(?:\.\d+)?)\s*%$/.exec(text.trim()) ?? [];
  if (number === undefined || Number(number) > 100) throw new Misuse(`Expected a share such as 0.1%, got "${text}"`);
  return Number(number) / 100;
}

/** Reads how many bits of an IPv6 address make a caller. */
export function prefixOfText(text: string): number {
  const bits = /^\d\d$/.test(text) ? Number(text) : 0;
  if (bits >= 32 && bits <= 64) return bits;
  throw new Misuse(`Expected --ipv6-prefix to be a whole number from 32 to 64, as in the gate's addressKey, got ${text}`);
}

function wholeIn(digits: string): number {
  return Number(digits.replaceAll("_", ""));
}
