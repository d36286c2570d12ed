import { FLEXIBLE, FOREIGN, GUIDES, JOBS_TEXT, POLICY_TEXT, type Replacement } from "./foreign-options.js";
import { keyText, USER_KEY } from "./key-text.js";
import { NAME, newPolicyName } from "./policy-name.js";

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
  const cure = here.replaceAll(NAME, newPolicyName(given)).replaceAll(USER_KEY, keyText(adapter));
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
  const [all, wholeMs] = inWholeMs(count, windowMs);
  const [tokens, everyMs] = [written(all, "n"), written(wholeMs, "ms")];
  if (tokens === undefined || everyMs === undefined) return POLICY_TEXT;
  const burst = all === count ? "" : `capacity: ${written(count, "n")}, `;
  const policy = `{ name: "${NAME}", ${burst}refill: ${refillText(tokens, everyMs)} }`;
  const isFixed = typeof count !== "function" && typeof windowMs !== "function";
  if (isFixed) return `\`policy: ${policy}\`${burst === "" ? strictText(Number(count), everyMs) : ""}`;
  return `\`policy: (request) => …\`, which returns a policy made once by \`definePolicy(${policy})\``;
}

/** How to serve never more than `count` in any window, for a caller who counted in one. A rate serves more. */
function strictText(count: number, everyMs: string): string {
  const most = written(count, "n") as string;
  const window = perOf(everyMs)?.[1].slice("per".length).toLowerCase() ?? `${everyMs} ms`;
  return `, or, for never more than ${most} in any ${window}, \`capacity: ${most}, returns: afterMs(${everyMs})\``;
}

const joined = (names: readonly string[]): string => names.join(", ").replace(/, ([^,]*)$/, " and $1");

/** The options of bottleneck and p-queue that have numbers. */
interface JobOptions {
  readonly maxConcurrent?: unknown;
  readonly minTime?: unknown;
  readonly reservoir?: unknown;
  readonly reservoirRefreshInterval?: unknown;
  readonly reservoirRefreshAmount?: unknown;
  readonly reservoirIncreaseInterval?: unknown;
  readonly reservoirIncreaseAmount?: unknown;
  readonly reservoirIncreaseMaximum?: unknown;
  readonly concurrency?: unknown;
  readonly interval?: unknown;
  readonly intervalCap?: unknown;
}

const EXAMPLE: JobOptions = { concurrency: 5, interval: 1_000, intervalCap: 10 };

/** What to write for a queue of jobs, in the caller's numbers. */
function jobsText(given: JobOptions): string {
  const own = limitsOf(given);
  const limits = own.length > 0 ? own : limitsOf(EXAMPLE);
  const [only] = limits;
  const policy =
    only !== undefined && limits.length === 1
      ? `{ name: "${NAME}", ${only[1]} }`
      : `{ name: "${NAME}", limits: [${limits.map(([name, text]) => `{ name: "${name}", ${text} }`).join(", ")}] }`;
  return `\`createWaiter(createLimiter({ policy: ${policy} }))\`, and \`run(waiter, key, work)\` for each job`;
}

function limitsOf(given: JobOptions): ReadonlyArray<readonly [name: string, text: string]> {
  const { maxConcurrent, minTime, reservoir, concurrency, interval, intervalCap } = given;
  const places = written(maxConcurrent ?? concurrency, "n");
  const pause = bucketText(1, 1, minTime);
  const refresh = bucketText(
    given.reservoirIncreaseMaximum ?? reservoir ?? given.reservoirRefreshAmount,
    given.reservoirRefreshAmount ?? given.reservoirIncreaseAmount ?? reservoir,
    given.reservoirRefreshInterval ?? given.reservoirIncreaseInterval,
  );
  const interim = bucketText(intervalCap, intervalCap, interval);
  return [
    ...(places === undefined ? [] : [["parallel", `capacity: ${places}, returns: whenDone()`] as const]),
    ...(pause === undefined ? [] : [["pause", pause] as const]),
    ...[refresh, interim].flatMap((text) => (text === undefined ? [] : [["rate", text] as const])),
  ];
}

function bucketText(capacity: unknown, tokens: unknown, everyMs: unknown): string | undefined {
  const [all, wholeMs] = inWholeMs(tokens, everyMs);
  const [most, each, ms] = [written(capacity, "n"), written(all, "n"), written(wholeMs, "ms")];
  if (most === undefined || each === undefined || ms === undefined) return undefined;
  return `${most === each ? "" : `capacity: ${most}, `}refill: ${refillText(each, ms)}`;
}

/**
 * The same rate in whole milliseconds: 3 in 1,000 ms for 1 in a third of a second. Rounds a window up that fits none.
 */
function inWholeMs(tokens: unknown, ms: unknown): readonly [tokens: unknown, ms: unknown] {
  if (typeof tokens !== "number" || typeof ms !== "number" || Number.isInteger(ms)) return [tokens, ms];
  for (let times = 2; times <= 1_000; times++) {
    const whole = Math.round(times * ms);
    if (whole > 0 && Math.abs(times * ms - whole) < 1e-6) return [times * tokens, whole];
  }
  return [tokens, Math.ceil(ms)];
}

/** A number as it is written in code, such as 900_000. A function's number has the name `variable`. */
function written(number: unknown, variable: string): string | undefined {
  if (typeof number === "function") return variable;
  return Number.isSafeInteger(number) && (number as number) > 0 ? String(number).replace(/\B(?=(?:\d{3})+$)/g, "_") : undefined;
}

// @upstash/ratelimit has milliseconds, too.
const PER: ReadonlyArray<readonly [ms: number, name: string, unit: RegExp]> = [
  [1, "perMs", /^ms$/], [1_000, "perSecond", /^s(?:ec(?:ond)?)?s?$/], [60_000, "perMinute", /^m(?:in(?:ute)?)?s?$/],
  [3_600_000, "perHour", /^h(?:(?:ou)?r)?s?$/], [86_400_000, "perDay", /^d(?:ay)?s?$/],
];

/** The row of a window that has a function, such as `perMinute`. */
const perOf = (everyMs: string): (typeof PER)[number] | undefined => PER.find(([ms]) => ms > 1 && written(ms, "") === everyMs);

/** The refill of so many tokens, as it is written in code. */
function refillText(tokens: string, everyMs: string): string {
  const per = perOf(everyMs);
  return per === undefined ? `{ tokens: ${tokens}, everyMs: ${everyMs} }` : `${per[1]}(${tokens})`;
}

/**
 * Milliseconds of a window as @fastify/rate-limit and @upstash/ratelimit take it: a number, or a text such as "15
 * minutes".
 */
function msOf(window: unknown): unknown {
  if (typeof window !== "string") return window;
  const [, number, unit = ""] = /^(\d+) ?(\w+)$/.exec(window.toLowerCase()) ?? [];
  const ms = PER.find(([, , units]) => units.test(unit))?.[0];
  return ms === undefined ? window : Number(number) * ms;
}
