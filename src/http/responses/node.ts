import { EXPOSE, exposing } from "./cors.js";
import type { Pass, Refuse, RequestReader } from "../gate.js";
import { lowerCase, recordOf } from "./lower-case.js";
import { warnOnce } from "../../diagnostics/warnings.js";

/** The part of Node's requests, of HTTP/1 and HTTP/2 alike, that a gate reads. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The part of Node's responses, of HTTP/1 and HTTP/2 alike, that carries a verdict. */
export interface NodeResponse {
  statusCode: number;
  readonly headersSent: boolean;
  readonly destroyed?: boolean;
  readonly stream?: { readonly destroyed?: boolean };
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  /** The field's value so far. */
  getHeader(name: string): unknown;
  /** Sets a field, and replaces what it was. */
  setHeader(name: string, value: string): unknown;
  /** Sets the status and fields at once, over those that were set, and is done with the head. */
  writeHead(status: number, fields: Readonly<Record<string, string>>): unknown;
  /** Sends the response. */
  end(body: string): unknown;
  /** Calls back when the response is over, finished or not. */
  once(event: "close", listener: () => void): unknown;
}

/** Reads Node's requests. */
export const nodeReader: RequestReader<NodeRequest> = {
  method: (request) => request.method ?? "GET",
  header: (request, name) => request.headers[name],
};

/** Puts an allowed request's fields on a Node response before its first byte, and waits for its end where somebody asked to know. */
export function applyToNode(response: NodeResponse, verdict: Pass): void {
  const { fields, settle } = verdict;
  // Once the head is sent it is too late for fields, and no reason to fail a request.
  if (!response.headersSent) {
    for (let i = 0; i < fields.length; i += 2) response.setHeader(lowerCase(fields[i] as string), fields[i + 1] as string);
    exposeOn(response, verdict);
  } else if (fields.length > 0) warnOfSentHead();
  if (settle === null) return;
  // A client may be gone before it is allowed, and "close" with it.
  if (isClosed(response)) return void settle({ status: response.statusCode, aborted: true });
  // "close" follows every response, finished or not, once. HTTP/2 calls a response finished that was never ended.
  response.once("close", () => {
    void settle({ status: response.statusCode, aborted: !(response.writableEnded && response.writableFinished) });
  });
}

// HTTP/2's responses leave it to their stream to say so.
function isClosed({ destroyed, stream }: NodeResponse): boolean {
  return destroyed === true || stream?.destroyed === true;
}

/**
 * Sends a refusal on a Node response. The request's body stays unread: Node throws away what is left of it. A response
 * whose head is sent already is only ended, since no handler will.
 */
export function refuseOnNode(response: NodeResponse, verdict: Refuse): void {
  if (response.headersSent) {
    warnOfSentHead();
    return void response.end("");
  }
  exposeOn(response, verdict);
  // All at once they cost half of what they cost one by one. Who would still change a field hooks writeHead, as on-headers does.
  response.writeHead(verdict.status, recordOf(verdict.fields));
  response.end(verdict.body);
}

function exposeOn(response: NodeResponse, { expose }: Pass | Refuse): void {
  if (expose.length > 0) response.setHeader(EXPOSE, exposing(response.getHeader(EXPOSE), expose));
}

function warnOfSentHead(): void {
  warnOnce("SLUICE_HEADERS_SENT", "The head of a response was sent before its rate limit was known: the answer says nothing of it");
}
