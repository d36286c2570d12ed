import { limiterChecks } from "#diagnostics";
import { checkNames, expected, memberOf, nameInCode, notDefined, show } from "../core/check.js";
import { parseCost, parseTokens, type Cost } from "../core/cost.js";
import type { Costs } from "../core/limit.js";
import { isPolicy, type Policy } from "../core/policy.js";
import { isUnlimited, type Unlimited } from "./unlimited.js";
import type { StoreVerb } from "../core/records.js";
import { hasVerb, type Store } from "../port/store.js";
import { dateRulesOf } from "../port/kind-rules.js";
import type { ConsumeOptions } from "./limiter.js";

/** The argument after the key: a cost, or options. */
export type ConsumeArgument = number | ConsumeOptions | undefined;

/**
 * Returns the cost in `asked` under `policy`. Default: the cost of the policy's limits. `own` is the limiter's policy,
 * as in {@link parseCost}, whose errors it throws.
 */
export function costOf(asked: ConsumeArgument, policy: Policy, own: Policy | undefined): Costs {
  return parseCost(policy, typeof asked === "object" ? ownOption(asked, "cost") : asked, own);
}

/** The policy and the store of a limiter. */
interface OwnPolicy {
  readonly policy: Policy;
  readonly store: Store;
}

/**
 * Returns the policy in `asked`, or else the limiter's. Throws a TypeError for a policy that definePolicy did not make,
 * and for a quota that the store would not count.
 */
export function policyOf(asked: ConsumeArgument, own: OwnPolicy): Policy | Unlimited {
  return typeof asked === "object"
    ? choiceIn(asked, ["cost", "policy"], own, "cost", "a number, or an object with `cost` or `policy`")
    : own.policy;
}

/**
 * Throws a TypeError unless `asked` has a policy. Called when the limiter has charged other policies than its own: by
 * its own numbers, `peek` would then give a wrong answer.
 */
export function checkPolicyIn(asked: unknown): void {
  if (Object.hasOwn(Object(asked) as object, "policy") && (asked as ConsumeOptions).policy !== undefined) return;
  throw new TypeError(
    "Expected `policy` in `peek`, because calls of this limiter name theirs, got none. Write peek(key, { policy })",
  );
}

/** What costs go by: the limits of a policy, or the members of a combination. */
type Named = ReadonlyArray<{ readonly name: string }>;

const VERB_OPTIONS = ["cost", "policy"];

/**
 * Throws a TypeError for costs by name in place of options, such as `{ tokens: 5 }`, with what to write. `{ cost: 5 }`
 * is such a cost if a limit has that name: a guess could charge a wrong amount. `own` has the limits of the limiter.
 */
export function checkNotCosts(asked: unknown, own: Named, known: readonly string[] = VERB_OPTIONS): void {
  if (typeof asked !== "object" || asked === null) return;
  const given = asked as Readonly<Record<string, unknown>>;
  const policy = ownOption(asked, "policy");
  const named = isPolicy(policy) ? policy.limits : own;
  const isCost = (key: string): boolean =>
    (typeof given[key] === "number" || !known.includes(key)) && named.some(({ name }) => name === key);
  const keys = Object.keys(given);
  const costs = keys.filter(isCost);
  if (costs.length === 0) return;
  const options = keys.filter((key) => !costs.includes(key) && given[key] !== undefined);
  // Beside a policy, a number as `cost` is an option.
  if (costs.join() === "cost" && options.length > 0) return;
  const code = costs.map((key) => `${nameInCode(key)}: ${typeof given[key] === "number" ? given[key] : "…"}`);
  const cure = [`cost: { ${code.join(", ")} }`, ...options].join(", ");
  throw new TypeError(`Expected options, got costs by name. Write \`{ ${cure} }\``);
}

/** Returns the policy in the options of any other verb, like {@link policyOf}. */
export function chosenPolicy(options: unknown, own: OwnPolicy): Policy | Unlimited {
  return options === undefined ? own.policy : choiceIn(options, ["policy"], own, "options", "an object with `policy`");
}

function choiceIn(asked: unknown, names: readonly string[], own: OwnPolicy, title: string, what: string): Policy | Unlimited {
  if (typeof asked !== "object" || asked === null) throw new TypeError(expected(title, what, asked));
  checkNames(asked, names);
  const policy = ownOption(asked, "policy");
  if (policy === undefined) return own.policy;
  if (isPolicy(policy)) dateRulesOf(policy)?.checkStore(own.store, policy, own.policy);
  else if (!isUnlimited(policy)) throw notDefined(policy, "policy", "made by definePolicy, or `unlimited`");
  return policy;
}

// Not one that an attacker adds to `Object.prototype` (CWE-1321).
function ownOption<Name extends keyof ConsumeOptions>(asked: ConsumeOptions, name: Name): ConsumeOptions[Name] {
  return Object.hasOwn(asked, name) ? asked[name] : undefined;
}

/** Throws a TypeError for a value that is no decision, such as tokens or a promise. */
export function checkConsumed(decision: unknown): void {
  const given = Object(decision) as { readonly allowed?: unknown; readonly then?: unknown };
  const isPromise = typeof given.then === "function";
  if (!isPromise && typeof given.allowed === "boolean") return;
  const cure = isPromise ? "Write `await` before `consume`" : "To give tokens back without one, write credit(key, tokens)";
  throw new TypeError(
    `Expected \`decision\` to be a decision of \`consume\`, got ${isPromise ? "a promise" : show(decision)}. ${cure}`,
  );
}

/**
 * Checks tokens that are not the cost of a request: a correction or a fine. A limit that is not named gets those of
 * `others`. Throws a TypeError for one number under several limits: it would mean requests as well as tokens.
 */
export function tokensOf(policy: Policy, tokens: unknown, others: Costs = 0): Costs {
  const parsed = parseTokens(policy, tokens as Cost, "cost", others);
  if (typeof tokens !== "number" || tokens === 0 || policy.limits.length === 1) return parsed;
  // Work in flight gives back all of its tokens when it is done, so it has no cost to name.
  const named = policy.limits.flatMap((limit) => (limit.kind.isInFlight ? [] : `${nameInCode(limit.name)}: ${tokens}`));
  throw new TypeError(
    `${expected("cost", "an object with the names of limits", tokens)}. Policy "${policy.name}" has ${policy.limits.length} ` +
    `limits: write cost: ${named.length > 0 ? `{ ${named.join(", ")} }` : "0, because all of them are in flight"}`,
  );
}

/**
 * Calls `make`. When `make` throws, a limiter over an asynchronous store returns a rejected promise, and one over a
 * synchronous store throws.
 */
export function throwOrReject<T>({ sync }: { readonly sync: boolean }, make: () => T | Promise<T>): T | Promise<T> {
  if (sync) return make();
  try {
    const answer = Promise.resolve(make());
    if (limiterChecks) limiterChecks.hintAwait(answer);
    return answer;
  } catch (error) {
    return Promise.reject(error as Error);
  }
}

/** Throws a TypeError when the store cannot be asked for `verb`. */
export function requireVerb(store: Store, verb: StoreVerb): void {
  if (hasVerb(store, verb)) return;
  const got = ["consume", ...(memberOf(store, "verbs") ?? [])];
  throw new TypeError(
    `Expected a store with \`verbs\` that include "${verb}", got ${[...new Set(got)].join(", ")}. ` +
    "A store over `answerCall` of sluice/store has `verbs: STORE_VERBS`",
  );
}
