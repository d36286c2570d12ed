import type { Mutant } from "./mutants.js";

const RETRY_AFTER = "test/http/retry-after/retry-after.test.ts";
const FIELDS = "test/client/reading/rate-limit.test.ts";

/** The mistakes against the client's items of the HTTP contract. */
export const clientMutants: readonly Mutant[] = [
  {
    item: "44", file: "src/http/retry-after/retry-after.ts", test: RETRY_AFTER,
    find: "String(value).trim()",
    replace: "String(value)",
  },
  {
    item: "45", file: "src/http/retry-after/http-date.ts", test: RETRY_AFTER,
    find: "latest.getUTCFullYear() + 50",
    replace: "latest.getUTCFullYear() + 99",
  },
  {
    item: "45", file: "src/http/retry-after/http-date.ts", test: RETRY_AFTER,
    find: "|60) GMT$/",
    replace: ") GMT$/",
  },
  {
    item: "46", file: "src/http/retry-after/retry-after.ts", test: RETRY_AFTER,
    find: "at - sentAt(headers, now)",
    replace: "at - now",
  },
  {
    item: "47", file: "src/http/retry-after/retry-after.ts", test: RETRY_AFTER,
    find: "Math.ceil(Number(`${text}e${exponent}`))",
    replace: "Math.ceil(Number(text) * 10 ** exponent)",
  },
  {
    item: "48", file: "src/http/retry-after/retry-after.ts", test: RETRY_AFTER,
    find: "Math.ceil(Number(`${text}e${exponent}`))",
    replace: "Math.ceil(Number(`${text}e${exponent}`)) | 0",
  },
  {
    item: "51", file: "src/client/reading/wait-of.ts", test: FIELDS,
    find: "remaining === 0 && resetMs !== null",
    replace: "resetMs !== null",
  },
  {
    item: "51", file: "src/client/reading/wait-of.ts", test: FIELDS,
    find: "exact > wait - 1_000",
    replace: "exact >= wait",
  },
  {
    item: "60", file: "src/client/reading/rate-limit-fields.ts", test: FIELDS,
    find: "w, t = w }",
    replace: "w: t }",
  },
  {
    item: "60", file: "src/client/reading/structured-field.ts", test: "test/client/reading/structured-field.test.ts",
    find: "(?:,[ \\\\t]*(?!$)|$)",
    replace: "(?:,[ \\\\t]*|$)",
  },
  {
    item: "61", file: "src/client/reading/rate-limit-fields.ts", test: FIELDS,
    find: 'Number(headerOf(headers, "age")) > 0',
    replace: 'Number(headerOf(headers, "age")) > 1',
  },
];
