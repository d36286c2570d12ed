// Types in signatures that no entry exports: parts of the options of gates and adapters. An editor shows their members,
// and nobody needs to name them.
export const INSIDE_TYPES = [
  "AnyKey", "AnyRespond", "Closable", "ExpressRespond", "FastifyGateOptions", "FastifyHookOptions", "FastifyOwnOptions",
  "FastifyPluginOptions", "FastifyRespond", "HonoRespond", "IfLimiter", "Limited", "LimitedListener", "LimiterGateOptions",
  "LimiterRateLimitOptions", "MaybeKeyPart", "NodeRespond", "NoOptions", "OverDefaults", "PolicyGateOptions",
  "PolicyRateLimitOptions", "RespondOption", "WebRespond",
];

// The same of interfaces that an exported one extends. TypeDoc shows their members without their names.
export const INSIDE_BASES = ["ClosingResponse"];
