// What the core answered, and what it kept, before its arithmetic was written anew: the same for ever.
import { expect, test } from "vitest";
import digestsJson from "../vectors/frozen/history-digests.json" with { type: "json" };
import historiesJson from "../vectors/frozen/histories.json" with { type: "json" };
import { digestOf, recordsIn, runInCore, stored, type History } from "../vectors/frozen/history.js";
import { historyOf } from "../vectors/frozen/random-history.js";

/** A random history, what was answered to its steps, and the records after it. */
interface WholeHistory extends History {
  readonly seed: number;
  readonly answers: readonly string[];
  readonly records: string;
}

const histories = historiesJson as unknown as readonly WholeHistory[];
const digests = digestsJson as unknown as readonly (readonly [seed: number, answers: string, records: string])[];

test.each(histories)("L8 · one arithmetic: the frozen history $seed is answered and kept as it was", ({ seed, answers, records, ...history }) => {
  expect(historyOf(seed), "the generator makes another history").toEqual(history);
  const { answers: given, after } = runInCore(history, new Map());
  expect([given, after.at(-1)]).toEqual([answers, records]);
});

const HUNDRED = 100;
test.each(digests.filter((_, i) => i % HUNDRED === 0))("L8 · one arithmetic: 100 frozen histories from %d on are answered and kept as they were", (first) => {
  const others = digests.slice(first - 1, first - 1 + HUNDRED).flatMap(([seed, ...frozen]) => {
    const { answers, after } = runInCore(historyOf(seed), new Map());
    const [answered, kept] = [digestOf(answers) === frozen[0], digestOf(after) === frozen[1]];
    return answered && kept ? [] : [`seed ${seed}: other ${answered ? "records" : "answers"}`];
  });
  expect(others).toEqual([]);
});

test.each(stored)("L8 · one arithmetic: the core goes on with the records of $why", ({ first, rest, answers, records, ...history }) => {
  expect(runInCore({ ...history, steps: first }, new Map()).after.at(-1)).toBe(records[0]);
  const { answers: given, after } = runInCore({ ...history, steps: rest }, recordsIn(records[0]));
  expect([given, after.at(-1)]).toEqual([answers, records[1]]);
});
