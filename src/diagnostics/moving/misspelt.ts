import { DOCS } from "../../warnings/warnings.js";
import { WAIT_TEXT } from "./foreign-options.js";

// What users ask for by a name that is no option, of any package.
const ASKED_FOR: ReadonlyArray<readonly [names: RegExp, here: string, page: string]> = [
  [
    /^(?:sliding|fixed)window$/,
    "`capacity: 100, returns: afterMs(60_000)` is a sliding window, and `capacity: 100, renews: daily()` renews at midnight",
    "rate-window-quota",
  ],
  [/^(?:carryover|rollover)/, "A quota carries nothing over. A rate saves up at most its `capacity`", "rate-window-quota"],
  [/^(?:slowdown|delay)$/, `To slow callers down, ${WAIT_TEXT}`, "waiting"],
  [/^(?:max)?(?:concurren|inflight)/, "Write `capacity: 4, returns: whenDone()` in a policy", "in-flight"],
  [/^reserved?$/, "To keep tokens for some calls, give the others a policy with a lower `capacity`", "priority"],
  [/^(?:block|ban)(?:for|duration)?$/, "Call `limiter.block(key, ms)`", "fines-and-blocks"],
  [/^(?:allow|white)(?:list)?$/, "In the options of a middleware, write `skip: (request) => boolean`", "recipes"],
  [
    /^(?:deny|block|black)(?:list)?$/,
    "Call `limiter.block(key, ms)`, or answer before the limit",
    "recipes",
  ],
  [/^adaptive/, "No limit adapts by itself. Measure, and let `policy: (request) => …` choose other numbers", "changing-limits"],
];

/**
 * Returns the text that follows an unknown option: the right place of a misplaced one, or the nearest known name.
 * Undefined when there is no advice.
 */
export function replacementOf(name: string, known: readonly string[]): string | undefined {
  if (["capacity", "refill", "limits", "name"].includes(name)) return ". It belongs in `policy: { … }`";
  if (name === "clock") return ". It belongs to the store, as in `new MemoryStore({ clock })`";
  if (["breaker", "sharedBy"].includes(name)) {
    return `. It is an option of the store, such as \`new RedisStore(client, { ${name} })\``;
  }
  const asked = ASKED_FOR.find(([names]) => names.test(name.toLowerCase().replace(/[-_ ]/g, "")));
  if (asked !== undefined) return `. ${asked[1]}. See ${DOCS}/guides/${asked[2]}.md`;
  const meant = [1, 2].flatMap((edits) => known.filter((each) => isNear(name.toLowerCase(), each.toLowerCase(), edits)))[0];
  return meant === undefined ? undefined : `. Did you mean \`${meant}\`?`;
}

/**
 * Whether at most `edits` edits turn `a` into `b`. An edit changes, adds or removes a letter, or swaps two neighbors.
 */
function isNear(a: string, b: string, edits: number): boolean {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  const [from, to] = [a.slice(i), b.slice(i)];
  if (from === to || edits === 0) return from === to;
  const isSwapped = from[0] === to[1] && from[1] === to[0];
  return (
    isNear(from.slice(1), to, edits - 1) ||
    isNear(from, to.slice(1), edits - 1) ||
    isNear(from.slice(1), to.slice(1), edits - 1) ||
    (isSwapped && isNear(from.slice(2), to.slice(2), edits - 1))
  );
}
