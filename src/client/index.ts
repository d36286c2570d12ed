/**
 * The client's side of a 429: a `fetch` that obeys it, a countdown for the screen, and parsers of the header fields.
 * @module sluice/client
 */
export { countdown, type CountdownOptions } from "./countdown.js";
export { createFetch } from "./fetch/create-fetch.js";
export { RateLimitedError, type RateLimitedFacts } from "./fetch/error.js";
export {
  type CallOptions,
  type ClientFetch,
  type ClientInit,
  type ClientOptions,
  type RefusalHook,
  type Timing,
  type Traffic,
  type TrafficCall,
  type TrafficResponse,
  type WaitInfo,
  type WaitReason,
} from "./fetch/options.js";
export { type RateLimitReason } from "./fetch/retry.js";
export { type LimitsParser, type RateLimit } from "./reading/rate-limit.js";
export { parseRateLimit } from "./reading/rate-limit-fields.js";
export { parseWait, type Wait } from "./reading/wait.js";
export { parseRetryAfter, type HeaderSource } from "../http/retry-after/retry-after.js";
