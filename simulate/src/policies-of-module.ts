import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { definePolicy, type Limit, type Policy, type PolicyOptions } from "sluice";
import { Misuse, thrownText } from "./io.js";

/** The policies of a module that a log can be replayed by. */
export interface PoliciesToReplay {
  /** `name` is empty for a policy that was written as an argument. */
  readonly replayed: ReadonlyArray<{ readonly name: string; readonly policy: Policy }>;
  /** The limits in flight, such as `reports: parallel`. */
  readonly leftOut: readonly string[];
}

/**
 * Reads the policies that a module exports: policies, their options, and those of limiters. A log does not say when a
 * request ended, so limits in flight would never get a token back: they are left out. Throws a {@link Misuse} for a
 * module that cannot be read, and for one without a policy.
 */
export async function policiesOfModule(file: string): Promise<PoliciesToReplay> {
  const found = await readPolicies(file);
  if (found.length === 0)
    throw new Misuse(`Expected ${file} to export a policy, such as \`export const bulk = definePolicy({ ... })\`, got none`);
  const leftOut: string[] = [];
  const replayed: { name: string; policy: Policy }[] = [];
  for (const policy of new Set(found.map((each) => each.policy))) {
    const name = found.filter((each) => each.policy === policy).map(({ path }) => path).join(", ");
    const limits = policy.limits.filter((limit) => !isInFlight(limit));
    const inFlight = policy.limits.filter(isInFlight).map((limit) => limit.name);
    if (inFlight.length > 0) leftOut.push(`${name}: ${inFlight.join(" and ")}`);
    if (limits.length === 0) continue;
    replayed.push({ name, policy: inFlight.length > 0 ? definePolicy({ name: policy.name, limits }) : policy });
  }
  return { replayed, leftOut };
}

const isInFlight = ({ returns }: Limit): boolean => returns !== undefined && !("afterMs" in returns);

/** A policy, and where it is: `interactive`, or `tiers.paid` for a member of an object. */
interface FoundPolicy {
  readonly path: string;
  readonly policy: Policy;
}

/** What the module prints meanwhile goes to standard error, because standard output is the command's own. */
async function readPolicies(file: string): Promise<readonly FoundPolicy[]> {
  const { write } = process.stdout;
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    const exported = (await import(pathToFileURL(file).href)) as object;
    const entries = Object.entries(exported).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return entries.flatMap(([path, value]) => {
      const own = policyOf(path, value);
      if (own !== null) return [{ path, policy: own }];
      const members = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
      return members.flatMap(([name, member]) => {
        const policy = policyOf(`${path}.${name}`, member);
        return policy === null ? [] : [{ path: `${path}.${name}`, policy }];
      });
    });
  } catch (error) {
    if (error instanceof Misuse) throw error;
    throw new Misuse(`Cannot load ${file}: ${firstReason(error)}${cureOf(error, file)}`);
  } finally {
    process.stdout.write = write;
  }
}

/** An export as a policy: one itself, the policy of a limiter, or options from which this makes one. */
function policyOf(path: string, value: unknown): Policy | null {
  if (isPolicy(value)) return value;
  const { policy } = Object(value) as { readonly policy?: unknown };
  if (isPolicy(policy)) return policy;
  const isOptions = typeof value === "object" && ["capacity", "refill", "limits"].some((member) => member in Object(value));
  if (!isOptions) return null;
  try {
    return definePolicy({ name: path.slice(path.lastIndexOf(".") + 1), ...value } as PolicyOptions);
  } catch (error) {
    throw new Misuse(`Export \`${path}\`: ${thrownText(error)}`);
  }
}

/** Whether `definePolicy` made a value, also that of another copy of sluice. */
function isPolicy(value: unknown): value is Policy {
  try {
    return definePolicy(value as PolicyOptions) === value;
  } catch {
    return false;
  }
}

/** The first line of a message, and with it the one that it announces: "Transform failed with 1 error:". */
export function firstReason(error: unknown): string {
  const [first = "", second = ""] = thrownText(error).split("\n");
  return first.endsWith(":") ? `${first} ${second}` : first;
}

// Before Node 22.18. A file in TypeScript may import another kind that Node does not read, such as .css.
const UNKNOWN_KIND = /^Unknown file extension "\.[cm]?tsx?"/;
// Since then Node reads TypeScript whose types can be left out, and .js in an import is a file of that name.
const LEFT_OUT_ONLY = /^ERR_UNSUPPORTED_(?:TYPESCRIPT|NODE_MODULES_TYPE)/;
const TAKEN_FOR_SCRIPT = /Unexpected token '(?:export|import)'|import statement outside a module|not provide an export named/;
const NAMED_JS = /^Cannot find module '(.+)js' imported from .*\.[cm]?tsx?$/m;

function cureOf(error: unknown, file: string): string {
  const message = thrownText(error);
  if (/^Transform failed[^]*Top-level await/.test(message)) return ". Name the file .mts";
  const [, missing] = NAMED_JS.exec(message) ?? [];
  const isUnread =
    UNKNOWN_KIND.test(message) || LEFT_OUT_ONLY.test(String((Object(error) as { readonly code?: unknown }).code)) ||
    (missing !== undefined && existsSync(`${missing}ts`)) ||
    (TAKEN_FOR_SCRIPT.test(message) && /\.[cm]?tsx?\b/.test(`${message} ${file}`));
  return isUnread ? CURE : "";
}

const CURE =
  '. Let tsx read TypeScript: npm install --save-dev tsx, then put NODE_OPTIONS="--import tsx" before npx sluice-simulate';
