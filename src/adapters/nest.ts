/**
 * Rate limits for NestJS 10 to 12, on Express and on Fastify: a module, a guard and decorators.
 * @module sluice/nest
 */
export { decisionOf, decisionsOf, reportCost, type ReportedCost } from "../http/response/decisions.js";
export { InjectRateLimiter, RateLimit, RateLimitDecision, rateLimiterToken, SkipRateLimit } from "./nest/decorators.js";
export { RateLimitException } from "./nest/exception.js";
export { RateLimitGuard } from "./nest/guard.js";
export { RateLimitInterceptor } from "./nest/interceptor.js";
export { RateLimitModule } from "./nest/module.js";
export type {
  NestRequest, NestResponse, RateLimitAsyncOptions, RateLimitModuleOptions, RateLimitOptions,
} from "./nest/options.js";
