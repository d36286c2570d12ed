import { FLEXIBLE, FOREIGN, GUIDES } from "./foreign-options.js";
import { JOBS_TEXT } from "./job-options.js";
import { jobsText } from "./jobs.js";
import { msOf, refillText, written } from "./numbers.js";
import { NAME, newPolicyName } from "./policy-name.js";
import { POLICY_TEXT, type Replacement } from "./replacement.js";

/** The package that an adapter most likely replaces. */
const REPLACED: Readonly<Record<string, string>> = {
  express: "express-rate-limit", fastify: "@fastify/rate-limit", hono: "hono-rate-limiter",
};

/** The numbers of a package where the caller wrote none. */
const DEFAULTS: Readonly<Record<string, { readonly count: number; readonly windowMs: number }>> = {
  "express-rate-limit": { count: 5, windowMs: 60_000 },
  "hono-rate-limiter": { count: 5, windowMs: 60_000 },
  "@fastify/rate-limit": { count: 1_000, windowMs: 60_000 },
  "rate-limiter-flexible": { count: 4, windowMs: 1_000 },
};

/** The old habit that TypeScript does not find: a refusal that is not an exception is overlooked. */
const UNREAD_TEXT =
  "A refusal is not thrown: look at `(await limiter.consume(key)).allowed`, or write `granted(await limiter.consume(key))`";

type OldOptions = Readonly<Record<string, unknown>>;

/**
 * Throws a TypeError that names all options of other packages at once, with what to write instead, in the caller's own
 * numbers. `known` are the options of sluice here, and `adapter` is the one in use.
 */
export function checkForeign(given: unknown, known: readonly string[], adapter?: string): void {
  if (typeof given !== "object" || given === null) return;
  const found = Object.keys(given).flatMap((name) => {
    const replacement = known.includes(name) ? undefined : FOREIGN.find(({ names }) => names.split(" ").includes(name));
    return replacement === undefined ? [] : [{ name, replacement }];
  });
  if (found.length === 0) return;
  const origin = originOf(found.map(({ replacement }) => replacement), REPLACED[adapter ?? ""]);
  const byText = new Map<string, string[]>();
  for (const { name, replacement } of found) {
    const policy = replacement.here === JOBS_TEXT ? jobsText(given as OldOptions) : policyText(given as OldOptions, origin);
    const text = textOfReplacement(replacement, known, policy);
    byText.set(text, [...(byText.get(text) ?? []), `\`${name}\``]);
  }
  const here = [...byText].map(([text, names]) => (byText.size === 1 ? text : `for ${joined(names)}, ${text}`)).join("; ");
  const names = joined(found.map(({ name }) => `\`${name}\``));
  const note = origin === FLEXIBLE ? `. ${UNREAD_TEXT}` : "";
  // The text has one name for one policy, so it is chosen last.
  const cure = here.replaceAll(NAME, newPolicyName(given));
  throw new TypeError(
    `Unknown option${found.length > 1 ? "s" : ""} ${names} (of ${origin}). Here: ${cure}${note}. See ${GUIDES[origin]}`,
  );
}

/** The package that has the most of these options; of several, the one that the adapter replaces. */
function originOf(replacements: readonly Replacement[], replaced: string | undefined): string {
  const all = [...new Set(replacements.flatMap(({ of }) => of))];
  const countOf = (origin: string): number =>
    replacements.filter(({ of }) => of.includes(origin)).length + (origin === replaced ? 0.5 : 0);
  return all.reduce((best, each) => (countOf(each) > countOf(best) ? each : best));
}

function textOfReplacement({ here, gate = false }: Replacement, known: readonly string[], policy: string): string {
  if (here === POLICY_TEXT || here === JOBS_TEXT) return policy;
  return gate && !known.includes("key") ? `in the options of a middleware, ${here}` : here;
}

function policyText(given: OldOptions, origin: string): string {
  const { count: usual, windowMs: usualMs } = DEFAULTS[origin] ?? {};
  const count = [given["limit"], given["max"], given["points"], given["tokens"], usual].find((each) => each !== undefined);
  const seconds = given["duration"];
  const windowMs = [
    given["windowMs"], given["ttl"], msOf(given["timeWindow"]), msOf(given["window"]),
    typeof seconds === "number" ? seconds * 1_000 : undefined, usualMs,
  ].find((each) => each !== undefined);
  const [tokens, everyMs] = [written(count, "n"), written(windowMs, "ms")];
  if (tokens === undefined || everyMs === undefined) return POLICY_TEXT;
  const policy = `{ name: "${NAME}", refill: ${refillText(tokens, everyMs)} }`;
  if (typeof count !== "function" && typeof windowMs !== "function") return `\`policy: ${policy}\``;
  return `\`policy: (request) => …\`, which returns a policy made once by \`definePolicy(${policy})\``;
}

const joined = (names: readonly string[]): string => names.join(", ").replace(/, ([^,]*)$/, " and $1");
