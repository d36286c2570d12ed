/**
 * What HTTP says, without a framework: the gate, header fields, `Retry-After` and problem documents. For adapters' authors.
 * @module sluice/http
 */
export { exposing } from "./responses/cors.js";
export { type Field, type FieldFacts, type FieldValue, type HeaderStyle, type ResetFormat, type VendorHeaders } from "./headers/fields.js";
export { createGate, isPromise, shareStore, type Gate, type Pass, type Refuse, type RequestReader, type Skip, type Verdict } from "./gate.js";
export { createHeaderWriter, type FieldList, type HeaderWriter } from "./headers/writer.js";
export { type GateOptions, type GivenLimiter, type MaybeKey, type Outcome, type OwnLimiter, type SharedOptions } from "./options.js";
export { nodeReader, applyToNode, refuseOnNode, type NodeRequest, type NodeResponse } from "./responses/node.js";
export { applyToHeaders, refusalHeaders, webReader, applyToResponse } from "./responses/web.js";
export { type Problem } from "./refusal/problem.js";
export { failure } from "./refusal/refusal.js";
export { LIMITER_OPTIONS } from "../limiter/options.js";
export { toHttpDate, toRetryAfter } from "./retry-after/retry-after.js";
