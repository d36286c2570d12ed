/**
 * The client's side of a 429: a `fetch` that obeys it, a countdown for the screen, parsers of the header fields, and
 * the services whose refusals or limits differ from the standards. A bundler keeps only what you import.
 * @module sluice/client
 */
export { countdown, type CountdownOptions } from "./countdown.js";
export { createFetch } from "./fetch/create-fetch.js";
export { RateLimitedError } from "./fetch/error.js";
export {
  type CallOptions,
  type ClientFetch,
  type ClientInit,
  type ClientOptions,
  type ClientTime,
  type Timing,
  type Traffic,
  type TrafficCall,
  type WaitInfo,
  type WaitReason,
} from "./fetch/options.js";
export { type RateLimitReason } from "./fetch/retry.js";
export { type LimitsParser, type ToldLimit } from "./reading/rate-limit.js";
export { parseRateLimit } from "./reading/rate-limit-fields.js";
export { type VendorHook, type Vendor } from "./reading/vendor.js";
export { parseWait, type Wait } from "./reading/wait.js";
export { aws } from "./vendors/aws.js";
export { gemini } from "./vendors/gemini.js";
export { github } from "./vendors/github.js";
export { openai } from "./vendors/openai.js";
export { parseVendorLimits } from "./vendors/vendor-limits.js";
export { parseRetryAfter } from "../http/retry-after/retry-after.js";
