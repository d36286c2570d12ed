import type { Mutant } from "./mutants.js";

const RETRY_AFTER = "retry-after";
const FIELDS = "rate-limit";

/** The mistakes against the client's items of the HTTP contract. */
export const clientMutants: readonly Mutant[] = [
  {
    item: "44", test: RETRY_AFTER,
    find: "String(value).trim()",
    replace: "String(value)",
  },
  {
    item: "45", test: RETRY_AFTER,
    find: "latest.getUTCFullYear() + 50",
    replace: "latest.getUTCFullYear() + 99",
  },
  {
    item: "45", test: RETRY_AFTER,
    find: "|60) GMT$/",
    replace: ") GMT$/",
  },
  {
    item: "46", test: RETRY_AFTER,
    find: "at - sentAt(headers, now)",
    replace: "at - now",
  },
  {
    item: "47", test: RETRY_AFTER,
    find: "Math.ceil(Number(`${text}e${exponent}`))",
    replace: "Math.ceil(Number(text) * 10 ** exponent)",
  },
  {
    item: "48", test: RETRY_AFTER,
    find: "Math.ceil(Number(`${text}e${exponent}`))",
    replace: "Math.ceil(Number(`${text}e${exponent}`)) | 0",
  },
  {
    item: "51", test: FIELDS,
    find: "remaining === 0 && resetMs !== null",
    replace: "resetMs !== null",
  },
  {
    item: "51", test: FIELDS,
    find: "exact > wait - 1_000",
    replace: "exact >= wait",
  },
  {
    item: "60", test: FIELDS,
    find: "w, t = w }",
    replace: "w: t }",
  },
  {
    item: "60", test: "structured-field",
    find: "(?:,[ \\\\t]*(?!$)|$)",
    replace: "(?:,[ \\\\t]*|$)",
  },
  {
    item: "61", test: FIELDS,
    find: 'Number(headerOf(headers, "age")) > 0',
    replace: 'Number(headerOf(headers, "age")) > 1',
  },
];
