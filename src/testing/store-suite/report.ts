import type { Decision } from "../../core/decision.js";
import type { Contradiction } from "./oracle.js";
import { describeCall, differences, quoteKey, SHOWN_LIMITS, type AnsweredCall } from "./states.js";

// Of concurrent calls, a message shows this many, the wrong one first.
const SHOWN_CALLS = 8;

/** The line of a history: when a call was made, and its answer. */
export function describeAnswered({ call, answer }: AnsweredCall, atMs: number): string {
  return `  at ${atMs >= 0 ? "+" : ""}${atMs} ms ${describeCall(call)}: ${describeAnswer(answer)}`;
}

/** The message about a wrong answer. `lines` are those of `calls`. */
export function describeContradiction(
  calls: readonly AnsweredCall[],
  lines: readonly string[],
  { wrong, wanted }: Contradiction,
  history: readonly string[],
): string {
  const order = calls.length > 1 ? ` in some order of ${calls.length} concurrent calls` : "";
  const at = calls.indexOf(wrong);
  const shown = [`>${lines[at]?.slice(1)}`, ...lines.filter((_line, i) => i !== at)].slice(0, SHOWN_CALLS);
  const { policy, key } = wrong.call;
  const limits = policy.limits
    .slice(0, SHOWN_LIMITS)
    .map(({ name, capacity, refill, renews }) => ({ name, capacity, refill, renews }));
  const more = policy.limits.length - limits.length;
  return [
    `Expected \`${describeCall(wrong.call)}\` to get the core's decision${order}, got ` +
      `${differences(wrong.answer, wanted).join(", ")}`,
    `  key ${quoteKey(key)}, policy "${policy.name}" ${JSON.stringify(limits)}${more > 0 ? ` and ${more} more limits` : ""}`,
    ...history, ...shown,
    ...(calls.length > shown.length ? [`  and ${calls.length - shown.length} more concurrent calls`] : []),
  ].join("\n");
}

function describeAnswer(answer: unknown): string {
  if (typeof answer !== "object" || answer === null) return answer === false ? "not done" : "done";
  const { allowed, remaining, retryAfterMs } = answer as Decision;
  return allowed ? `allowed, ${remaining} left` : `refused, ${remaining} left, retry after ${retryAfterMs} ms`;
}
