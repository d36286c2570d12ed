import { warnOnce } from "../../warnings/warnings.js";
import { withoutContent, type FieldList } from "../../http/headers/field.js";
import type { RequestReader } from "../../http/reader.js";
import { checkVerdict } from "../../http/response/track-work.js";
import type { PassVerdict, RefuseVerdict, Responder, Verdict } from "../../http/response/verdict.js";
import { isPromise } from "../../http/user-functions.js";
import { toJson } from "../../http/response/refusal.js";
import { fieldsSoFar } from "../../http/response/decisions.js";
import { recordOf, EXPOSE, exposing } from "../../http/response/field-record.js";
import { onClose, type Closable } from "./disconnect.js";
import { endOnClose, type ClosingResponse } from "./end-of-work.js";
import { watchRespond } from "./watch-respond.js";
import { boundUnreadBody } from "./unread-body.js";

/** The part of Node's HTTP/1 and HTTP/2 requests that a gate reads. */
export interface NodeRequest {
  readonly socket?: Closable | null | undefined;
  /** The stream of an HTTP/2 request. */
  readonly stream?: Closable | null | undefined;
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The part of Node's HTTP/1 and HTTP/2 responses that a gate writes to. */
export interface NodeResponse extends ClosingResponse {
  statusCode: number;
  readonly headersSent: boolean;
  /** Returns the value of a field that is set. */
  getHeader(name: string): unknown;
  /** Returns all fields that are set, by name. */
  getHeaders(): Readonly<Record<string, unknown>>;
  /** Removes a field. */
  removeHeader(name: string): unknown;
  /** Sets a field and replaces its earlier value. */
  setHeader(name: string, value: string): unknown;
  /** Sends the status, these fields, and the fields set before under other names. */
  writeHead(status: number, fields: Readonly<Record<string, string>>): unknown;
  /** Closes the connection, or the stream of an HTTP/2 connection. */
  destroy(): unknown;
}

/** Reads Node's requests. */
export const nodeReader: Required<Omit<RequestReader<NodeRequest>, "adapter">> = {
  method: (request) => request.method ?? "GET",
  header: (request, name) => request.headers[name],
  onDisconnect: onClose,
};

/**
 * Carries out a verdict on a Node response. Call the handler afterwards, unless the verdict is a refusal.
 *
 * A refusal is sent whole: what the options `respond` and `unidentified` answer, or the problem document. `request` is
 * the object that the gate got. An unread request body is discarded: at most 4 MB, for at most 1,000 ms. Then the
 * connection is closed. An allowed request gets the fields, and its work ends when the response or the connection has
 * closed. Where the headers were already sent, there are no fields, and one process warning.
 * @example
 * const verdict = await gate(request);
 * answerOnNode(verdict, request, response);
 * if (verdict.outcome !== "refuse") response.end("hello");
 */
export function answerOnNode(verdict: Verdict, request: object, response: NodeResponse): void {
  checkVerdict(verdict);
  if (verdict.outcome === "refuse") refuseOnNode(response, verdict, request);
  else if (verdict.outcome === "pass") applyToNode(response, verdict);
}

/**
 * Sets the fields of an allowed request on a Node response, and ends its work when the response closes. Call it before
 * the handler. A response with headers already sent gets no fields and one process warning.
 */
export function applyToNode(response: NodeResponse, verdict: PassVerdict): void {
  const { fields, work } = verdict;
  // First, because a hook on the response may fail for a field.
  work.whenSettles(endOnClose, response);
  if (!response.headersSent) {
    setFields(response, fields);
    if (verdict.expose.length > 0) exposeOn(response, verdict);
  } else if (fields.length > 0) warnOfSentHeaders();
}

/**
 * Sends a refusal on a Node response. Uses the `respond` option if there is one and `request` is given. Reads and
 * discards an unread request body: at most 4 MB, for at most 1,000 ms. Then it closes the connection. If the headers
 * were already sent, it only ends the response and warns once in the process.
 */
export function refuseOnNode(response: NodeResponse, verdict: RefuseVerdict, request?: object): void {
  boundUnreadBody(response);
  if (response.headersSent) {
    warnOfSentHeaders();
    return void response.end("");
  }
  if (verdict.expose.length > 0) exposeOn(response, verdict);
  if (verdict.respond === null || request === undefined) sendRefusal(response, verdict);
  else respondOnNode(response, verdict, verdict.respond, request);
}

function sendRefusal(response: NodeResponse, verdict: RefuseVerdict): void {
  // One writeHead costs half as much as a setHeader for each field. Middleware such as on-headers hooks writeHead to
  // change fields late.
  response.writeHead(verdict.status, recordOf(verdict.fields));
  // The document is ASCII, and Node writes head and body as one text: as UTF-8 it would look at each character.
  (response as AsciiResponse).end(verdict.body, "latin1");
}

interface AsciiResponse {
  end(body: string, encoding: "latin1"): unknown;
}

function respondOnNode(response: NodeResponse, verdict: RefuseVerdict, respond: Responder, request: object): void {
  const earlier = response.getHeaders();
  setFields(response, withoutContent(verdict.fields));
  response.statusCode = verdict.status;
  watchRespond(response, verdict, fieldsSoFar(request), earlier, (fail) => {
    // Express's `render` and `sendFile` report failures through `next`. A call of the real `next` without an error
    // would run the handler.
    if ("next" in request) {
      request.next = (error: unknown) => fail(error ?? new Error("Expected `respond` to send a response, got a call of `next`"));
    }
    const answer = respond.call(request, response);
    return isPromise(answer) ? answer.then((later) => sendJson(response, later)) : sendJson(response, answer);
  });
}

// An object literal is sent as JSON, unless the function has sent a response by itself.
function sendJson(response: NodeResponse, answer: unknown): void {
  const text = response.headersSent ? null : toJson(answer);
  if (text === null) return;
  response.setHeader("content-type", "application/json");
  response.end(text);
}

function setFields(response: NodeResponse, fields: FieldList): void {
  for (let i = 0; i < fields.length; i += 2) response.setHeader(fields[i] as string, fields[i + 1] as string);
}

function exposeOn(response: NodeResponse, { expose }: PassVerdict | RefuseVerdict): void {
  response.setHeader(EXPOSE, exposing(response.getHeader(EXPOSE), expose));
}

function warnOfSentHeaders(): void {
  warnOnce(
    "SLUICE_HEADERS_SENT",
    "The headers of a response were sent before its rate limit was checked, so the RateLimit fields are missing. " +
    "Mount the rate limit earlier",
  );
}
