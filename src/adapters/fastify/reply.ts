import { withoutContent, type FieldList } from "../../http/headers/field.js";
import { isPromise } from "../../http/user-functions.js";
import type { Refuse, Responder } from "../../http/verdict.js";
import { toJson } from "../../http/response/own-answer.js";
import { fieldsSoFar } from "../../http/response/decisions.js";
import { refuseOnNode } from "../node/response.js";
import { exposeOnReply, type FieldReply } from "./reply-fields.js";
import { takeResponse } from "../web/sendable.js";
import { watchRespond } from "../node/watch-respond.js";
import { boundUnreadBody } from "../node/unread-body.js";

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
export function refuseOnReply(reply: SendingReply, verdict: Refuse): void {
  // `send` throws when the headers were already sent.
  if (reply.raw.headersSent) return refuseOnNode(reply.hijack().raw, verdict);
  exposeOnReply(reply, verdict);
  boundUnreadBody(reply.raw);
  if (verdict.respond === null) sendOnReply(reply, verdict);
  else respondOnReply(reply, verdict, verdict.respond);
}

function sendOnReply(reply: SendingReply, verdict: Refuse): void {
  setOnReply(reply, verdict.fields);
  reply.code(verdict.status);
  void reply.send(verdict.body);
}

function setOnReply(reply: SendingReply, fields: FieldList): void {
  for (let i = 0; i < fields.length; i += 2) reply.header(fields[i] as string, fields[i + 1]);
}

function respondOnReply(reply: SendingReply, verdict: Refuse, respond: Responder): void {
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
