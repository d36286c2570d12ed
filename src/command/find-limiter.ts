import type { Cost } from "../core/cost.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import { isPolicy, type Policy } from "../core/policy.js";
import { Misuse } from "./io.js";
import { policiesOfModule, type ModulePolicy } from "./policies-of-module.js";
import { readModule, type ModuleExports } from "./read-module.js";
import { nearestFirst } from "./text.js";

/** The verbs of a limiter that a command calls. The limiter may be of another copy of the package. */
interface OperatedLimiter {
  readonly policy: Policy;
  readonly store: unknown;
  peek(key: Key, asked: Asked): Decision | Promise<Decision>;
  debit(key: Key, asked: Asked): unknown;
  credit(key: Key, asked: Asked): unknown;
  block(key: Key, forMs: number, choice: { readonly policy?: Policy }): unknown;
  reset(key: Key, choice: { readonly policy?: Policy }): unknown;
}

interface Asked {
  readonly cost?: Cost;
  readonly policy?: Policy;
}

/** A limiter of the user's module, and the policy that was chosen instead of its own. */
export interface FoundLimiter {
  readonly limiter: OperatedLimiter;
  readonly tier: Policy | undefined;
  /** Where the policy of this caller alone was found, chosen or not. */
  readonly ownPath: string | undefined;
  /** Other policies of the limiter's name, if none was chosen. The caller may be of one of these tiers. */
  readonly otherTiers: readonly string[];
}

/** What an operator names. */
export interface Sought {
  readonly file: string;
  readonly name: string;
  readonly tier: string | undefined;
  readonly key: Key;
  /** Whether a limiter over a store in memory is wanted. No service sees what is done to it. */
  readonly inMemory: boolean;
}

/**
 * The limiter that a module exports under `name`, and its policy of the name `tier`. Throws a {@link Misuse} that says
 * which names there are.
 */
export function findLimiter(sought: Sought): Promise<FoundLimiter> {
  return readModule(sought.file, (exports) => limiterIn(exports, sought));
}

function limiterIn(exports: ModuleExports, { file, name, tier, key, inMemory }: Sought): FoundLimiter {
  const limiters = exports.filter(([, value]) => isLimiter(value)).map(([each]) => each);
  const found = exports.find(([each]) => each === name)?.[1];
  if (!isLimiter(found)) {
    const none = "It exports none: write `export const user = createLimiter({ ... })`";
    const known = limiters.length === 0 ? none : `It exports ${limiters.join(", ")}`;
    throw new Misuse(`Expected ${file} to export a limiter \`${name}\`, got ${kindOf(found)}. ${known}`);
  }
  if (isInMemory(found.store) && !inMemory) {
    throw new Misuse(
      `${name} counts in the memory of this process, so no service sees this. Export a limiter over a shared store. ` +
      "If the module takes its address from a variable such as REDIS_URL, set it",
    );
  }
  const policies = policiesOfModule(exports);
  const isOwn = ({ path }: ModulePolicy): boolean => path.endsWith(`.${nameOfCaller(key)}`);
  if (tier !== undefined) {
    const one = choose(policies, tier, file);
    return { limiter: found, tier: one.policy, ownPath: isOwn(one) ? one.path : undefined, otherTiers: [] };
  }
  const ofName = policies.filter(({ policy }) => policy.name === found.policy.name && policy !== found.policy);
  const [own, ...more] = ofName.filter(isOwn);
  if (own !== undefined && more.length === 0) return { limiter: found, tier: own.policy, ownPath: own.path, otherTiers: [] };
  const others = ofName.filter((each) => isOwn(each) || !isOfOneCaller(each));
  return { limiter: found, tier: undefined, ownPath: undefined, otherTiers: others.map(({ path }) => path) };
}

/** Whether a policy is that of one caller: its name is a key as JSON. */
function isOfOneCaller({ path }: ModulePolicy): boolean {
  return /^[^.]+\.(?:\[.*\]|".*")$/s.test(path);
}

/** The name of a caller among the policies of single callers: the key as JSON, in which 42 and "42" are one. */
function nameOfCaller(key: Key): string {
  return JSON.stringify(typeof key === "string" ? key : key.map(String));
}

/** A policy by its place in the module, or else by the name of its export or its own, if no other policy has that. */
function choose(policies: readonly ModulePolicy[], tier: string, file: string): ModulePolicy {
  const exact = policies.find(({ path }) => path === tier);
  const named = policies.filter(({ path, policy }) => policy.name === tier || path.endsWith(`.${tier}`));
  const [first, ...others] = exact === undefined ? named : [exact];
  if (first !== undefined && others.every(({ policy }) => policy === first.policy)) return first;
  if (first !== undefined) {
    const all = namesToType(named.map(({ path }) => path)).join(" or ");
    throw new Misuse(`Expected --policy to name one policy that ${file} exports, got ${tier}, the name of several. Write ${all}`);
  }
  const names = nearestFirst(policies.map(({ path }) => path), tier);
  const known = names.length === 0 ? "It exports none" : `It exports ${namesToType(names).join(", ")}`;
  throw new Misuse(`Expected --policy to name a policy that ${file} exports, got ${tier}. ${known}`);
}

const MOST_POLICIES_SHOWN = 12;

/** Names as a shell takes them. Of many, the first ones: each customer may have a policy. */
export function namesToType(names: readonly string[], before = ""): string[] {
  const quoted = (name: string): string => (/^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);
  const typed = names.slice(0, MOST_POLICIES_SHOWN).map((name) => `${before}${quoted(name)}`);
  const left = names.length - typed.length;
  return left > 0 ? [...typed, `${left} more`] : typed;
}

function isLimiter(value: unknown): value is OperatedLimiter {
  const given = Object(value) as { readonly policy?: unknown; readonly peek?: unknown; readonly parts?: readonly unknown[] };
  return isPolicy(given.policy) && typeof given.peek === "function" && given.parts?.[0] === value;
}

/** Whether a store is a `MemoryStore`, also of another copy of the package. */
function isInMemory(store: unknown): boolean {
  const { sync, guard, stats } = Object(store) as { readonly sync?: unknown; readonly guard?: unknown; readonly stats?: unknown };
  return sync === true && guard === undefined && typeof stats === "function";
}

function kindOf(value: unknown): string {
  const given = Object(value) as { readonly parts?: unknown; readonly peek?: unknown; readonly waits?: unknown };
  if (Array.isArray(given.parts) && typeof given.peek === "function") {
    return given.waits === true ? "a waiter. Name the limiter that it waits for" : "a combination. Name one of its members";
  }
  return value === undefined ? "nothing" : "something else";
}
