// Types in signatures that no entry exports: parts of options, and what a type is computed by. An editor shows their
// members, and nobody needs to name them.
export const INSIDE_TYPES = [
  "AbortSignalLike", "AnyKey", "AnyLimiter", "AnyRespond", "BucketCall", "ClassOrMethod", "Closable",
  "DecisionOf", "DurableObjectClass", "ExpressRespond", "FastifyGateOptions", "FastifyHookOptions", "FastifyOwnOptions",
  "FastifyPluginOptions", "FastifyRespond", "HeaderSource", "HonoRespond", "IfLimiter", "InFlightOptions",
  "InstancesOf", "IoredisLike", "KeysOf", "KindCode", "Limited", "LimitedListener", "LimiterGateOptions",
  "LimiterModuleOptions", "LimiterRateLimitOptions", "ListedLimit", "ManyLimitsPolicy", "MaybeKeyPart", "NestGateOptions",
  "NestUser", "NoOptions", "NodeRedisLike", "NodeRespond", "OverDefaults", "PolicyGateOptions",
  "PolicyModuleOptions", "PolicyRateLimitOptions", "QuotaOptions", "RateLimitedFacts", "RateOptions", "RespondOption", "SingleInFlightPolicy",
  "SingleQuotaPolicy", "SingleRatePolicy", "SingleWindowPolicy", "SyncOf", "TrafficResponse", "UpstashLike",
  "WebRespond", "WindowOptions",
];

// The same of interfaces that an exported one extends. TypeDoc shows their members without their names.
export const INSIDE_BASES = ["AnyStore", "CheckedNumbers", "ClosingResponse", "DecisionFacts", "InFlightTimes", "SqlDatabaseOptions"];
