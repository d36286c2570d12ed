// What a store may answer. An answer that is none must not become a refusal (law L11).
import { show } from "../core/check.js";
import type { Decision, Reading, Refused } from "../core/decision.js";
import type { StoreAnswer, StoreVerb } from "../core/records.js";

/**
 * Returns what a store answered to a call with `verb` and so many parts. Throws a TypeError for anything else than a
 * list with one answer for each: an answer without `allowed` must not become a refusal (law L11).
 */
export function checkAnswerList(verb: StoreVerb, size: number, answers: unknown): readonly StoreAnswer[] {
  if (!Array.isArray(answers) || answers.length !== size) {
    silence(answers);
    const got = Array.isArray(answers) ? `a list of ${answers.length}` : answerText(answers);
    throw wrongAnswer(verb, got, ` in a list of ${size}`);
  }
  // By index, because a list may have holes.
  for (let i = 0; i < size; i++) {
    if (isAnswer(verb, answers[i])) continue;
    silence(answers);
    throw wrongAnswer(verb, answerText(answers[i]));
  }
  return answers as readonly StoreAnswer[];
}

/** Makes the promises among wrong answers harmless: the rejection of one would end the process. */
function silence(answers: unknown): void {
  for (const each of Array.isArray(answers) ? answers : [answers]) Promise.resolve(each).catch(() => undefined);
}

function isAnswer(verb: StoreVerb, answer: unknown): boolean {
  if (verb === "consume" || verb === "peek") return isDecision(answer);
  if (verb === "adjust") return typeof answer === "boolean";
  // A store that took the call for another verb has something to say.
  return verb === "renew" || answer === undefined || answer === null;
}

function wrongAnswer(verb: StoreVerb, got: string, list = ""): TypeError {
  const isDone = verb === "adjust" || verb === "renew";
  const wanted = verb === "consume" || verb === "peek" ? "a decision" : isDone ? "true or false" : "undefined";
  return new TypeError(
    `Expected \`store.ask()\` to answer "${verb}" with ${wanted}${list}, got ${got}. ` +
    "Return the `answers` of `answerCall` of sluice/store.",
  );
}

function answerText(answer: unknown): string {
  if (typeof (Object(answer) as { then?: unknown }).then === "function") return "a promise. Write `await` before it";
  return typeof answer === "object" && answer !== null ? membersOf(answer) : show(answer);
}

function isDecision(answer: unknown): answer is Decision {
  // An inherited `allowed` is no answer: it may come from `Object.prototype`.
  if (typeof answer !== "object" || answer === null || !Object.hasOwn(answer, "allowed")) return false;
  const { allowed, reason, policy, at, limits } = answer as Decision;
  return (
    allowed === (reason === null) &&
    (allowed || REASONS.includes(reason)) &&
    typeof policy === "string" &&
    Number.isFinite(at) &&
    isReading(answer as Decision) &&
    (reason === "cost_above_capacity" || (answer as Decision).retryAfterMs <= MOST_WAIT_MS) &&
    // An inherited one may come from `Object.prototype`, too.
    (!Object.hasOwn(answer, "blocked") || isMark((answer as Refused).blocked, allowed)) &&
    (limits === null || (Array.isArray(limits) && limits.length > 0 && limits.every((each) => isReading(Object(each)))))
  );
}

// A whole refill is at most 2^53 units, and a unit takes at most one millisecond.
const MOST_WAIT_MS = 2 ** 54;

const REASONS: readonly unknown[] = ["limited", "cost_above_capacity", "store_unavailable"];

function isReading({ limit, cost, capacity, remaining, retryAfterMs, nextTokenMs, resetMs }: Reading): boolean {
  return (
    typeof limit === "string" &&
    isAmount(cost) &&
    Number.isSafeInteger(capacity) &&
    Number.isSafeInteger(remaining) &&
    isAmount(remaining) &&
    isAmount(retryAfterMs) &&
    isAmount(nextTokenMs) &&
    isAmount(resetMs)
  );
}

function isAmount(value: unknown): boolean {
  return typeof value === "number" && value >= 0;
}

function isMark(blocked: unknown, allowed: boolean): boolean {
  return blocked === undefined || (blocked === true && !allowed);
}

const SHOWN = [
  "allowed", "reason", "policy", "limit", "cost", "capacity", "remaining", "retryAfterMs", "nextTokenMs", "resetMs",
  "at", "limits", "blocked",
];

// Only a decision's own members: others may hold the caller's key.
function membersOf(answer: object): string {
  return `{ ${SHOWN.map((name) => `${name}: ${show((answer as Record<string, unknown>)[name])}`).join(", ")} }`;
}
