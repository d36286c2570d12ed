import { isPlain } from "../../../core/check.js";
import type { Decision } from "../../../core/decision.js";
import { assert, AssertionError } from "../../assert.js";
import { differences } from "../states.js";
import { keysTogether } from "../together.js";
import type { StoreCase } from "../trial.js";

/** Decisions as plain data. */
export const decisionCases: readonly StoreCase[] = [
  {
    name: "L7 · a decision is plain data that never changes, and changing it changes nothing",
    cause: "The store returns a live record, or an instance of a class, instead of a plain copy.",
    async run(trial) {
      await trial.openStores("mixed");
      const [one, two] = [
        trial.policy("one", { capacity: 4, refill: { tokens: 1, everyMs: 1_000 } }),
        trial.policy(
          "two", { name: "a", capacity: 4, refill: { tokens: 1, everyMs: 900 } },
          { name: "b", capacity: 6, refill: { tokens: 2, everyMs: 1_000 } },
        ),
      ];
      const wanted = [one, two].map((policy) => ({ policy, key: "together" }));
      const keys = trial.has("together") ? await keysTogether(trial, wanted) : null;
      const taken: Array<{ decision: Decision; copy: Decision }> = [];
      for (let i = 0; i < 12; i++) {
        const policy = i % 2 === 0 ? one : two;
        const made = [await trial.consume(policy, "caller", (i % 3) + 1)];
        const cost = i % 4 === 0 ? 9 : 0; // 9 is refused
        const [seen, charged] = await Promise.all([
          trial.has("peek") ? trial.callAll({ method: "peek", policy, key: "caller", tokens: i % 5 }) : [],
          keys === null
            ? []
            : trial.chargeTogether([one, two].map((each, k) => ({ policy: each, key: keys[k] as string, cost }))),
        ]);
        for (const decision of [...made, ...(seen as Decision[]), ...charged]) taken.push({ decision, copy: copyOf(decision) });
        trial.move(i % 5 === 0 ? 700 : 0);
      }
      for (const { decision, copy } of taken) {
        const changed = differences(decision, copy);
        assert(changed.length === 0, `Expected an earlier decision to stay the same, got ${changed.join(", ")}`);
      }
      // Overwriting a decision must not change the next decision.
      for (const { decision } of taken) overwrite(decision);
      for (let i = 0; i < 4; i++) {
        overwrite(await trial.consume(i % 2 === 0 ? one : two, "caller", 1));
        trial.move(500);
      }
    },
  },
];

/** Copies a decision with `structuredClone`, which takes nothing but plain data. */
function copyOf(decision: Decision): Decision {
  checkPlain(decision, "a decision");
  try {
    return structuredClone(decision);
  } catch (error) {
    throw new AssertionError(`Expected \`structuredClone\` to copy a decision, got ${String(error)}`, { cause: error });
  }
}

function checkPlain(value: object, what: string): void {
  const kind = value.constructor?.name ?? "Object";
  const described = kind === "" || kind === "Object" ? "an object that inherits properties" : `an instance of ${kind}`;
  assert(isPlainData(value), `Expected ${what} to be a plain object, got ${described}`);
  for (const [name, { get, value: held, enumerable }] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
    if (Array.isArray(value) && name === "length") continue;
    const got = get ? "a getter" : typeof held === "function" ? "a function" : enumerable ? null : "a hidden property";
    assert(got === null, `Expected \`${name}\` of ${what} to be plain data, got ${got}`);
    if (typeof held === "object" && held !== null) checkPlain(held, `\`${name}\` of ${what}`);
  }
  const symbols = Object.getOwnPropertySymbols(value);
  assert(symbols.length === 0, `Expected ${what} to have no symbols, got ${symbols.map(String).join(", ")}`);
}

/** Whether `value` is an array or object literal, of any realm. */
function isPlainData(value: object): boolean {
  if (!Array.isArray(value)) return isPlain(value);
  const parent: unknown = Object.getPrototypeOf(value);
  return Array.isArray(parent) && !Array.isArray(Object.getPrototypeOf(parent));
}

function overwrite(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  for (const inner of Object.values(value)) overwrite(inner);
  if (!Array.isArray(value)) for (const name of Object.keys(value)) (value as Record<string, unknown>)[name] = -1;
}
