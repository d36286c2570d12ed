import type { Cost } from "../core/cost.js";
import type { Decision, Reading } from "../core/decision.js";
import type { Key } from "../core/key.js";
import { grouped, printable, waitText } from "./text.js";
import { namesToType, type FoundLimiter } from "./find-limiter.js";
import type { Order } from "./read-order.js";

/** Follows the sentence that says what was done. */
export const UNKNOWN_TEXT = "What is left is unknown: the store did not answer.\n";

/** What is left to a caller, in words: a line for each limit, and one for the next call. */
export function leftText({ key, name, notes }: Order, found: FoundLimiter, decision: Decision): string {
  const { policy, limits } = decision;
  const who = `${callerText(key)}, "${policy}" of ${name}`;
  const rows = limits?.map((each) => `\n  ${each.limit}: ${readingText(each)}`).join("") ?? ` ${readingText(decision)}`;
  const read = notes.map((note) => `${printable(note)}\n`).join("");
  return `${who}:${rows}\n${nextText(decision)}\n${tierText(name, found)}${read}`;
}

/** A caller of another tier has other numbers than the limiter. */
function tierText(name: string, { ownPath, otherTiers }: FoundLimiter): string {
  if (ownPath !== undefined) return `This is by the caller's own numbers, ${printable(ownPath)}.\n`;
  const others = printable(namesToType(otherTiers, "--policy ").join(" or "));
  return others === "" ? "" : `This is by the numbers of ${name} itself. For a caller of another tier add ${others}.\n`;
}

/**
 * A full bucket and none look alike, so a key that was written wrongly looks like one that is free to call. Numbers of
 * the caller's own were found by the key, so it is right.
 */
export function nothingText({ verb, key, forMs }: Order, { ownPath }: FoundLimiter, before: Decision): string {
  const asks = verb === "peek" || verb === "reset" || verb === "credit" || (verb === "block" && forMs === 0);
  if (!asks || ownPath !== undefined || !isUntouched(before)) return "";
  const was = verb === "peek" ? "is" : "was";
  return `Nothing ${was} spent under ${callerText(key)}, and no block ${was} left: is this the key?\n`;
}

/** Whether the limits of a decision are full and no block is left. */
function isUntouched(decision: Decision): boolean {
  const readings: readonly Reading[] = decision.limits ?? [decision];
  const isBlocked = !decision.allowed && decision.blocked;
  return !isBlocked && readings.every(({ remaining, capacity }) => remaining === capacity) && decision.resetMs === 0;
}

/** What was done, in a sentence. `before` is what was left before it. */
export function doneText({ verb, key, cost = 0, forMs, forText, reason }: Order, before: Decision): string {
  const who = callerText(key);
  const because = reason === undefined ? "" : ` Reason: ${printable(reason)}`;
  const text = {
    peek: "",
    credit: `Gave ${costText(cost)} to ${who}.${backText(cost, before)}`,
    debit: `Took ${costText(cost)} from ${who}.`,
    block: forMs === 0 ? `Ended the block of ${who}.` : blockedText(who, forMs, forText, before),
    reset: `Reset ${who}: all tokens are back, and no block is left.`,
  }[verb];
  return text === "" ? "" : `${text}${because}\n`;
}

/** A block ends at the later of two ends. */
function blockedText(who: string, forMs: number, forText: string, before: Decision): string {
  const isLonger = !before.allowed && before.blocked && before.retryAfterMs > forMs;
  if (!isLonger) return `Blocked ${who} for ${forText}.`;
  return `${who} was blocked for longer than ${forText}: the block of ${waitText(before.retryAfterMs)} stays. --for 0 ends it.`;
}

function readingText({ remaining, capacity, resetMs, inFlight }: Reading): string {
  const noun = inFlight === true ? "free" : "left";
  const full = inFlight === true ? "" : resetMs === 0 ? ", full" : `, full in ${waitText(resetMs)}`;
  return `${grouped(remaining)} of ${grouped(capacity)} ${noun}${full}`;
}

function nextText(decision: Decision): string {
  const { reason, retryAfterMs, cost, limit, policy, limits } = decision;
  const call = cost === 1 ? "A call now" : `A call of the cost ${grouped(cost)} now`;
  if (decision.allowed) return `${call} is allowed.`;
  if (decision.blocked) return `${call} is refused: the caller is blocked for ${waitText(retryAfterMs)}.`;
  const label = (before: string): string => (limits === null ? "" : ` ${before} "${policy}:${limit}"`);
  if (reason === "cost_above_capacity") return `${call} is never allowed: it costs more than the capacity${label("of")}.`;
  return `${call} is refused${label("by")}: ask again in ${waitText(retryAfterMs)}.`;
}

function callerText(key: Key): string {
  return printable(JSON.stringify(key));
}

function costText(cost: Cost): string {
  if (typeof cost === "number") return `${grouped(cost)} ${cost === 1 ? "token" : "tokens"}`;
  return Object.entries(cost).map(([name, tokens]) => `${grouped(tokens as number)} of ${name}`).join(", ");
}

/** What of a credit came back, if that is less: only spent tokens do. */
function backText(cost: Cost, before: Decision): string {
  const asked = typeof cost === "number" ? [["", cost] as const] : Object.entries(cost);
  const backs = asked.map(([name, given]) => {
    const { remaining, capacity } = before.limits?.find(({ limit }) => limit === name) ?? before;
    // More may be spent than an empty bucket shows.
    return { name, given, back: remaining === 0 ? given : Math.min(given, capacity - remaining) };
  });
  if (backs.every(({ given, back }) => given === back)) return "";
  const texts = backs.map(({ name, back }) => (name === "" ? grouped(back) : `${grouped(back)} of ${name}`));
  return ` Of these ${texts.join(", ")} came back: no more was spent.`;
}
