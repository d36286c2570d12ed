/**
 * The settings: the policies, and the response when the store fails. A JSON file overrides the default policies, and
 * environment variables override the file.
 */
import { readFileSync } from "node:fs";
import { definePolicy, monthly, whenDone, type LimitOptions, type OnStoreError, type Policy } from "sluice";
import { draft11, draft7, retryAfterDate, triple, xRateLimit, type HeaderStyle } from "sluice/http";

/** The service's four budgets. Each caller has its own under each of them. */
export type Policies = Readonly<Record<PolicyName, Policy>>;

type PolicyName = keyof typeof DEFAULTS;

/** The numbers of a policy: `capacity` tokens at once, and `tokens` more every `everyMs` milliseconds. */
type Numbers = Record<"capacity" | "tokens" | "everyMs", number>;

const DEFAULTS = {
  // An app that comes back to the foreground sends several requests at once, then few.
  interactive: { capacity: 10, tokens: 2, everyMs: 1_000 },
  // Expensive work: a few in a row are fine, a loop is not.
  bulk: { capacity: 3, tokens: 1, everyMs: 10_000 },
  // Abuse-sensitive: every code is a text message that costs money, and an attacker may guess codes. Where never more than 3 may be
  // sent in an hour, choose a window: `returns: afterMs(3_600_000)`.
  "login-code": { capacity: 3, tokens: 3, everyMs: 3_600_000 },
  // Slow work: what matters is how many run at once, and how many there are in a month.
  reports: { capacity: 10, tokens: 10, everyMs: 60_000 },
} satisfies Record<string, Numbers>;

/** What a report needs beside a request of its rate. */
const REPORT_LIMITS: readonly LimitOptions[] = [
  { name: "month", capacity: 100, renews: monthly() },
  { name: "parallel", capacity: 2, returns: whenDone() },
];

/** A setting is wrong. The message is one line and names the setting. */
export class ConfigError extends Error {}

/**
 * Reads the policies from `file` (`--config`, or else `SLUICE_CONFIG`), which looks like config.example.json, and from
 * variables such as `SLUICE_INTERACTIVE_CAPACITY`, `SLUICE_BULK_TOKENS` and `SLUICE_LOGIN_CODE_EVERY_MS`. A missing
 * setting keeps its default. Throws a {@link ConfigError} for anything wrong, unknown or misspelt.
 */
export function readPolicies(env: NodeJS.ProcessEnv, file = env["SLUICE_CONFIG"]): Policies {
  const numbers = structuredClone(DEFAULTS);
  if (file !== undefined && file !== "") takeFile(numbers, file);
  takeVariables(numbers, env);

  const define = (name: PolicyName): Policy => {
    const { capacity, tokens, everyMs } = numbers[name];
    const rate = { capacity, refill: { tokens, everyMs } };
    try {
      return name === "reports" ? definePolicy({ name, limits: [{ name: "requests", ...rate }, ...REPORT_LIMITS] }) : definePolicy({ name, ...rate });
    } catch (error) {
      throw new ConfigError((error as Error).message);
    }
  };
  return { interactive: define("interactive"), bulk: define("bulk"), "login-code": define("login-code"), reports: define("reports") };
}

/** How responses state limits. A missing option has the library's default. */
export interface Telling {
  readonly headers?: readonly HeaderStyle[];
}

const STYLES = {
  triple,
  "draft-7": draft7,
  "draft-11": draft11,
  "x-ratelimit": xRateLimit,
} as const satisfies Record<string, () => HeaderStyle>;
const STYLE_NAMES = Object.keys(STYLES) as (keyof typeof STYLES)[];
const FORMS = ["seconds", "http-date"] as const;

/**
 * Reads `SLUICE_HEADERS`, such as `triple,draft-11` or `none`, and `SLUICE_RETRY_AFTER`. Throws a {@link ConfigError}
 * for anything wrong.
 */
export function readTelling({ SLUICE_HEADERS: headers = "", SLUICE_RETRY_AFTER: retryAfter = "" }: NodeJS.ProcessEnv): Telling {
  const names = headers === "none" ? [] : (headers || "triple,draft-11").split(",");
  const isDate = retryAfter !== "" && oneOf("SLUICE_RETRY_AFTER", FORMS, retryAfter) === "http-date";
  if (headers === "" && !isDate) return {};
  const styles: readonly HeaderStyle[] = names.map((name) => STYLES[oneOf("SLUICE_HEADERS", STYLE_NAMES, name)]());
  return { headers: isDate ? [...styles, retryAfterDate()] : styles };
}

