import { ownMembers } from "../../core/check.js";
import type { Work } from "../../http/response/work.js";
import { onSignalAbort } from "./response.js";

/** The request whose work ends. */
export interface WorkingRequest {
  readonly method: string;
  /** Aborted when the client left. */
  readonly signal: AbortSignal | null | undefined;
  /** Keeps the process alive until the promise settles. */
  waitUntil(settled: Promise<void>): void;
  /** Removes the listener of {@link endOnAbort}: a signal may live longer than its request. */
  stop?: (() => void) | undefined;
}

/** Ends the work when the client leaves, if there is something to settle by then. Call it before the handler. */
export function endOnAbort(work: Work, request: WorkingRequest): void {
  work.whenSettles(hearSignal, request);
}

function hearSignal(work: Work, request: WorkingRequest): void {
  const { signal } = request;
  if (!signal || signal.aborted) return;
  // After the other listeners: those of the handler may report what the work has cost so far.
  request.stop = onSignalAbort(signal, () => void Promise.resolve().then(() => endNow(work, 499, request)));
}

/**
 * Returns the response of a handler, and ends the work when its body was read, cancelled or failed. The body is wrapped
 * only if there is something to settle by now. A cost that is reported later is settled at once.
 *
 * While no reader has begun to read the body, tokens in flight are not renewed: middleware outside of this one may have
 * dropped the response.
 */
export function endWithBody(work: Work, response: Response, request: WorkingRequest): Response {
  const { status, headers } = response;
  const { method, signal } = request;
  if (!work.settles || method === "HEAD" || status === 101 || signal?.aborted) {
    endNow(work, status, request);
    return response;
  }
  const { body } = response;
  // A body that was used or is locked cannot be sent, so the server fails with it.
  const isUnread = !body || response.bodyUsed || body.locked;
  if (isUnread) endNow(work, status, request);
  work.answer?.(response);
  // The Response of @hono/node-server forgets changes of its headers when its body is read.
  if (isUnread && response.headers === headers) return response;
  return new Response(isUnread ? body : watch(body, work, status, request), { status, statusText: response.statusText, headers });
}

/** A stream with the bytes of `body`. The work ends with it. */
function watch(
  body: ReadableStream<Uint8Array>, work: Work, status: number, request: WorkingRequest,
): ReadableStream<Uint8Array> {
  const { ended, watched } = watchBody(body, status, work);
  request.waitUntil(ended.then((outcome) => endWith(work, outcome, request)));
  return watched;
}

/** Ends the work with a status: the handler failed, or its response has no body. */
export function endNow(work: Work, status: number, request: WorkingRequest): void {
  const settled = endWith(work, status, request);
  // Not awaited, because a slow store must not delay the response.
  if (settled !== undefined) request.waitUntil(settled);
}

function endWith(work: Work, status: number, request: WorkingRequest): Promise<void> | undefined {
  const { signal, stop } = ownMembers(request);
  stop?.();
  // Some servers read a short body to its end before they notice that the client left.
  const aborted = status === 499 || signal?.aborted === true;
  return work.end({ status: aborted ? 499 : status, aborted });
}

/** A stream with the bytes of `body`. `ended` resolves to the status of the outcome. */
function watchBody(body: ReadableStream<Uint8Array>, status: number, work: Work) {
  const reader = body.getReader();
  let end: (outcome: number) => void = () => {};
  const ended = new Promise<number>((resolve) => (end = resolve));
  work.whenUnread(() => end(499));
  const watched = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        work.whenUnread(null);
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          controller.close();
          end(status);
        } catch (error) {
          end(500);
          controller.error(error);
        }
      },
      cancel(reason) {
        end(499);
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 }, // reads no sooner than the client does
  );
  return { ended, watched };
}
