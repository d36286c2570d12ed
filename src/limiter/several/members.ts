import type { LimiterInternals } from "../internals.js";
import { checkNames, expected, isPlain, ownMembers, show } from "../../core/check.js";
import { isUnlimited } from "../unlimited.js";
import type { AnyLimiter } from "./combination.js";

/** One member of a combination. */
export interface CombinationMember {
  readonly name: string;
  readonly limiter: AnyLimiter;
  readonly internals: LimiterInternals;
  /** How many limiters it is made of. */
  readonly size: number;
}

/** What a call says of one member. */
interface AskedOfMember {
  readonly cost?: unknown;
  readonly policy?: unknown;
  /** Whether the cost is one number for all members. */
  readonly isForAll?: boolean;
}

/** Reads the arguments of a call, each of which has one value for each member. */
export interface MemberReader {
  /** The key of each member. Throws a TypeError when one is missing. */
  keys(keys: unknown): (name: string) => unknown;
  /** The cost and the policy of each member. A member that is left out has none. */
  asked(asked: unknown): (name: string) => AskedOfMember;
  /** The policy of each member. */
  policies(options: unknown): (name: string) => unknown;
  /** The cost of each member: one number for all, or an object by their names. */
  costs(cost: unknown): (name: string) => unknown;
}

// Without a prototype, and so without what an attacker adds to it.
const NONE_ASKED: AskedOfMember = ownMembers({});

/** Makes the {@link MemberReader} of a combination. */
export function readMembers(members: readonly CombinationMember[]): MemberReader {
  const names = members.map(({ name }) => name);
  const form = `{ ${names.map((name) => `${name}: …`).join(", ")} }`;

  return { keys, asked, policies, costs };

  function keys(given: unknown): (name: string) => unknown {
    const own = byName("key", given);
    const missing = names.find((name) => own[name] === undefined || own[name] === null);
    if (missing !== undefined) {
      throw new TypeError(
        `Expected \`key\` to have a key for \`${missing}\`, got ${show(own[missing])}. Write ${form}; ` +
        `\`unlimited\` leaves out a member`,
      );
    }
    return (name) => own[name];
  }

  function asked(given: unknown): (name: string) => AskedOfMember {
    if (given === undefined) return () => NONE_ASKED;
    const { cost, policy } =
      typeof given === "number" ? { cost: given, policy: undefined } : optionsOf(given, ["cost", "policy"]);
    const [costOf, chosen] = [costs(cost), choices(policy)];
    return (name) => ({ cost: costOf(name), policy: chosen(name), isForAll: typeof cost === "number" });
  }

  function policies(options: unknown): (name: string) => unknown {
    return choices(options === undefined ? undefined : optionsOf(options, ["policy"])["policy"]);
  }

  function choices(policy: unknown): (name: string) => unknown {
    if (policy === undefined) return () => undefined;
    if (isUnlimited(policy)) return () => policy;
    const own = byName("policy", policy);
    // A member that is left out keeps its own policy. An undefined one is a plan that was not found.
    const none = Object.keys(own).find((name) => own[name] === undefined);
    if (none !== undefined) throw new TypeError(
      `${expected(`policy.${none}`, "a policy, or `unlimited`", undefined)}. Leave the member out to keep its own policy`,
    );
    return (name) => own[name];
  }

  function costs(given: unknown): (name: string) => unknown {
    if (given === undefined || typeof given === "number") return () => given;
    const own = byName("cost", given);
    const none = Object.keys(own).find((name) => own[name] === undefined);
    if (none !== undefined) {
      throw new TypeError(`${expected(`cost.${none}`, "a cost", undefined)}. Leave the member out instead`);
    }
    return (name) => own[name];
  }

  // Without a prototype: a member that an attacker adds to Object.prototype is no key.
  function byName(title: string, given: unknown): Readonly<Record<string, unknown>> {
    if (typeof given !== "object" || given === null || Array.isArray(given) || !isPlain(given)) {
      throw new TypeError(`${expected(title, "an object with the names of the members", given)}. Write ${form}`);
    }
    for (const name of Object.keys(given)) {
      if (!names.includes(name)) {
        throw new TypeError(`Unknown member \`${name}\` in \`${title}\`. The members: ${names.join(", ")}`);
      }
    }
    return { __proto__: null, ...given };
  }
}

function optionsOf(given: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof given !== "object" || given === null) {
    throw new TypeError(expected("options", `an object with ${known.join(" or ")}`, given));
  }
  checkNames(given, known);
  return { __proto__: null, ...given } as Readonly<Record<string, unknown>>;
}
