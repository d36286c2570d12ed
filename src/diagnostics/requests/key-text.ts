import type { Key } from "../../core/key.js";
import type { Policy } from "../../core/policy.js";
import { isQuiet, warnOnce } from "../../warnings/warnings.js";
import { FIRST_CHECKED, isCheckedTurn } from "./sampling.js";

// What a template writes for a missing value, an object or a promise.
const NO_VALUES = "undefined|null|NaN";
/** Alone, or after any character that is no letter and no digit. */
const AT_END = new RegExp(`(?:^|[^\\p{L}\\p{N}])(${NO_VALUES})$`, "u");
/** Between separators of parts. Others stand inside of words, such as those of an address: "null@example.com". */
const IN_FRONT = new RegExp(`(?:^|[\\s:;,|/\\\\#=&~])(${NO_VALUES})(?=[\\s:;,|/\\\\#=&~])`);
const OBJECT = /\[object \w+\]/;

const keysSeen = new WeakMap<Policy, { count: number }>();

/**
 * Warns of a key with a text that stands for a missing value, such as "user:undefined": all callers without a value
 * would share one bucket. Looks at the first 1,000 keys of a limiter, and then at 250 of every 16,000.
 */
export function checkKeyText(key: Key, policy: Policy): void {
  const seen = keysSeen.get(policy) ?? { count: 0 };
  if (seen.count === 0) keysSeen.set(policy, seen);
  const before = seen.count++;
  if ((before >= FIRST_CHECKED && !isCheckedTurn(before)) || isQuiet("SLUICE_KEY_HAS_NO_VALUE")) return;
  for (const part of typeof key === "string" ? [key] : key) {
    const word = typeof part === "string" ? wordIn(part) : undefined;
    if (word === undefined) continue;
    return warnOnce(
      "SLUICE_KEY_HAS_NO_VALUE",
      `A key under policy "${policy.name || "default"}" contains "${word}" in place of a value, so callers without one share a ` +
      'bucket. Write a tuple of the values, such as ["user", id], in which a missing one is noticed',
    );
  }
}

function wordIn(part: string): string | undefined {
  return AT_END.exec(part)?.[1] ?? IN_FRONT.exec(part)?.[1] ?? OBJECT.exec(part)?.[0];
}
