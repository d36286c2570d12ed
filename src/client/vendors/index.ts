/**
 * The header fields and bodies of single services, beyond the standards, for `createFetch`: their limits for the option
 * `limits`, and their refusals for `refusal`.
 * @module sluice/client/vendors
 */
export { awsRefusal } from "./aws.js";
export { geminiRefusal } from "./gemini.js";
export { githubRefusal } from "./github.js";
export { openaiRefusal } from "./openai.js";
export { parseVendorLimits } from "./vendor-limits.js";
export { type VendorVerdict } from "./verdict.js";
export { type LimitsParser, type RateLimit } from "../reading/rate-limit.js";
export { type HeaderSource } from "../../http/retry-after/retry-after.js";
