import { withoutContent } from "../../http/headers/field.js";
import { EXPOSE, exposing } from "../../http/response/field-record.js";
import { toRefusal } from "../../http/response/refusal.js";
import type { RefuseVerdict, Verdict } from "../../http/response/verdict.js";
import { applyToReply, refuseOnReply } from "../fastify/reply.js";
import { endWithConnection } from "../node/end-of-work.js";
import { failRequest } from "../node/fail-request.js";
import { applyToNode, refuseOnNode, type NodeRequest, type NodeResponse } from "../node/response.js";
import { boundUnreadBody } from "../node/unread-body.js";
import { RateLimitException } from "./exception.js";

/** Fastify's reply. */
type FastifyReply = Parameters<typeof refuseOnReply>[0] & Parameters<typeof applyToReply>[0];

/** Express's response. */
interface ExpressResponse extends NodeResponse {
  json?(body: unknown): unknown;
}

/** The request and the response of one call of a handler. */
export interface Exchange {
  readonly request: NodeRequest & { readonly raw?: NodeRequest; next?(error: Error): unknown };
  /** Express's response, or Fastify's reply. Undefined if only the request is known. */
  readonly response: unknown;
  /** Whether Nest answers over HTTP, and not for GraphQL. */
  readonly isHttp: boolean;
}

/**
 * Carries out a verdict. Throws a {@link RateLimitException} for a refusal. Where `respond` answers, it returns a
 * promise that stays pending, so that neither the handler nor an exception filter sends a second response.
 */
export function answerInNest(verdict: Verdict, { request, response, isHttp }: Exchange): true | Promise<never> {
  if (verdict.outcome === "skip") return true;
  const reply = isReply(response) ? response : null;
  const raw = reply === null ? (response as ExpressResponse | undefined) : reply.raw;
  if (verdict.outcome === "pass") {
    if (raw === undefined) verdict.work.whenSettles(endWithConnection, request.raw ?? request);
    else if (reply === null) applyToNode(raw, verdict);
    else applyToReply(reply, verdict);
    return true;
  }
  if (raw !== undefined && isHttp && (verdict.respond !== null || raw.headersSent)) {
    if (reply === null) refuseOnNode(raw, verdict, request);
    else refuseOnReply(reply, verdict);
    return new Promise<never>(() => {});
  }
  const exception = new RateLimitException(toRefusal(verdict.body, verdict.decision));
  if (raw !== undefined && !raw.headersSent) {
    setRefusal(reply ?? raw, verdict);
    if (isHttp) boundUnreadBody(raw);
    if (isHttp) sendAsProblem(reply ?? raw, verdict, exception.getResponse(), request);
  }
  throw exception;
}

function isReply(response: unknown): response is FastifyReply {
  return (Object(response) as Partial<FastifyReply>).raw !== undefined;
}

/** Sets all fields but those of the body, which a filter may write. */
function setRefusal(response: FastifyReply | ExpressResponse, { fields, expose }: RefuseVerdict): void {
  const set = (name: string, value: string): unknown =>
    "raw" in response ? response.header(name, value) : response.setHeader(name, value);
  const told = withoutContent(fields);
  for (let i = 0; i < told.length; i += 2) set(told[i] as string, told[i + 1] as string);
  if (expose.length > 0) set(EXPOSE, exposing(response.getHeader(EXPOSE), expose));
}

/**
 * Sends the standard document as `application/problem+json`. Nest and filters call `json` of Express or `send` of Fastify
 * with any body, and both would give the document the type of JSON.
 */
function sendAsProblem(
  response: FastifyReply | ExpressResponse, { fields, body }: RefuseVerdict, document: unknown, request: Exchange["request"],
): void {
  const type = fields[fields.lastIndexOf("content-type") + 1] as string;
  if ("raw" in response) {
    const { send } = response;
    Object.assign(response, {
      send(payload?: unknown): unknown {
        if (payload !== document) return send.call(response, payload);
        response.header("content-type", type);
        return send.call(response, new TextEncoder().encode(body)); // to the type of a text, Fastify adds a charset
      },
    });
    return;
  }
  const { json } = response;
  Object.assign(response, {
    json(payload: unknown): unknown {
      if (payload !== document) return json?.call(response, payload);
      try {
        response.setHeader("content-type", type);
        response.setHeader("content-length", String(body.length));
        return response.end(body);
      } catch (error) {
        // Express 4 awaits no handler: a hook on the response that throws would end the process.
        return failRequest(error, response, (cause) => request.next?.(cause));
      }
    },
  });
}
