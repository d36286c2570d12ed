import type { Mutant } from "./mutants.js";

const RETRY_AFTER = "retry-after";
const FIELDS = "rate-limit";

/** The mistakes against the client's items of the HTTP contract. */
export const clientMutants: readonly Mutant[] = [
  {
    item: "44", test: RETRY_AFTER, in: "headerOf",
    find: "text.trim()",
    replace: "text",
  },
  {
    item: "45", test: RETRY_AFTER, in: "parseHttpDate",
    find: "latest.getUTCFullYear() + 50",
    replace: "latest.getUTCFullYear() + 99",
  },
  {
    item: "45", test: RETRY_AFTER, in: "DATE",
    find: "|60) (?:",
    replace: ") (?:",
  },
  {
    item: "46", test: RETRY_AFTER, in: "parseRetryAfter",
    find: "untilInstant(at, sent)",
    replace: "untilInstant(at, now)",
  },
  {
    item: "47", test: RETRY_AFTER, in: "decimal",
    find: "Number(`${text}e${exponent}`)",
    replace: "Number(text) * 10 ** exponent",
  },
  {
    item: "48", test: RETRY_AFTER, in: "decimal",
    find: "Math.ceil(Number(`${text}e${exponent}`))",
    replace: "Math.ceil(Number(`${text}e${exponent}`)) | 0",
  },
  {
    item: "51", test: FIELDS, in: "waitPlaces",
    find: "left < 1 || (left !== left && !isLeft) ? resetMs : null",
    replace: "resetMs",
  },
  {
    item: "51", test: FIELDS, in: "waitPlaces",
    find: "Number(exact) > Number(seconds) - 1_000",
    replace: "Number(exact) >= Number(seconds)",
  },
  {
    item: "60", test: FIELDS, in: "namedLimits",
    find: "cost === null ? told : { ...told, cost }",
    replace: "told",
  },
  {
    item: "60", test: FIELDS, in: "namedLimits",
    find: "w, t = w, c }",
    replace: "w: t, c }",
  },
  {
    item: "59", test: "refusal-body", in: "withoutControls",
    find: 'text.replace(CONTROLS, " ")',
    replace: "text",
  },
  {
    item: "60", test: RETRY_AFTER, in: "headerOf",
    find: "text.length > 4_096",
    replace: "text.length > 2 * 4_096",
  },
  {
    item: "60", test: "structured-field", in: "parseMembers",
    find: "!KEY.test(key)",
    replace: 'key === ""',
  },
  {
    item: "60", test: "services", in: "limitFamilies",
    find: "readVendors(headers, now) ?? []",
    replace: "[]",
  },
  {
    item: "61", test: FIELDS, in: "isCached",
    find: 'Number(headerOf(headers, "age")) > 0',
    replace: 'Number(headerOf(headers, "age")) > 1',
  },
];
