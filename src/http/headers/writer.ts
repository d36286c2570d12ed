import { gateChecks } from "#diagnostics";
import { hasFewerLeft, isInFlight, readings as readingsOf, type Decision, type Reading } from "../../core/decision.js";
import { expected } from "../../core/check.js";
import type { Key } from "../../core/key.js";
import type { Policy } from "../../core/policy.js";
import { LONGEST_WAIT_MS } from "../../port/store.js";
import { toRetryAfter } from "../retry-after/retry-after.js";
import { isHeaderStyle, LARGEST_INTEGER, type Field, type FieldList, type HeaderStyle } from "./field.js";
import { checkPartition } from "./partition.js";
import { WrittenLists } from "./written-lists.js";

/** Turns decisions into header fields. */
export interface HeaderWriter {
  /**
   * The header fields for `decision`. Empty for a degraded decision, because the store's numbers are unknown.
   *
   * `partition` is the value of `pk`, from `partitionOf`. Throws a RangeError when it has more than 128 bytes.
   */
  write(policy: Policy, decision: Decision, partition?: Uint8Array): FieldList;
  /**
   * Returns the bytes of `pk` for a caller. Call it before anything is charged, because it throws what the option of
   * the style throws. Null if no style has a partition key.
   */
  readonly partitionOf: ((caller: Key) => Uint8Array | undefined) | null;
  /** The value of `Retry-After` for a wait: whole seconds, rounded up, or a date with the style `retryAfterDate`. */
  retryAfter(ms: number): string;
  /** Throws a RangeError for a policy with numbers that do not fit into these fields or into `Retry-After`. */
  check(policy: Policy): void;
  /** The names among `fields` that belong in `Access-Control-Expose-Headers`, spelled as in their specifications. */
  namesToExpose(fields: FieldList): readonly string[];
}

/**
 * Makes a writer of header fields in the given styles, in their order.
 *
 * Throws a TypeError or RangeError for an unknown style, and a RangeError for two styles that set the same field.
 * @example
 * const writer = createHeaderWriter([triple(), draft11()]);
 * writer.write(policy, decision); // ["ratelimit-limit", "30", "ratelimit-remaining", "29", …]
 */
