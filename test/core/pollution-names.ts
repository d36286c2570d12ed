/** The options of the package, as members that an attacker adds to `Object.prototype`. */
export const NAMES = [
  // limiters and policies
  "policy", "store", "clock", "onStoreError", "timeoutMs", "sharedBy", "breaker", "failures", "probeEveryMs", "shadow", "observe",
  "name", "limits", "capacity", "refill", "cost", "durationMs",
  // what is built on them; not `signal`, with which Node's own streams fail
  "maxWaitMs", "maxWaiters", "maxWaitersPerKey", "jitterMs", "least", "most",
  // stores
  "maxKeys", "prefix", "denyCacheMs", "batch", "cluster", "table", "attempts", "random", "sleep",
  // the client
  "identity", "maxAttempts", "backoff", "baseMs", "capMs", "retryStatuses", "merge", "retryBudget", "tokens", "perSuccess",
  // the gate
  "skip", "unidentified", "key", "onDecision", "actualCost", "respond", "partitionKey", "limiter", "functionTimeoutMs", "user", "tenant", "repeats",
  "traffic", "onWait", "giveUp", "vendor", "refusal", "limits", "time", "now", "wallNow", "attemptTimeoutMs", "sensitive", "retry", "pace", "route",
  // what all copies of the package share
  "quiet", "silenced", "works", "returned", "claims", "charged", "policyNames", "watches", "ledgers", "apart", "unnamed", "names", "held", "taken",
  "redirects",
];

/** The members that servers send in fields and bodies. */
export const SENT_NAMES = [
  "a", "r", "t", "q", "qu", "w", "pk", "remaining", "reset", "limit", "constructor", "message", "detail", "title", "code", "error", "violated-policies",
  "retry_after", "parameters", "details", "retryDelay", "errors", "extensions", "retry_in_seconds", "metadata", "__type", "type", "reason", "violations", "quotaId", "quota_limit", "@type",
  "c", "cost", "concurrent", "serverCode", "serverMessage", "waitMs", "toldMs", "clone", "told", "policies",
];

/** The values that a member gets, by the name that a test gives them. */
export const POLLUTIONS: Readonly<Record<string, unknown>> = {
  true: true,
  false: false,
  "0": 0,
  "2": 2,
  "a million": 1_000_000,
  "a text": "allow",
  "the name of a global": "process",
  "a refill": { tokens: 9, everyMs: 1 },
  "a function": () => 0,
};

/** The values of a member that a server did not send. */
export const SENT_POLLUTIONS: Readonly<Record<string, unknown>> = {
  "0": 0,
  "2": 2,
  "a text": "allow",
  "a refusal": { message: "polluted", retry_after: 9 },
  "a list": ["polluted"],
  "a kind of limit": "concurrent-requests",
  "a refusal of AWS": "ThrottlingException",
  "a refusal of GitHub": "rate limit",
  "a reason of Google": [{ reason: "rateLimitExceeded" }],
};

/** What the platform itself reads of `Object.prototype`, such as in `import(name)` and `new Request(url)`. No package can help there. */
export const OF_THE_PLATFORM = [
  "body", "cache", "cancel", "credentials", "get", "handle", "headers", "method", "mode", "path", "redirect", "set", "signal", "size", "source", "start", "status",
  "statusText", "then", "type", "value", "window", "writable",
];

/** By these members a store recognizes the clients of other packages, and the mistakes with them. It does so when it is made. */
export const OF_CLIENTS = [
  "$client", "$pool", "chain", "client", "connectionParameters", "createQueryRunner", "ended", "evalSha", "getQueryInterface", "internal_send_command",
  "isPipeline", "options", "scriptLoad", "totalCount",
];
