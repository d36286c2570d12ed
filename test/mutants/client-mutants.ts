import type { Mutant } from "./mutants.js";

const RETRY_AFTER = "retry-after";
const FIELDS = "rate-limit";

/** The mistakes against the client's items of the HTTP contract. */
export const clientMutants: readonly Mutant[] = [
  {
    item: "44", test: RETRY_AFTER,
    find: '"" : text.trim()',
    replace: '"" : text',
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
    find: "if (at !== null) return untilInstant(at, sent)",
    replace: "if (at !== null) return untilInstant(at, now)",
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
    find: "left < 1 ? resetMs : null",
    replace: "resetMs",
  },
  {
    item: "51", test: FIELDS,
    find: "Number(exact) > Number(seconds) - 1_000 ?",
    replace: "Number(exact) >= Number(seconds) ?",
  },
  {
    item: "60", test: FIELDS,
    find: "cost === null ? told : { ...told, cost }",
    replace: "told",
  },
  {
    item: "60", test: FIELDS,
    find: "w, t = w, c }",
    replace: "w: t, c }",
  },
  {
    item: "59", test: "refusal-body",
    find: 'text.replace(CONTROLS, " ")',
    replace: "text",
  },
  {
    item: "60", test: RETRY_AFTER,
    find: "text.length > 4_096",
    replace: "text.length > 2 * 4_096",
  },
  {
    item: "60", test: "structured-field",
    find: "if (hasKey ? !KEY.test(key)",
    replace: 'if (hasKey ? key === ""',
  },
  {
    item: "60", test: "services",
    find: 'yield ["vendor", readVendors(headers, now) ?? []]',
    replace: 'yield ["vendor", []]',
  },
  {
    item: "61", test: FIELDS,
    find: 'return Number(headerOf(headers, "age")) > 0;',
    replace: 'return Number(headerOf(headers, "age")) > 1;',
  },
];
