/** A problem document (RFC 9457). `code` and `message` are for clients that do not read this format. */
export interface Problem {
  /** A URI that identifies the kind of problem. */
  readonly type: string;
  /** The kind of problem in words. It is the same for every occurrence. */
  readonly title: string;
  /** The HTTP status, as in the status line. */
  readonly status: number;
  /** This occurrence in words. It is short and does not contain the caller's identity. */
  readonly detail: string;
  /**
   * The kind of problem for programs: `"rate_limited"`, `"cost_too_high"`, `"temporarily_unavailable"`,
   * `"unidentified"`, `"disconnected"` or `"internal_error"`.
   */
  readonly code: string;
  /** The text for people. Equal to `detail`. */
  readonly message: string;
  /** Whole seconds to wait, equal to `Retry-After`. With 429 and 503 only. */
  readonly retry_after?: number;
  /** The names of the limits that refused, as in the header fields. With 429 only. */
  readonly "violated-policies"?: readonly string[];
}

// Registered by draft-ietf-httpapi-ratelimit-headers-11, section 5.
const TYPES = "https://iana.org/assignments/http-problem-types";

const PROBLEM_START =
  `{"type":"${TYPES}#quota-exceeded","title":"Too Many Requests","status":429,"detail":"Too many requests. Try again in `;
const PROBLEM_MIDDLE = '.","code":"rate_limited","message":"Too many requests. Try again in ';

/**
 * The document of a 429 as JSON text: wait `seconds`. `violated` are the names of the limits that refused. Six times
 * faster than `JSON.stringify`.
 */
export function tooManyRequests(seconds: number, violated: readonly string[]): string {
  const wait = inWords(seconds);
  // Names of limits need no escapes: definePolicy allows letters, digits and `_ - .`. A custom store may name none.
  const names = violated.length === 0 ? "" : `"${violated.join('","')}"`;
  // JSON has no NaN or Infinity, and a custom store may return them.
  const number = Number.isFinite(seconds) ? seconds : null;
  return `${PROBLEM_START}${wait}${PROBLEM_MIDDLE}${wait}.","retry_after":${number},"violated-policies":[${names}]}`;
}

/** The document of a 400: `cost` is above the policy's smallest `capacity`, so waiting does not help. */
export function costTooHigh(cost: number, capacity: number): Problem {
  const detail = `This request costs ${cost}, and the limit allows at most ${capacity} at once. Ask for less in one request.`;
  return { type: "about:blank", title: "Bad Request", status: 400, detail, code: "cost_too_high", message: detail };
}

/** The document of a 503: the limiter's store failed. */
export function storeUnavailable(seconds: number): Problem {
  const detail = `The service is temporarily unavailable. Try again in ${inWords(seconds)}.`;
  return {
    type: `${TYPES}#temporary-reduced-capacity`,
    title: "Service Unavailable",
    status: 503,
    detail,
    code: "temporarily_unavailable",
    message: detail,
    retry_after: seconds,
  };
}

/** The document of a 401: the request has no key. */
export function unidentifiedCaller(): Problem {
  const detail = "This request does not identify a user or device.";
  return { type: "about:blank", title: "Unauthorized", status: 401, detail, code: "unidentified", message: detail };
}

/**
 * The document for a client that disconnected while its request waited. It appears in logs only, with nginx's
 * status 499.
 */
export function disconnectedClient(): Problem {
  const detail = "The client disconnected before its turn.";
  return { type: "about:blank", title: "Client Closed Request", status: 499, detail, code: "disconnected", message: detail };
}

/** The document of a 500: a function of the options failed. */
export function internalError(): Problem {
  const detail = "The server failed to check the rate limit of this request.";
  return { type: "about:blank", title: "Internal Server Error", status: 500, detail, code: "internal_error", message: detail };
}

function inWords(seconds: number): string {
  return seconds === 1 ? "1 second" : `${seconds} seconds`;
}
