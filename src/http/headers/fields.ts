import type { Reading } from "../../core/decision.js";
import type { Limit } from "../../core/limit.js";
import type { Policy } from "../../core/policy.js";
import { toHttpDate } from "../retry-after/retry-after.js";

/** What the header fields of one response are made from. */
export interface FieldFacts {
  /** One for each limit of the policy. */
  readonly readings: readonly Reading[];
  /** The limit with the fewest tokens left, which fields for a single limit show. */
  readonly shown: Reading;
  /** Milliseconds that a reset field tells: the wait when refused, otherwise until full, or until a token when none is left. */
  readonly resetMs: number;
  /** `resetMs` in whole seconds; when refused the same as `Retry-After`. */
  readonly resetSeconds: number;
  /** The limit that refused longest; null when the request was allowed. */
  readonly refusedBy: Reading | null;
  /** The wall clock, in milliseconds since 1970. */
  readonly wallClock: () => number;
  /** `;pk=:…:` or nothing. */
  readonly partition: string;
}

/** One header field: its name, and what it says under a policy. */
export interface Field {
  readonly name: string;
  /** The value where every answer under the policy has the same; otherwise what tells it, or null to leave the field out. */
  readonly under: (policy: Policy) => string | FieldValue;
}

/** The value of a field in one response; null leaves the field out. */
export type FieldValue = (facts: FieldFacts) => string | null;

/** How a vendor's reset field tells the time. */
export type ResetFormat = "delta-seconds" | "epoch-seconds" | "epoch-milliseconds" | "iso-8601" | "http-date";

/** A vendor's own field names. Name at least one. */
export interface VendorHeaders {
  /** Shows the capacity. */
  readonly limit?: string;
  /** Shows the whole tokens left. */
  readonly remaining?: string;
  /** Shows the tokens in use: the capacity less what remains. */
  readonly used?: string;
  /** Shows when the bucket is full, in `resetFormat`. */
  readonly reset?: string;
  /** The unit of `reset`. Required with it. */
  readonly resetFormat?: ResetFormat;
  /** Shows the wait in milliseconds, on 429 only. */
  readonly retryAfterMs?: string;
}

/** A family of header fields by the version that pins it, or a vendor's own names. */
export type HeaderStyle = "triple" | "draft-6" | "draft-7" | "draft-11" | "x-ratelimit" | VendorHeaders;

type Family = Extract<HeaderStyle, string>;

/** What a limit is called in header fields and problem documents: the policy's name, with the limit's own where there are several. */
export function labelOf(policy: Policy, limitName: string): string {
  return policy.limits.length === 1 ? policy.name : `${policy.name}:${limitName}`;
}

const TRIPLE: readonly Field[] = [
  { name: "RateLimit-Limit", under: () => ({ shown }) => String(shown.capacity) },
  { name: "RateLimit-Remaining", under: () => ({ shown }) => String(shown.remaining) },
  { name: "RateLimit-Reset", under: () => ({ resetSeconds }) => String(resetSeconds) },
];

const INTEGER_POLICY: Field = {
  name: "RateLimit-Policy",
  under: (policy) => policyField(policy, (limit) => String(limit.capacity)),
};

/** The families of the draft, as each version of draft-ietf-httpapi-ratelimit-headers spells them, and the one of habit. */
const FAMILIES: Readonly<Record<Family, readonly Field[] | VendorHeaders>> = {
  triple: TRIPLE,
  "draft-6": [...TRIPLE, INTEGER_POLICY],
  "draft-7": [
    {
      name: "RateLimit",
      under: () => ({ shown, resetSeconds }) => `limit=${shown.capacity}, remaining=${shown.remaining}, reset=${resetSeconds}`,
    },
    INTEGER_POLICY,
  ],
  "draft-11": [
    {
      name: "RateLimit-Policy",
      under: (policy) => policyField(policy, (limit) => `"${labelOf(policy, limit.name)}";q=${limit.capacity}`),
    },
    { name: "RateLimit", under: rateLimit },
  ],
  "x-ratelimit": {
    limit: "X-RateLimit-Limit",
    remaining: "X-RateLimit-Remaining",
    reset: "X-RateLimit-Reset",
    resetFormat: "epoch-seconds",
  },
};

/** The fields of one style. */
export function fieldsOf(style: HeaderStyle): readonly Field[] {
  const fields = typeof style === "string" ? FAMILIES[style] : style;
  return Array.isArray(fields) ? (fields as readonly Field[]) : vendorFields(fields as VendorHeaders);
}

// q and w are what a bucket gives in the time it takes to fill: a burst of q, and on average never more than the true rate.
function policyField(policy: Policy, quota: (limit: Limit) => string): string {
  return policy.limits.map((limit) => `${quota(limit)};w=${Math.max(1, Math.ceil(limit.fullMs / 1_000))}`).join(", ");
}

// When refused, only the limit that decides the wait is told, and its t is the wait (section 6: never before Retry-After).
function rateLimit(policy: Policy): FieldValue {
  const starts = policy.limits.map(({ name }) => `"${labelOf(policy, name)}";r=`);
  // By position: what somebody's own store calls a limit need not be fit for a header field.
  const item = (i: number, { remaining }: Reading, t: number): string => `${starts[i] ?? starts[0]}${remaining}${t === 0 ? "" : `;t=${t}`}`;
  return ({ readings, refusedBy, resetSeconds, partition }) => {
    if (refusedBy !== null) return item(readings.findIndex(({ limit }) => limit === refusedBy.limit), refusedBy, resetSeconds) + partition;
    let text = "";
    for (let i = 0; i < readings.length; i++) {
      const reading = readings[i] as Reading;
      text += `${text && ", "}${item(i, reading, Math.ceil(reading.nextTokenMs / 1_000))}${partition}`;
    }
    return text;
  };
}

const RESET: Readonly<Record<ResetFormat, (facts: FieldFacts) => string>> = {
  "delta-seconds": ({ resetSeconds }) => String(resetSeconds),
  "epoch-seconds": ({ wallClock, resetMs }) => String(Math.ceil((wallClock() + resetMs) / 1_000)),
  "epoch-milliseconds": ({ wallClock, resetMs }) => String(Math.ceil(wallClock() + resetMs)),
  "iso-8601": ({ wallClock, resetMs }) => new Date(Math.ceil(wallClock() + resetMs)).toISOString(),
  "http-date": ({ wallClock, resetMs }) => toHttpDate(wallClock() + resetMs),
};

/** Whether `format` is one that {@link VendorHeaders} knows. */
export function isResetFormat(format: unknown): format is ResetFormat {
  return typeof format === "string" && Object.hasOwn(RESET, format);
}

function vendorFields(names: VendorHeaders): readonly Field[] {
  const values: ReadonlyArray<readonly [string | undefined, FieldValue]> = [
    [names.limit, ({ shown }) => String(shown.capacity)],
    [names.remaining, ({ shown }) => String(shown.remaining)],
    [names.used, ({ shown }) => String(shown.capacity - shown.remaining)],
    [names.reset, RESET[names.resetFormat ?? "delta-seconds"]],
    [names.retryAfterMs, ({ refusedBy, resetMs }) => (refusedBy === null ? null : String(resetMs))],
  ];
  return values.flatMap(([name, value]) => (name === undefined ? [] : [{ name, under: () => value }]));
}
