/** A problem document with the two members that clients who do not know RFC 9457 read: a code and a message. */
export interface Problem {
  /** A URI that names the kind of problem. */
  readonly type: string;
  /** The kind of problem in words; the same every time. */
  readonly title: string;
  /** The HTTP status, as in the status line. */
  readonly status: number;
  /** This occurrence in words, short and without any identity. */
  readonly detail: string;
  /** For programs: `"rate_limited"`, `"cost_too_high"`, `"temporarily_unavailable"`, `"unidentified"` or `"internal_error"`. */
  readonly code: string;
  /** For people: the same as `detail`. */
  readonly message: string;
  /** Whole seconds to wait, as in `Retry-After`. Only where waiting helps. */
  readonly retry_after?: number;
  /** The limits that refused, under their names in the header fields. Only with 429. */
  readonly "violated-policies"?: readonly string[];
}

// Registered by draft-ietf-httpapi-ratelimit-headers-11, section 5.
const TYPES = "https://iana.org/assignments/http-problem-types";

/** 429: wait `seconds`. */
export function tooManyRequests(seconds: number, violated: readonly string[]): Problem {
  const detail = `Too many requests. Try again in ${inWords(seconds)}.`;
  return {
    type: `${TYPES}#quota-exceeded`,
    title: "Too Many Requests",
    status: 429,
    detail,
    code: "rate_limited",
    message: detail,
    retry_after: seconds,
    "violated-policies": violated,
  };
}

/** 400: no wait will ever make room for this cost. */
export function costTooHigh(cost: number, capacity: number): Problem {
  const detail = `This request costs ${cost}, and at most ${capacity} can ever be available. Ask for less at once.`;
  return { type: "about:blank", title: "Bad Request", status: 400, detail, code: "cost_too_high", message: detail };
}

/** 503: the limiter's store failed, which says nothing about the caller. */
export function unavailable(seconds: number): Problem {
  const detail = `The service is short of capacity for the moment. Try again in ${inWords(seconds)}.`;
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

/** 401: the caller cannot be told from others. */
export function unidentified(): Problem {
  const detail = "This request says neither which user nor which device it comes from.";
  return { type: "about:blank", title: "Unauthorized", status: 401, detail, code: "unidentified", message: detail };
}

/** 500: what was asked of the request itself, such as its key, failed. */
export function failed(): Problem {
  const detail = "The server could not tell whether this request is within its limits.";
  return { type: "about:blank", title: "Internal Server Error", status: 500, detail, code: "internal_error", message: detail };
}

function inWords(seconds: number): string {
  return seconds === 1 ? "1 second" : `${seconds} seconds`;
}
