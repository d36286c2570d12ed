import type { Work } from "../../http/response/work.js";
import { connectionOf, onClose, type Closable, type Connected } from "./disconnect.js";

/** The part of Node's HTTP/1 and HTTP/2 responses that shows when they end. */
export interface ClosingResponse {
  readonly statusCode: number;
  readonly writableEnded: boolean;
  readonly writableFinished: boolean;
  readonly destroyed?: boolean | undefined;
  /** The request, with its connection. */
  readonly req?: { readonly socket?: Closable | null | undefined } | undefined;
  /** The connection of HTTP/1. Null while the response waits behind earlier ones. */
  readonly socket?: object | null | undefined;
  /** The stream of an HTTP/2 response, with its connection. */
  readonly stream?: (Closable & { readonly session?: Closable | undefined }) | undefined;
  /** Sends the rest of the response. */
  end(body: string): unknown;
  /** Calls `listener` when the response has ended, complete or not; "finish" when its last byte was handed over. */
  once(event: "close" | "finish", listener: () => void): unknown;
}

/** A connection, and the response that Node writes to it now. Only this name tells it. */
interface Writing {
  readonly _httpMessage?: object | null;
}

/**
 * Ends the work of a request when its response or its connection has closed.
 *
 * When a client leaves, Node closes only the response that is being written to the connection. Those that wait behind
 * it get no event, nor do those without a connection, such as the ones of express-ws.
 */
export function endOnClose(work: Work, response: ClosingResponse): void {
  work.answer?.(response);
  const { req, socket, stream } = response;
  const request: Connected = stream === undefined ? (req ?? {}) : { stream };
  const connection = connectionOf(request);
  const client: Connected = stream === undefined ? request : { socket: stream.session };
  let stop: (() => void) | null = null;
  const end = (isSent = isComplete(response)): void => {
    stop?.();
    const settled = work.end({ status: isSent ? response.statusCode : 499, aborted: !isSent });
    if (isSent && work.holds && settled !== undefined) leaveWith(client, work, settled);
  };
  // After "close" it is not emitted again: the client left before its request was allowed, or the report came late.
  if (isComplete(response) || (stream ?? response).destroyed === true || connection?.destroyed === true) return end();
  response.once("close", () => end()); // follows every response of a server, once
  stop = onClose(request, end);
  // A response that waits for its turn, or has no connection of Node's server: of `inject`, or of a platform's shim.
  if (stream === undefined && (connection === undefined || socket !== connection)) {
    endWithoutSocket(response, connection as Writing | undefined, () => end(true));
  }
}

/** Tokens in flight may wait for a handler that goes on after its response. Not for long when its client is gone. */
function leaveWith(client: Connected, work: Work, settled: Promise<void>): void {
  const stop = onClose(client, () => work.clientLeft());
  void settled.then(stop);
}

/** Ends the work of a request that has no response of Node, such as an upgrade, when its connection has closed. */
export function endWithConnection(work: Work, request: Connected): void {
  onClose(request, () => void work.end({ status: 499, aborted: true }));
}

// `writableFinished` is also true for an HTTP/2 response that never ended.
function isComplete({ writableEnded, writableFinished }: ClosingResponse): boolean {
  return writableEnded && writableFinished;
}

/** Calls `end` when a response is sent that no server closes. */
function endWithoutSocket(response: ClosingResponse, connection: Writing | undefined, end: () => void): void {
  response.once("finish", end);
  if (response.socket) return;
  const { end: send } = response;
  Object.assign(response, {
    end(...args: [string]): unknown {
      const sent = send.apply(response, args);
      // While another response is written to the connection, this one waits: it is sent later, or closes with it.
      if (!response.socket && !connection?._httpMessage) end();
      return sent;
    },
  });
}