export function createHeaderWriter(styles: readonly HeaderStyle[]): HeaderWriter {
  if (!Array.isArray(styles)) throw notStyles("a list such as [triple(), draft11()]", styles);
  const made = [...(styles as readonly unknown[])].map(checkStyle);
  const fields = made.flatMap((style) => style.fields);
  const spelling = spellingOf(fields);
  // Platforms keep names in lower case. For another spelling, Node makes a new string for each field of each response.
  const names = fields.map(({ name }) => name.toLowerCase());
  // A copy is overwritten, because a list that grows takes room for 17.
  const template = names.flatMap((name) => [name, ""]);
  const valuesUnder = perPolicy((policy) => fields.map((field) => field.under(policy)));
  const lists = made.every((style) => Object.hasOwn(style, "repeats")) ? new WrittenLists() : null;

  const [partitionOf = null] = ownOf(made, "partitionOf");
  const [retryAfter, another] = ownOf(made, "retryAfter");
  if (another !== undefined) throw new RangeError("Expected `headers` to name each field once, got Retry-After twice");

  return {
    write,
    check: perPolicy(check),
    namesToExpose,
    partitionOf,
    retryAfter: retryAfter ?? ((ms) => String(toRetryAfter(ms))),
  };

  function write(policy: Policy, decision: Decision, partition?: Uint8Array): FieldList {
    if (decision.degraded || fields.length === 0) return [];
    const readings = readingsOf(decision);
    // A limit in flight is the decision's own only if it refuses or is alone.
    const isAlone = readings.length === 1 || isInFlight(decision);
    const shown: Reading = isAlone ? decision : readings.reduce((a, b) => (hasFewerLeft(b, a) ? b : a));
    const refused = decision.reason === "limited";
    const untilBack = shown.remaining === 0 ? shown.nextTokenMs : shown.resetMs;
    const mostMs = (policy.inFlight && isInFlight(shown) && policy.inFlight.kind.retryAfterMs) || Infinity;
    const resetMs = refused ? decision.retryAfterMs : Math.min(untilBack, mostMs);
    const resetSeconds = refused ? toRetryAfter(resetMs) : Math.ceil(resetMs / 1_000);
    const shared = decision.limits === null && partition === undefined ? lists : null;
    const known = shared?.find(policy, decision, resetSeconds);
    if (known !== undefined) return known;
    const facts = {
      readings, shown, resetMs, resetSeconds,
      refusedBy: refused ? decision : null,
      partition: partition === undefined ? "" : `;pk=:${btoa(String.fromCharCode(...checkPartition(partition, "partition")))}:`,
    };
    const values = valuesUnder(policy);
    const list = template.slice();
    let length = 0;
    for (let i = 0; i < names.length; i++) {
      const value = values[i];
      const text = typeof value === "function" ? value(facts) : value;
      if (typeof text !== "string") continue;
      list[length++] = names[i] as string;
      list[length++] = text;
    }
    const written = length === list.length ? list : list.slice(0, length);
    shared?.keep(policy, decision, resetSeconds, written);
    return written;
  }

  function check(policy: Policy): void {
    for (const { fullMs, capacity } of policy.limits) {
      // Retry-After is never clamped.
      if (fullMs > LONGEST_WAIT_MS) {
        throw new RangeError(
          `Expected policy "${policy.name}" to refill within 2147483647 seconds, the longest Retry-After that ` +
          `clients read, got ${fullMs} ms`,
        );
      }
      if (capacity > LARGEST_INTEGER) {
        throw new RangeError(
          `Policy "${policy.name}": ` +
            expected("capacity", `at most ${LARGEST_INTEGER}, the largest integer of a header field`, capacity),
        );
      }
    }
    for (const checkFamily of ownOf(made, "check")) checkFamily(policy);
  }

  function namesToExpose(list: FieldList): readonly string[] {
    const exposed: string[] = [];
    for (let i = 0; i < list.length; i += 2) {
      const name = spelling.get(list[i] as string);
      if (name !== undefined) exposed.push(name);
    }
    // Clients compare an HTTP-date with the response's `Date`. Scripts can read `Date` only when it is exposed.
    if (retryAfter !== undefined && exposed.includes("Retry-After")) exposed.push("Date");
    return exposed;
  }
}

// Not one that an attacker adds to Object.prototype (CWE-1321).
function ownOf<Name extends "check" | "partitionOf" | "retryAfter">(
  styles: readonly HeaderStyle[], name: Name,
): NonNullable<HeaderStyle[Name]>[] {
  return styles.flatMap((style) => (Object.hasOwn(style, name) ? (style[name] ?? []) : [])) as NonNullable<HeaderStyle[Name]>[];
}

function checkStyle(style: unknown): HeaderStyle {
  if (isHeaderStyle(style)) return style;
  throw notStyles('a list of styles from "sluice/http", such as [triple(), draft11()]', style);
}

function notStyles(what: string, got: unknown): TypeError {
  return new TypeError(expected("headers", what, got) + (gateChecks ? gateChecks.cureForStyle(got) : ""));
}

/** The spelling of each field's name, by its name in lower case. Fields that are not in it are never exposed. */
function spellingOf(fields: readonly Field[]): ReadonlyMap<string, string> {
  const spelling = new Map([["retry-after", "Retry-After"]]);
  for (const { name } of fields) {
    if (spelling.has(name.toLowerCase())) throw new RangeError(`Expected \`headers\` to name each field once, got ${name} twice`);
    spelling.set(name.toLowerCase(), name);
  }
  return spelling;
}

/** Calls `make` once for each policy. Compares the last policy first, because most gates have only one. */
function perPolicy<T>(make: (policy: Policy) => T): (policy: Policy) => T {
  const made = new WeakMap<Policy, T>();
  let last: Policy;
  let value: T;
  return (policy) => {
    if (policy !== last) {
      if (!made.has(policy)) made.set(policy, make(policy));
      value = made.get(policy) as T;
      last = policy;
    }
    return value;
  };
}
