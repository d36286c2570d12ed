// The example server's settings: what it takes, and how it complains. settings-process.test.ts starts it with them.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { draft11, draft7, retryAfterDate, triple, xRateLimit, type HeaderStyle } from "sluice/http";
import { afterAll, describe, expect, test } from "vitest";
import { ConfigError, readFailing, readPolicies, readTelling, readTimeout } from "../../examples/server/config.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-example-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const POLICIES = "`interactive`, `bulk`, `login-code`, `reports`";
let files = 0;

/** Writes a configuration file and returns its path. */
function file(content: unknown): string {
  const path = join(folder, `${++files}.json`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

/** The numbers of a policy: capacity, tokens, everyMs. */
function numbers(policies: ReturnType<typeof readPolicies>, name: keyof ReturnType<typeof readPolicies>): number[] {
  const [{ capacity, refill }] = policies[name].limits;
  return [capacity, refill?.tokens ?? 0, refill?.everyMs ?? 0];
}

describe("policies", () => {
  test("have defaults, which the example file repeats", () => {
    const policies = readPolicies({});
    expect(numbers(policies, "interactive")).toEqual([10, 2, 1_000]);
    expect(numbers(policies, "bulk")).toEqual([3, 1, 10_000]);
    expect(numbers(policies, "login-code")).toEqual([3, 3, 3_600_000]);
    expect(numbers(policies, "reports")).toEqual([10, 10, 60_000]);
    expect(policies.reports.limits.map(({ name, capacity }) => [name, capacity])).toEqual([["requests", 10], ["month", 100], ["parallel", 2]]);
    expect(readPolicies({}, "examples/server/config.example.json")).toEqual(policies);
    // Variables of other programs are no concern of ours.
    expect(readPolicies({ SLUICE_CONFIG: "", SLUICE_REQUIRE_SERVICES: "1", SLUICE_LOG: "x", TOKENS: "x" })).toEqual(policies);
  });

  test("come from a file, and over that from variables", () => {
    const config = file({ interactive: { capacity: 50, tokens: 5 }, "login-code": { everyMs: 60_000 } });
    const env = { SLUICE_CONFIG: config, SLUICE_INTERACTIVE_CAPACITY: "60", SLUICE_LOGIN_CODE_TOKENS: "2", SLUICE_LOGIN_CODE_EVERY_MS: "90000" };
    const policies = readPolicies(env);
    expect(numbers(policies, "interactive")).toEqual([60, 5, 1_000]);
    expect(numbers(policies, "bulk")).toEqual([3, 1, 10_000]);
    expect(numbers(policies, "login-code")).toEqual([3, 2, 90_000]);
    // --config takes the place of the file that SLUICE_CONFIG names.
    expect(numbers(readPolicies({ SLUICE_CONFIG: config }, file({ bulk: { capacity: 4 } })), "interactive")).toEqual([10, 2, 1_000]);
  });

  const wrongVariables: [variable: string, value: string, complaint: string][] = [
    ["SLUICE_INTERACTIVE_CAPACITY", "ten", 'Expected `SLUICE_INTERACTIVE_CAPACITY` to be a positive integer, got "ten"'],
    ["SLUICE_BULK_TOKENS", "", 'Expected `SLUICE_BULK_TOKENS` to be a positive integer, got ""'],
    ["SLUICE_BULK_EVERY_MS", "0", 'Expected `SLUICE_BULK_EVERY_MS` to be a positive integer, got "0"'],
    ["SLUICE_BULK_CAPACITY", "1e3", 'Expected `SLUICE_BULK_CAPACITY` to be a positive integer, got "1e3"'],
    ["SLUICE_INBOX_CAPACITY", "3", `Expected \`SLUICE_INBOX_CAPACITY\` to be of one of the policies ${POLICIES}, got "inbox"`],
    [
      "SLUICE_BULK_EVERY_MS",
      String(Number.MAX_SAFE_INTEGER),
      'Policy "bulk": Expected `capacity` to be at most 1 at this refill, got 3. Lower it, or shorten `refill.everyMs`.',
    ],
  ];
  test.each(wrongVariables)("%s=%s is refused", (variable, value, complaint) => {
    expect(() => readPolicies({ [variable]: value })).toThrow(new ConfigError(complaint));
  });

  const wrongFiles: [content: unknown, complaint: string][] = [
    [{ inbox: {} }, `Expected only the policies ${POLICIES}, got \`inbox\``],
    [{ bulk: { capcity: 3 } }, "Expected only `capacity`, `tokens`, `everyMs` in `bulk`, got `capcity`"],
    [{ bulk: { capacity: -1 } }, "Expected `bulk.capacity` to be a positive integer, got -1"],
    [{ bulk: { tokens: "3" } }, 'Expected `bulk.tokens` to be a positive integer, got "3"'],
    [{ "login-code": null }, "Expected `login-code` to be an object, got null"],
    [[], "Expected the file to be an object, got []"],
  ];
  test.each(wrongFiles)("the file %j is refused", (content, complaint) => {
    const path = file(content);
    expect(() => readPolicies({}, path)).toThrow(new ConfigError(`${path}: ${complaint}`));
  });

  test("a file that cannot be read, or is not JSON, is refused in one line", () => {
    const missing = join(folder, "missing.json");
    expect(() => readPolicies({}, missing)).toThrow(new ConfigError(`${missing}: Expected a file that can be read, got ENOENT`));
    const broken = file('{\n"bulk":\n{\n');
    expect(() => readPolicies({}, broken)).toThrow(/^[^\n]*: Expected JSON, got [^\n]+$/);
  });
});

/** The fields of styles, and whether they write Retry-After. */
const namesOf = (styles: readonly HeaderStyle[]): unknown => styles.map((style) => [style.fields.map(({ name }) => name), Object.hasOwn(style, "retryAfter")]);

describe("how limits are told", () => {
  test("is the library's default, or what variables say", () => {
    expect(readTelling({ SLUICE_HEADERS: "", SLUICE_RETRY_AFTER: "" })).toEqual({});
    const told = (variables: NodeJS.ProcessEnv) => namesOf(readTelling(variables).headers ?? []);
    expect(told({ SLUICE_HEADERS: "draft-7,x-ratelimit" })).toEqual(namesOf([draft7(), xRateLimit()]));
    expect(told({ SLUICE_HEADERS: "none", SLUICE_RETRY_AFTER: "http-date" })).toEqual(namesOf([retryAfterDate()]));
    expect(told({ SLUICE_RETRY_AFTER: "http-date" })).toEqual(namesOf([triple(), draft11(), retryAfterDate()]));
    expect(readTelling({ SLUICE_RETRY_AFTER: "seconds" })).toEqual({});
  });

  test.each([
    ["SLUICE_HEADERS", "tripel", 'Expected `SLUICE_HEADERS` to be triple, draft-7, draft-11, x-ratelimit, got "tripel"'],
    ["SLUICE_RETRY_AFTER", "minutes", 'Expected `SLUICE_RETRY_AFTER` to be seconds, http-date, got "minutes"'],
  ])("%s=%s is refused", (variable, value, complaint) => {
    expect(() => readTelling({ [variable]: value })).toThrow(new ConfigError(complaint));
  });
});

describe("what happens when the store fails", () => {
  test("is the library's default, unless said otherwise", () => {
    expect([readFailing(undefined), readTimeout(undefined)]).toEqual([{}, {}]);
    for (const choice of ["local", "allow", "unavailable"]) expect(readFailing(choice)).toEqual({ onStoreError: choice });
    expect([readTimeout("250"), readTimeout("off")]).toEqual([{ timeoutMs: 250 }, { timeoutMs: Infinity }]);
  });

  test.each(["0", "-1", "1.5", "1e3", "", "Infinity", "99999999999999999"])("a deadline of %j is refused", (text) => {
    const complaint = `Expected \`--store-timeout\` to be a positive integer of milliseconds, or off, got ${JSON.stringify(text)}`;
    expect(() => readTimeout(text)).toThrow(new ConfigError(complaint));
  });
});
