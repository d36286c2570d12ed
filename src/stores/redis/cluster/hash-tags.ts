import { expected, positiveInteger } from "../../../core/check.js";
import { hasHashTag, SLOTS, slotOf } from "../slot.js";

// More tags make more calls. 256 are enough for large clusters.
const MOST_TAGS = 256;

/**
 * Returns a function that puts one of `count` hash tags before `prefix`, by the hash of the caller's key. `keyPrefix`
 * is the text that the client puts before that.
 *
 * Throws a RangeError or TypeError for a wrong count. Throws a TypeError when braces in a prefix would hide the tags.
 */
export function spreadPrefix(prefix: string, count: number, keyPrefix: string): (key: string) => string {
  if (positiveInteger("spread", count) > MOST_TAGS) throw new RangeError(expected("spread", `at most ${MOST_TAGS}`, count));
  const prefixes = hashTags(count).map((tag) => `{${tag}}${prefix}`);
  if (hasHashTag(keyPrefix + prefix) || !hasHashTag(keyPrefix + prefixes[0])) {
    throw new TypeError(
      "Expected `spread` without braces in `prefix` and in the client's `keyPrefix`, got braces. Remove one of the two.",
    );
  }
  return (key) => prefixes[rangeOf(key, count)] as string;
}

/**
 * The hash tags of `count` equal ranges of slots, in order. The tag of a range is the smallest number with its slot in
 * the range. Every process gets the same tags. Do not change them: other tags would give every key another name.
 */
export function hashTags(count: number): readonly string[] {
  const tags = Array.from({ length: count }, () => "");
  let missing = count;
  for (let number = 0; missing > 0; number++) {
    const range = rangeOf(String(number), count);
    if (tags[range] !== "") continue;
    tags[range] = String(number);
    missing -= 1;
  }
  return tags;
}

// The index of the range that contains the slot of `text`.
function rangeOf(text: string, count: number): number {
  return Math.floor((slotOf(text) * count) / SLOTS);
}
