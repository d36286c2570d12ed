import { show } from "../../core/check.js";
import { isPromise, reportFailure, settleWithin } from "../../http/user-functions.js";
import type { FieldList } from "../../http/headers/field.js";
import type { RefuseVerdict, Responder } from "../../http/response/verdict.js";
import { bareRedirect } from "./bare-redirect.js";
import { recordOf } from "../../http/response/field-record.js";

/** The part of Node's responses that shows their progress and sends the standard document. */
interface EndingResponse {
  readonly statusCode: number;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly destroyed?: boolean | undefined;
  readonly stream?: { readonly destroyed?: boolean | undefined } | undefined;
  getHeader(name: string): unknown;
  getHeaders(): Readonly<Record<string, unknown>>;
  removeHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, ...rest: unknown[]): unknown;
  write?(...rest: unknown[]): unknown;
  end(...rest: unknown[]): unknown;
  once(event: "close", listener: () => void): unknown;
  destroy(): unknown;
}

/**
 * Calls the `respond` option and watches whether it ends the response. `call` gets a function that reports a failure.
 *
 * Sends the standard document with the `earlier` fields when the option fails or sends nothing before its timeout. A
 * response that has begun but not ended is closed, because no other code can complete it. A redirect loses the fields
 * of limits: those of the refusal, and `told`, those of the limits so far.
 */
export function watchRespond(
  response: EndingResponse,
  { status, fields, body, respond }: RefuseVerdict,
  told: FieldList,
  earlier: object,
  call: (fail: (error: unknown) => void) => unknown,
): void {
  const { name, timeoutMs } = respond as Responder;
  let hasFailed = false;
  const { writeHead, write, end } = response;
  Object.assign(response, {
    writeHead(sent: number, ...rest: unknown[]) {
      if (isUnsendable(sent)) return response;
      bareRedirect(sent, [...told, ...fields], response, rest.at(-1));
      return writeHead.call(response, sent, ...rest);
    },
    write: (...rest: unknown[]) => isUnsendable(response.statusCode) || write?.apply(response, rest),
    end(...rest: unknown[]) {
      if (isUnsendable(response.statusCode)) return response;
      end.apply(response, rest);
      // Frameworks delay a response while their hooks run. A second response would end the process after the hooks (law
      // L17), so later writes are ignored.
      if (response.writableEnded) ignoreLateWrites(response);
      return response;
    },
  });
  try {
    const running = call(fail);
    if (response.writableEnded && !isPromise(running)) return;
    // Template engines answer in a callback, after the function has returned.
    const closed = (): Promise<void> => new Promise((resolve) => response.once("close", resolve));
    const ended = Promise.resolve(running).then(() => (isOver() ? undefined : closed()));
    settleWithin(name, ended, timeoutMs, "send a response").catch((error: unknown) => {
      // A response that has ended may still be on its way to a slow client. That is no failure.
      if (!(response.writableEnded && (error as { code?: unknown }).code === "ERR_FUNCTION_TIMEOUT")) fail(error);
    });
  } catch (error) {
    fail(error);
  }

  // After a 1xx the client waits for another response. Node throws for a number that is no status, which would end the
  // process in a callback.
  function isUnsendable(sent: number): boolean {
    if (response.headersSent || (sent >= 200 && sent <= 999)) return false;
    fail(new RangeError(`Expected \`${name}\` to send a status from 200 to 999, got ${show(sent)}`));
    return true;
  }

  function fail(error: unknown): void {
    if (hasFailed) return;
    hasFailed = true;
    reportFailure(name, error);
    try {
      if (!response.headersSent) sendStandard();
      else if (!response.writableEnded) response.destroy();
    } catch {
      // A hook on the response also failed for the standard document.
      response.destroy();
    }
    // The option may continue in a callback. An exception of Node's in it would end the process.
    ignoreLateWrites(response);
  }

  function sendStandard(): void {
    for (const name of Object.keys(response.getHeaders())) response.removeHeader(name);
    for (const [name, value] of Object.entries(earlier)) response.setHeader(name, value as string);
    // HTTP/2 has no status message, and Node warns at every use.
    delete (response as { statusMessage?: string }).statusMessage;
    response.writeHead(status, recordOf(fields));
    response.end(body);
  }

  // HTTP/2 responses have no `destroyed`.
  function isOver(): boolean {
    return response.writableEnded || response.destroyed === true || response.stream?.destroyed === true;
  }
}

/** Makes a response ignore all later writes. */
function ignoreLateWrites(response: object): void {
  const methods = ["setHeader", "setHeaders", "appendHeader", "removeHeader", "writeHead", "flushHeaders", "write", "end"];
  Object.assign(response, Object.fromEntries(methods.map((name) => [name, () => response])));
}
