/**
 * The HTTP side of rate limiting without a framework: the gate, the header styles, and functions that put a verdict on
 * a response. For authors of adapters, and for header styles other than the default.
 * @module sluice/http
 */
export { type CombinedKey, type MaybeKey } from "./caller.js";
export { decisionOf, decisionsOf, reportCost, type ReportedCost } from "./response/decisions.js";
export { createGate, type Gate } from "./gate.js";
export { type Field, type FieldList, type HeaderStyle } from "./headers/field.js";
export { draft11, triple, type Draft11Options } from "./headers/styles.js";
export {
  draft7, retryAfterDate, vendorHeaders, xRateLimit, type ResetFormat, type VendorHeaders,
} from "./headers/other-styles.js";
export { createHeaderWriter, type HeaderWriter } from "./headers/writer.js";
export { type AdapterOptions, type GateOptions, type WebAnswer } from "./options/options.js";
export { type RequestReader } from "./reader.js";
export { type Refusal, type UnidentifiedRefusal } from "./response/refusal.js";
export { type Problem } from "./response/problem.js";
export { fieldRecord } from "./response/field-record.js";
export { retryAfterSeconds } from "./retry-after/retry-after.js";
export { trackWork } from "./response/track-work.js";
export { type Outcome } from "./response/work.js";
export { type PassVerdict, type RefuseVerdict, type SkipVerdict, type Verdict } from "./response/verdict.js";
