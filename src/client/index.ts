/**
 * The other side of a 429: a `fetch` that obeys it, and what it is made of.
 * @module sluice/client
 */
export { countdown, type CountdownOptions } from "./countdown.js";
export { createFetch } from "./create-fetch.js";
export { RateLimitedError, type RateLimitedFacts } from "./error.js";
export {
  type CallOptions,
  type ClientFetch,
  type ClientInit,
  type ClientOptions,
  type RetryInfo,
  type Timing,
  type Traffic,
  type TrafficAnswer,
  type TrafficCall,
} from "./options.js";
export { type RateLimit } from "./rate-limit.js";
export { parseRateLimit } from "./rate-limit-fields.js";
export { type RateLimitReason } from "./retry.js";
export { waitOf, type Wait } from "./wait-of.js";
export { parseRetryAfter, type HeaderSource } from "../http/retry-after.js";
