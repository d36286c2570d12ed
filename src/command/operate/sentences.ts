import type { Cost } from "../../core/cost.js";
import type { Decision, Reading } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import { duration, grouped, printable } from "../text.js";
import type { FoundLimiter } from "./find-limiter.js";
import type { Order } from "./read-order.js";

/** Follows the sentence that says what was done. */
export const UNKNOWN_TEXT = "What is left is unknown: the store did not answer.\n";

/** What is left to a caller, in words: a line for each limit, and one for the next call. */
export function leftText({ key, name }: Order, { otherTiers }: FoundLimiter, decision: Decision): string {
  const { policy, limits } = decision;
  const who = `${callerText(key)}, "${policy}" of ${name}`;
  const rows = limits?.map((each) => `\n  ${each.limit}: ${readingText(each)}`).join("") ?? ` ${readingText(decision)}`;
  return `${who}:${rows}\n${nextText(decision)}\n${tierText(name, otherTiers)}`;
}

/** A caller of another tier has other numbers. */
function tierText(name: string, otherTiers: readonly string[]): string {
  const others = otherTiers.map((tier) => `--policy ${tier}`).join(" or ");
  return others === "" ? "" : `This is by the numbers of ${name} itself. For a caller of another tier add ${others}.\n`;
}

/** What was done, in a sentence. */
export function doneText({ verb, key, cost = 0, forMs, reason }: Order): string {
  const who = callerText(key);
  const because = reason === undefined ? "" : ` Reason: ${printable(reason)}`;
  const text = {
    peek: "",
    credit: `Gave ${costText(cost)} to ${who}.`,
    debit: `Took ${costText(cost)} from ${who}.`,
    block: forMs === 0 ? `Ended the block of ${who}.` : `Blocked ${who} for ${duration(forMs)}.`,
    reset: `Reset ${who}: all tokens are back, and no block is left.`,
  }[verb];
  return text === "" ? "" : `${text}${because}\n`;
}

function readingText({ remaining, capacity, resetMs, inFlight }: Reading): string {
  const noun = inFlight === true ? "free" : "left";
  const full = inFlight === true ? "" : resetMs === 0 ? ", full" : `, full in ${duration(resetMs)}`;
  return `${grouped(remaining)} of ${grouped(capacity)} ${noun}${full}`;
}

function nextText(decision: Decision): string {
  const { reason, retryAfterMs, cost, limit, policy, limits } = decision;
  const call = cost === 1 ? "A call now" : `A call of the cost ${grouped(cost)} now`;
  if (decision.allowed) return `${call} is allowed.`;
  if (decision.blocked) return `${call} is refused: the caller is blocked for ${duration(retryAfterMs)}.`;
  if (reason === "cost_above_capacity") return `${call} is never allowed: it costs more than the capacity.`;
  return `${call} is refused${limits === null ? "" : ` by "${policy}:${limit}"`}: ask again in ${duration(retryAfterMs)}.`;
}

function callerText(key: Key): string {
  return printable(typeof key === "string" ? key : key.join(" "));
}

function costText(cost: Cost): string {
  if (typeof cost === "number") return `${grouped(cost)} ${cost === 1 ? "token" : "tokens"}`;
  return Object.entries(cost).map(([name, tokens]) => `${grouped(tokens as number)} of ${name}`).join(", ");
}
