import type { Cost } from "../core/cost.js";
import type { Decision, Reading } from "../core/decision.js";
import type { Key } from "../core/key.js";
import { grouped, printable, waitText } from "./text.js";
import { namesToType, type FoundLimiter } from "./find-limiter.js";
import type { Order } from "./read-order.js";

/** Follows the sentence that says what was done. */
export const UNKNOWN_TEXT = "What is left is unknown: the store did not answer.\n";

/** What is left to a caller, in words: a line for each limit, and one for the next call. `peek` has no `before`. */
export function leftText({ key, name, notes }: Order, found: FoundLimiter, left: Decision, before?: Decision): string {
  const { policy, limits } = left;
  const who = `${callerText(key)}, "${policy}" of ${name}`;
  const one = (reading: Reading, was?: Reading): string => readingText(reading) + hadText(reading, was);
  const rows = limits?.map((each, i) => `\n  ${each.limit}: ${one(each, before?.limits?.[i])}`) ?? [` ${one(left, before)}`];
  const read = notes.map((note) => `${printable(note)}\n`).join("");
  return `${who}:${rows.join("")}\n${nextText(left)}\n${tierText(name, found)}${read}`;
}

/** What a limit had before the change, so that it can be undone. */
function hadText({ remaining }: Reading, was: Reading | undefined): string {
  return was === undefined || was.remaining === remaining ? "" : `; ${grouped(was.remaining)} before`;
}

/** A caller of another tier has other numbers than the limiter. */
function tierText(name: string, { ownPath, otherTiers }: FoundLimiter): string {
  if (ownPath !== undefined) return `This is by the caller's own numbers, ${printable(ownPath)}.\n`;
  const others = printable(namesToType(otherTiers, "--policy ").join(" or "));
  return others === "" ? "" : `This is by the numbers of ${name} itself. For a caller of another tier add ${others}.\n`;
}

/**
 * A full bucket and none look alike (law L4), so a key that was written wrongly looks like a caller who has been quiet.
 * Numbers of the caller's own were found by the key, so it is right.
 */
export function nothingText({ verb, isDefaultPrefix }: Order, { ownPath }: FoundLimiter, before: Decision): string {
  if (ownPath !== undefined || !isUntouched(before)) return "";
  const prefix = isDefaultPrefix ? ", and the prefix of your gate (--ipv6-prefix)" : "";
  const text = `Nothing ${verb === "peek" ? "is" : "was"} spent under this key: right for a caller who has been quiet`;
  return `${text}; check the spelling${prefix} otherwise.`;
}

/** Whether the limits of a decision are full and no block is left. */
function isUntouched(decision: Decision): boolean {
  const readings: readonly Reading[] = decision.limits ?? [decision];
  const isBlocked = !decision.allowed && decision.blocked;
  return !isBlocked && readings.every(({ remaining, capacity }) => remaining === capacity) && decision.resetMs === 0;
}

/** What was done, in a sentence. `before` is what was left before it. */
export function doneText(order: Order, found: FoundLimiter, before: Decision): string {
  const { verb, key, cost = 0, forMs, forText, reason } = order;
  const who = callerText(key);
  const text = {
    peek: "",
    credit: `Gave ${costText(cost)} to ${who}.${backText(cost, before)}`,
    debit: `Took ${costText(cost)} from ${who}.`,
    block: forMs === 0 ? `Ended the block of ${who}.` : blockedText(who, forMs, forText, before),
    reset: `Reset ${who}: all tokens are back, and no block is left.`,
  }[verb];
  const because = reason === undefined ? "" : `Reason: ${printable(reason)}`;
  return `${[text, nothingText(order, found, before), because].filter((each) => each !== "").join(" ")}\n`;
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
