/**
 * What HTTP says, without a framework: the gate, header fields, `Retry-After` and problem documents. For adapters' authors.
 * @module sluice/http
 */
export { exposing } from "./expose.js";
export { type Field, type FieldFacts, type FieldValue, type HeaderStyle, type ResetFormat, type VendorHeaders } from "./fields.js";
export { createGate, isPromise, shareStore, type Gate, type Pass, type Refuse, type RequestReader, type Skip, type Verdict } from "./gate.js";
export { makeHeaderWriter, type FieldList, type HeaderWriter } from "./headers.js";
export { type GateOptions, type GivenLimiter, type MaybeKey, type Outcome, type OwnLimiter, type SharedOptions } from "./options.js";
export { nodeReader, passOnNode, refuseOnNode, type NodeRequest, type NodeResponse } from "./on-node.js";
export { passOnHeaders, refusalHeaders, webReader, withFields } from "./on-web.js";
export { type Problem } from "./problem.js";
export { failure } from "./refusal.js";
export { LIMITER_OPTIONS } from "../limiter/options.js";
export { toHttpDate, toRetryAfter } from "./retry-after.js";
