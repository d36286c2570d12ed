/**
 * The HTTP side of rate limiting without a framework: the gate, the header styles, and functions that put a verdict on
 * a response. For authors of adapters, and for header styles other than the default.
 * @module sluice/http
 */
export { type MaybeKey, type MaybeKeyPart } from "./caller.js";
export { decisionOf, decisionsOf } from "./decisions.js";
export { createGate, type Gate } from "./gate.js";
export { type FieldList, type HeaderFamily } from "./headers/field.js";
export { draftPr166 } from "./headers/draft-pr-166.js";
export { draft6, draft7, vendorHeaders, xRateLimit, type ResetFormat, type VendorHeaders } from "./headers/other-styles.js";
export { createHeaderWriter, type HeaderStyle, type HeaderWriter } from "./headers/writer.js";
export { type AnyRespond, type BelongsToCharge, type BelongsToLimiter, type GateCharge, type GateOptions, type GivenLimiter, type Misplaced, type OneCharge, type OwnLimiter, type RequestWaiter, type RespondOption, type SeveralCharges, type SharedOptions, type Tier } from "./options/options.js";
export { type RequestReader } from "./reader.js";
export { type Refusal, type OwnBody } from "./refusal/own-answer.js";
export { type Problem } from "./refusal/problem.js";
export { fieldRecord } from "./responses/field-record.js";
export { type Closable } from "./responses/disconnect.js";
export { applyToNode, nodeReader, refuseOnNode, type NodeRequest, type NodeResponse } from "./responses/node.js";
export { boundUnreadBody } from "./responses/unread-body.js";
export { applyToResponse, refusalResponse, respondOnWeb, webReader } from "./responses/web.js";
export { retryAfterSeconds, toHttpDate, toRetryAfter } from "./retry-after/retry-after.js";
export { type Outcome, type Pass, type Refuse, type Responder, type Skip, type Verdict } from "./verdict.js";
