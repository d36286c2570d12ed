import { isPromise } from "../is-promise.js";
import { reportFailure, settleWithin } from "../user-functions.js";
import type { Responder } from "../verdict.js";

/** The part of Node's responses that tells how far they are. */
interface EndingResponse {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly destroyed?: boolean | undefined;
  readonly stream?: { readonly destroyed?: boolean | undefined } | undefined;
  once(event: "close", listener: () => void): unknown;
  destroy(): unknown;
}

/**
 * Calls the `respond` option and watches whether it ends the response. `call` gets a function that reports a failure.
 *
 * Calls `instead` when the option fails, or has sent nothing within its time. A response that has begun by then is
 * closed: nothing else can complete it.
 */
export function watchRespond(response: EndingResponse, { timeoutMs }: Responder, call: (fail: (error: unknown) => void) => unknown, instead: () => void): void {
  let hasFailed = false;
  try {
    const running = call(fail);
    if (response.writableEnded && !isPromise(running)) return;
    // Template engines answer in a callback, after the function has returned.
    const ended = Promise.resolve(running).then(() => (isOver() ? undefined : new Promise<void>((resolve) => response.once("close", resolve))));
    settleWithin("respond", ended, timeoutMs, "send a response").catch((error: unknown) => {
      // A slow client may still be reading a response that has ended.
      if (!(response.writableEnded && (error as { code?: unknown }).code === "ERR_FUNCTION_TIMEOUT")) fail(error);
    });
  } catch (error) {
    fail(error);
  }

  function fail(error: unknown): void {
    if (hasFailed) return;
    hasFailed = true;
    reportFailure("respond", error);
    try {
      if (!response.headersSent) instead();
      else if (!response.writableEnded) response.destroy();
    } catch {
      // A hook on the response fails for the standard document too.
      response.destroy();
    }
  }

  // HTTP/2 responses have no `destroyed` of their own.
  function isOver(): boolean {
    return response.writableEnded || response.destroyed === true || response.stream?.destroyed === true;
  }
}

/**
 * Makes a response ignore what is written to it from now on. A `respond` option that failed may go on in a callback of
 * its own, where an exception of Node's would end the process (law L17).
 */
export function ignoreLateWrites(response: object): void {
  const methods = ["setHeader", "setHeaders", "appendHeader", "removeHeader", "writeHead", "flushHeaders", "write", "end"];
  Object.assign(response, Object.fromEntries(methods.map((name) => [name, () => response])));
}