function oneOf<T extends string>(variable: string, all: readonly T[], text: string): T {
  const found = all.find((each) => each === text);
  if (found === undefined) throw new ConfigError(`Expected \`${variable}\` to be ${all.join(", ")}, got ${JSON.stringify(text)}`);
  return found;
}

/** The behavior when the store fails. A missing option has the library's default. */
export interface Failing {
  readonly onStoreError?: OnStoreError;
}

const CHOICES: readonly string[] = ["local", "allow", "unavailable"] satisfies OnStoreError[];

/** Reads `--on-store-error`. Throws a {@link ConfigError} for anything wrong. */
export function readFailing(onStoreError: string | undefined): Failing {
  if (onStoreError !== undefined && !CHOICES.includes(onStoreError)) {
    throw new ConfigError(`Expected \`--on-store-error\` to be ${CHOICES.join(", ")}, got ${JSON.stringify(onStoreError)}`);
  }
  return onStoreError === undefined ? {} : { onStoreError: onStoreError as OnStoreError };
}

/** Reads `--store-timeout`, an option of the store. Throws a {@link ConfigError} for anything wrong. */
export function readTimeout(storeTimeout: string | undefined): { readonly timeoutMs?: number } {
  const ms = storeTimeout === "off" ? Infinity : /^\d+$/.test(storeTimeout ?? "") ? Number(storeTimeout) : NaN;
  if (storeTimeout !== undefined && ms !== Infinity && !isPositiveInteger(ms)) {
    throw new ConfigError(`Expected \`--store-timeout\` to be a positive integer of milliseconds, or off, got ${JSON.stringify(storeTimeout)}`);
  }
  return storeTimeout === undefined ? {} : { timeoutMs: ms };
}

function takeFile(numbers: typeof DEFAULTS, file: string): void {
  for (const [name, given] of Object.entries(objectAt(file, "the file", parse(file)))) {
    if (!isIn(numbers, name)) throw new ConfigError(`${file}: Expected only the policies ${list(numbers)}, got \`${name}\``);
    const own: Numbers = numbers[name];
    for (const [field, value] of Object.entries(objectAt(file, `\`${name}\``, given))) {
      if (!isIn(own, field)) throw new ConfigError(`${file}: Expected only ${list(own)} in \`${name}\`, got \`${field}\``);
      if (!isPositiveInteger(value)) {
        throw new ConfigError(`${file}: Expected \`${name}.${field}\` to be a positive integer, got ${JSON.stringify(value)}`);
      }
      own[field] = value;
    }
  }
}

function takeVariables(numbers: typeof DEFAULTS, env: NodeJS.ProcessEnv): void {
  for (const [variable, text] of Object.entries(env)) {
    // Other variables that start with SLUICE_ do not belong to this server. But a misspelt policy must be reported.
    const [, place, unit] = /^SLUICE_(.+)_(CAPACITY|TOKENS|EVERY_MS)$/.exec(variable) ?? [];
    if (place === undefined) continue;
    const name = place.toLowerCase().replace("_", "-");
    if (!isIn(numbers, name)) {
      throw new ConfigError(`Expected \`${variable}\` to be of one of the policies ${list(numbers)}, got "${name}"`);
    }
    const value = /^\d+$/.test(text ?? "") ? Number(text) : NaN;
    if (!isPositiveInteger(value)) {
      throw new ConfigError(`Expected \`${variable}\` to be a positive integer, got ${JSON.stringify(text)}`);
    }
    numbers[name][unit === "CAPACITY" ? "capacity" : unit === "TOKENS" ? "tokens" : "everyMs"] = value;
  }
}

function parse(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new ConfigError(`${file}: Expected a file that can be read, got ${(error as NodeJS.ErrnoException).code}`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message quotes the text around the mistake, with its line breaks.
    throw new ConfigError(`${file}: Expected JSON, got ${(error as Error).message.replaceAll(/\s+/g, " ")}`);
  }
}

function objectAt(file: string, what: string, value: unknown): object {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new ConfigError(`${file}: Expected ${what} to be an object, got ${JSON.stringify(value)}`);
}

function isPositiveInteger(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function isIn<T extends object>(object: T, name: string): name is keyof T & string {
  return Object.hasOwn(object, name);
}

function list(object: object): string {
  return Object.keys(object).map((name) => `\`${name}\``).join(", ");
}
