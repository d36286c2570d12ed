import { createLimiter, type PolicyOptions, type Reading, MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { readings } from "../../src/core/decision.js";

/**
 * Checks a policy against a table with one line for each call:
 *
 *     0 s    take 3    yes   7 left · next in 500 ms · full in 1.5 s
 *
 * Instant, call and answer are read from each line. The line is then written again with the actual answer, so a failure
 * shows both. Calls: `take n`, `ask n` (peek), `give n` (credit), `forget` (reset). The
 * instants are names in `when`, or a number with its unit. Time may go backwards.
 */
export function story(name: string, policy: PolicyOptions, told: string, when: Readonly<Record<string, number>> = {}): void {
  test(name, () => {
    const clock = new ManualClock();
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: clock.now }) });
    const lines = told.trim().split("\n").map((line) => line.trim());
    const actual = lines.map((line) => {
      const [, instant, verb, amount] = /^(.+?) {2,}(take|ask|give|forget) ?(\d*)/.exec(line) ?? fail(line);
      clock.set(when[instant as string] ?? milliseconds(instant as string));
      const call = `${verb}${amount === "" ? "" : ` ${amount}`}`;
      return `${instant as string}  ${call}  ${answer(verb as string, Number(amount))}`;
    });
    expect(actual.map(compact)).toEqual(lines.map(compact));

    function answer(verb: string, amount: number): string {
      if (verb === "give") limiter.credit("alice", { cost: Object.fromEntries(limiter.policy.limits.map(({ name }) => [name, amount])) });
      if (verb === "forget") limiter.reset("alice");
      const decision = verb === "take" ? limiter.consume("alice", amount) : limiter.peek("alice", verb === "ask" ? amount : 0);
      const many = decision.limits !== null;
      const refusal = decision.retryAfterMs === Infinity ? "never" : `no, wait ${duration(decision.retryAfterMs)}`;
      const head = verb === "give" || verb === "forget" ? "" : `${decision.allowed ? "yes" : refusal}  `;
      return head + readings(decision).map((reading) => (many ? `${reading.limit} ${show(reading)}` : show(reading))).join("  ");
    }
  });
}

function show({ remaining, nextTokenMs, resetMs }: Reading): string {
  if (resetMs === 0) return `${remaining} left · full`;
  return `${remaining} left · next in ${duration(nextTokenMs)} · full in ${duration(resetMs)}`;
}

const units: readonly [unit: string, ms: number][] = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1_000], ["ms", 1]];

/** The largest unit in which the duration has at most one decimal. */
function duration(ms: number): string {
  const [unit, size] = units.find(([, size]) => ms >= size && (ms * 10) % size === 0) ?? (["ms", 1] as const);
  return `${ms / size} ${unit}`;
}

function milliseconds(text: string): number {
  const [, amount, unit] = /^(-?[\d.]+) (\w+)$/.exec(text) ?? fail(text);
  return Number(amount) * (units.find(([name]) => name === unit)?.[1] ?? fail(text));
}

function fail(text: string): never {
  throw new Error(`Not a line of a story: ${text}`);
}

// The columns align the lines for the reader.
function compact(line: string): string {
  return line.replaceAll(/ {2,}/g, "  ");
}
