import { warnOnce } from "../../warnings/warnings.js";
import { withoutContent, type FieldList } from "../headers/field.js";
import type { RequestReader } from "../reader.js";
import type { Pass, Refuse, Responder } from "../verdict.js";
import { EXPOSE, exposing } from "./cors.js";
import { onClose, type Connected } from "./disconnect.js";
import { recordOf } from "./field-record.js";
import { ignoreLateWrites, watchRespond } from "./respond-on-node.js";
import { boundUnreadBody } from "./unread-body.js";

/** The part of Node's HTTP/1 and HTTP/2 requests that a gate reads. */
export interface NodeRequest extends Connected {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The part of Node's HTTP/1 and HTTP/2 responses that a verdict is applied to. */
export interface NodeResponse {
  statusCode: number;
  readonly headersSent: boolean;
  readonly destroyed?: boolean | undefined;
  readonly stream?: { readonly destroyed?: boolean | undefined } | undefined;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  /** The value of a field that is set. */
  getHeader(name: string): unknown;
  /** The fields that are set, by name. */
  getHeaders(): Readonly<Record<string, unknown>>;
  /** Takes a field away. */
  removeHeader(name: string): unknown;
  /** Sets a field, in place of its earlier value. */
  setHeader(name: string, value: string): unknown;
  /** Sends the status and these fields, together with the fields that are set and have other names. */
  writeHead(status: number, fields: Readonly<Record<string, string>>): unknown;
  /** Sends the rest of the response. */
  end(body: string): unknown;
  /** Closes the connection, or the stream of an HTTP/2 connection. */
  destroy(): unknown;
  /** Calls `listener` when the response is over, complete or not. */
  once(event: "close", listener: () => void): unknown;
}

/** Reads Node's requests. */
export const nodeReader: RequestReader<NodeRequest> = {
  method: (request) => request.method ?? "GET",
  header: (request, name) => request.headers[name],
  onDisconnect: onClose,
};

/**
 * Sets the fields of an allowed request on a Node response, and settles it when the response closes. Call it before the
 * handler. A response with headers already sent gets no fields and one process warning.
 */
export function applyToNode(response: NodeResponse, verdict: Pass): void {
  const { fields, settle } = verdict;
  if (!response.headersSent) {
    setFields(response, fields);
    exposeOn(response, verdict);
  } else if (fields.length > 0) warnOfSentHeaders();
  if (settle === null) return;
  // A client may disconnect before its request is allowed; then "close" has been emitted already.
  if (isClosed(response)) return void settle({ status: response.statusCode, aborted: true });
  // "close" follows every response, once. `writableFinished` alone is also true for an HTTP/2 response that never
  // ended.
  response.once("close", () => {
    void settle({ status: response.statusCode, aborted: !(response.writableEnded && response.writableFinished) });
  });
}

// HTTP/2 responses have no `destroyed` of their own.
function isClosed({ destroyed, stream }: NodeResponse): boolean {
  return destroyed === true || stream?.destroyed === true;
}

/**
 * Sends a refusal on a Node response, by the `respond` option if there is one and `request` is given. Of a body that
 * was not read, at most 4 MB are discarded, for at most 1,000 ms; then the connection closes. A response with headers
 * already sent is only ended, with one process warning.
 */
export function refuseOnNode(response: NodeResponse, verdict: Refuse, request?: object): void {
  boundUnreadBody(response);
  if (response.headersSent) {
    warnOfSentHeaders();
    return void response.end("");
  }
  exposeOn(response, verdict);
  if (verdict.respond === null || request === undefined) sendRefusal(response, verdict);
  else respondOnNode(response, verdict, verdict.respond, request);
}

function sendRefusal(response: NodeResponse, verdict: Refuse): void {
  // One writeHead costs half as much as a setHeader for each field. Middleware that changes fields late hooks
  // writeHead.
  response.writeHead(verdict.status, recordOf(verdict.fields));
  response.end(verdict.body);
}

function respondOnNode(response: NodeResponse, verdict: Refuse, respond: Responder, request: object): void {
  const earlier = response.getHeaders();
  setFields(response, withoutContent(verdict.fields));
  response.statusCode = verdict.status;
  watchRespond(response, respond, call, sendStandard);

  function call(fail: (error: unknown) => void): unknown {
    // Express's `render` and `sendFile` report failures here. Without an error, `next` would open the gate.
    if ("next" in request) request.next = (error: unknown) => fail(error ?? new Error("Expected `respond` to send a response, got a call of `next`"));
    return respond.call(request, response);
  }

  function sendStandard(): void {
    for (const name of Object.keys(response.getHeaders())) response.removeHeader(name);
    for (const [name, value] of Object.entries(earlier)) response.setHeader(name, value as string);
    sendRefusal(response, verdict);
    ignoreLateWrites(response);
  }
}

function setFields(response: NodeResponse, fields: FieldList): void {
  for (let i = 0; i < fields.length; i += 2) response.setHeader(fields[i] as string, fields[i + 1] as string);
}

function exposeOn(response: NodeResponse, { expose }: Pass | Refuse): void {
  if (expose.length > 0) response.setHeader(EXPOSE, exposing(response.getHeader(EXPOSE), expose));
}

function warnOfSentHeaders(): void {
  warnOnce("SLUICE_HEADERS_SENT", "The headers of a response were sent before its rate limit was checked, so the RateLimit fields are missing. Mount the rate limit earlier");
}
