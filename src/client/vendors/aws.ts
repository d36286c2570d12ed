import { decimal, headerOf } from "../../http/retry-after/retry-after.js";
import type { VendorHook } from "../reading/vendor.js";
import { sentMember } from "./members.js";

const STATUSES: readonly number[] = [400, 403, 429, 503];

// The codes that AWS's own SDKs treat as throttling.
const THROTTLING_CODES: readonly string[] = [
  "BandwidthLimitExceeded",
  "EC2ThrottledException",
  "LimitExceededException",
  "PriorRequestNotComplete",
  "ProvisionedThroughputExceededException",
  "RequestLimitExceeded",
  "RequestThrottled",
  "RequestThrottledException",
  "SlowDown",
  "ThrottledException",
  "Throttling",
  "ThrottlingException",
  "TooManyRequestsException",
  "TransactionInProgressException",
];

/**
 * Recognizes throttling by AWS, which has the status 400, 403, 429 or 503. For the option `vendor` of `createFetch`.
 *
 * Reads the error code in the field `x-amzn-errortype` or `x-amzn-query-error`, in `__type`, `code`, `Code` or
 * `Error.Code` of a JSON body, or in `<Code>` of an XML body. The codes are the ones that AWS's SDKs treat as
 * throttling, such as `ThrottlingException`, `SlowDown` and `ProvisionedThroughputExceededException`. Any other
 * response is as without it.
 *
 * The wait is `x-amz-retry-after`, in milliseconds, then the standard fields. AWS rarely names one; without one the
 * client backs off. Most of AWS's JSON APIs use `POST`: pass `retry: true` with a call that may be repeated.
 *
 * Source: `THROTTLING_ERROR_CODES` of smithy-typescript; the Smithy specification, "AWS restJson1 protocol" and "AWS
 * JSON 1.0 protocol", sections "Operation error serialization"; "Retry behavior" of the AWS SDKs and Tools Reference
 * Guide.
 * @example
 * const fetch = createFetch({ vendor: aws });
 * const object = await fetch("https://bucket.s3.eu-central-1.amazonaws.com/key");
 */
export const aws: { readonly refusal: VendorHook } = { refusal: awsRefusal };

function awsRefusal(response: Response, body: unknown): ReturnType<VendorHook> {
  const { status, headers } = response;
  if (!STATUSES.includes(status)) return undefined;
  const [, xmlCode] = /<Code>([\w.]{1,64})<\/Code>/.exec(typeof body === "string" ? body : "") ?? [];
  const fields = [headers.get("x-amzn-errortype"), headers.get("x-amzn-query-error")];
  const inner = sentMember(sentMember(body, "Error"), "Code");
  const members = [...["__type", "code", "Code"].map((name) => sentMember(body, name)), inner];
  if (![...fields, ...members, xmlCode].some(isThrottling)) return undefined;
  return { waitMs: decimal(headerOf(headers, "x-amz-retry-after"), 0) };
}

// A code may have a namespace before it and a URL or its sender behind it:
// com.amazonaws.sqs#RequestThrottled:http://...
function isThrottling(code: unknown): boolean {
  const [name = ""] = typeof code === "string" ? code.split(/[:;]/, 1) : [];
  return THROTTLING_CODES.includes(name.slice(name.indexOf("#") + 1));
}
