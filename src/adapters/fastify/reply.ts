import { withoutContent, type FieldList } from "../../http/headers/field.js";
import { isPromise } from "../../http/user-functions.js";
import type { PassVerdict, RefuseVerdict, Responder } from "../../http/response/verdict.js";
import { toJson } from "../../http/response/refusal.js";
import { fieldsSoFar } from "../../http/response/decisions.js";
import { applyToNode, refuseOnNode, type NodeResponse } from "../node/response.js";
import { takeResponse } from "../web/sendable.js";
import { watchRespond } from "../node/watch-respond.js";
import { boundUnreadBody } from "../node/unread-body.js";
import { asError, reportFailure } from "../../http/user-functions.js";
import { EXPOSE, exposing } from "../../http/response/field-record.js";
import { endOnClose } from "../node/end-of-work.js";

/** The part of Fastify's replies that a refusal needs. Only `send` sends, after hooks that may be asynchronous. */
interface SendingReply extends FieldReply {
  readonly request: object;
  hijack(): SendingReply;
  code(status: number): unknown;
  header(name: string, value: unknown): unknown;
  getHeaders(): object;
  send(payload?: unknown): unknown;
}

/** Sends a refusal on a reply without calling the error handler. Uses the `respond` option if there is one. */
export function refuseOnReply(reply: SendingReply, verdict: RefuseVerdict): void {
  // `send` throws when the headers were already sent.
  if (reply.raw.headersSent) return refuseOnNode(reply.hijack().raw, verdict);
  exposeOnReply(reply, verdict);
  boundUnreadBody(reply.raw);
  if (verdict.respond === null) sendOnReply(reply, verdict);
  else respondOnReply(reply, verdict, verdict.respond);
}

function sendOnReply(reply: SendingReply, verdict: RefuseVerdict): void {
  setOnReply(reply, verdict.fields);
  reply.code(verdict.status);
  void reply.send(verdict.body);
}

function setOnReply(reply: SendingReply, fields: FieldList): void {
  for (let i = 0; i < fields.length; i += 2) reply.header(fields[i] as string, fields[i + 1]);
}

function respondOnReply(reply: SendingReply, verdict: RefuseVerdict, respond: Responder): void {
  const earlier = reply.getHeaders();
  setOnReply(reply, withoutContent(verdict.fields));
  // Not set with `reply.code`, because `redirect` would then send this status.
  reply.raw.statusCode = verdict.status;
  const { send } = reply;
  // Fastify sends a Response after its `onSend` hooks. An exception would then go to the error handler.
  const checked = (payload?: unknown): unknown => send.call(reply, isWebResponse(payload) ? takeResponse(payload) : payload);
  Object.assign(reply, { send: checked });
  watchRespond(reply.raw, verdict, fieldsSoFar(reply.request), earlier, () => {
    const answer = respond.call(reply.request, reply);
    // A reply has `then`: it is a promise of its end.
    return isPromise(answer) && (answer as unknown) !== reply ? answer.then(sendResult) : sendResult(answer);
  });

  // `respond` may return the payload, like a handler.
  function sendResult(payload: unknown): void {
    if (payload === undefined || payload === reply) return;
    const json = toJson(payload); // throws for an object that JSON cannot hold, and so does not reach the error handler
    if (json !== null) reply.header("content-type", "application/json");
    reply.send(json ?? payload);
  }
}

// As Fastify recognizes it.
function isWebResponse(payload: unknown): boolean {
  return Object.prototype.toString.call(payload) === "[object Response]";
}

/** The part of Fastify's replies that an allowed request needs. */
interface FieldReply {
  readonly raw: NodeResponse;
  /** Returns the value of a field of this reply, or of its raw response. */
  getHeader(name: string): unknown;
  header(name: string, value: unknown): unknown;
}

/** A response with a `writeHead` that can be hooked. */
interface RawResponse extends NodeResponse {
  writeHead(...args: unknown[]): unknown;
}

/**
 * Sets the fields of an allowed request on a Fastify reply, and ends its work when the response closes. Call it before
 * the handler.
 *
 * The fields are also sent when a handler writes to `reply.raw`, unless the handler sets or removes them.
 */
export function applyToReply(reply: FieldReply, verdict: PassVerdict): void {
  const { fields, work } = verdict;
  if (reply.raw.headersSent) return applyToNode(reply.raw, verdict);
  // First, because a hook on the reply may fail for a field.
  work.whenSettles(endOnClose, reply.raw);
  exposeOnReply(reply, verdict);
  if (fields.length > 0) {
    // Do not set fields on the raw response: Fastify's `writeHead` would then take Node's slow path for each field.
    for (let i = 0; i < fields.length; i += 2) reply.header(fields[i] as string, fields[i + 1]);
    keepForRaw(reply, fields);
  }
}

/** Adds the names to expose to those of CORS middleware on a Fastify reply. */
function exposeOnReply(reply: FieldReply, { expose }: PassVerdict | RefuseVerdict): void {
  if (expose.length > 0) reply.header(EXPOSE, exposing(reply.getHeader(EXPOSE), expose));
}

// Node also calls `writeHead` for a head that the handler does not write itself. An earlier limit may have hooked it
// already.
function keepForRaw(reply: FieldReply, fields: FieldList): void {
  const raw = reply.raw as RawResponse;
  const { writeHead } = raw;
  raw.writeHead = (...args: unknown[]) => {
    try {
      if (!raw.headersSent) addMissing(reply, fields, typeof args[1] === "string" ? args[2] : args[1]);
    } catch (error) {
      // A hook on `setHeader` failed. Fastify calls `writeHead` for its last error page, too, and does not catch what
      // it throws: the response would stay open and the process would end (law L17).
      reportFailure("setHeader", error);
    }
    try {
      return writeHead.apply(raw, args);
    } catch (error) {
      // Fastify reads the `code` of what is thrown here, so `undefined` would end the process, too.
      throw asError(error, "writeHead");
    }
  };
}

function addMissing(reply: FieldReply, fields: FieldList, given: unknown): void {
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    // Fastify's call already has all fields.
    if ((given as Readonly<Record<string, unknown>> | undefined)?.[name] !== undefined) continue;
    // The handler may have changed or removed the field.
    const value = reply.getHeader(name);
    if (value !== undefined && reply.raw.getHeader(name) === undefined) reply.raw.setHeader(name, value as string);
  }
}
