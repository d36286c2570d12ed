import { SluiceError } from "../../core/errors.js";
import { abortReason, onAbort, throwIfAborted } from "./abort.js";
import { copyHeaders, type ClientCall } from "./call.js";

/** Sends attempt `number` of a call. Rejects as the wrapped `fetch` does, or with the code `"ERR_ATTEMPT_TIMEOUT"`. */
export async function sendAttempt(call: ClientCall, number: number): Promise<Response> {
  const { fetch, signal, attemptTimeoutMs, source } = call;
  throwIfAborted(signal);
  // A body can be read once. So a copy is sent as long as another attempt may follow.
  const input = source && number < call.maxAttempts ? source.clone() : call.input;
  // A wrapped `fetch` may change what it gets.
  const init: RequestInit = Object.assign(Object.create(null), call.init);
  if (init.headers) init.headers = copyHeaders(init.headers);
  const isTimed = attemptTimeoutMs < Infinity;
  const stop = new AbortController();
  init.signal = isTimed ? stop.signal : ((signal ?? init.signal) as AbortSignal);
  const timer = new AbortController();
  let release: ReturnType<typeof onAbort> | null | undefined;
  let response: Response | undefined;
  try {
    return await new Promise<Response>((resolve, reject) => {
      // A wrapped `fetch` may ignore its signal.
      const end = (reason: unknown): void => {
        reject(reason);
        stop.abort(reason);
      };
      release = signal && onAbort(signal, () => end(abortReason(signal)));
      const receive = (answer: Response): void =>
        stop.signal.aborted ? void cancelBody(answer) : resolve((response = answer));
      Promise.resolve(fetch(input, init)).then(receive).catch(reject);
      if (!isTimed) return;
      call.time.sleep(attemptTimeoutMs, timer.signal).then(() => {
        const text = `No response to ${call.method} ${call.url} within ${attemptTimeoutMs} ms`;
        // The name that code around a `fetch` looks for.
        end(Object.assign(new SluiceError("ERR_ATTEMPT_TIMEOUT", text), { name: "TimeoutError" }));
      }, reject);
    });
  } finally {
    timer.abort();
    // An abort still ends a body that is arriving.
    release?.(isTimed ? response?.body : null);
  }
}

/** Cancels a body that nobody will read, which frees the connection. */
export function cancelBody(message: Request | Response | null): null {
  (message?.body as Partial<ReadableStream> | null)?.cancel?.().catch(() => undefined);
  return null;
}

/** What `fetch` says of a call that it cannot make. */
const CALL_FAILURE =
  /^TypeError: fetch failed,(?!.*(E[A-Z]{4}|connect|socket|network)).+,$|UND_ERR_(INV|NOT|REQ_C)|have (a )?body/;

/**
 * Whether `fetch` failed without a response. Such errors are TypeErrors, and those of a timeout or of the package
 * node-fetch; Cloudflare Workers throw plain errors with these texts. The error of a wrong URL, also in a redirect, is
 * a TypeError too, whose message says so on every platform, or on Node that of its cause.
 *
 * After too many redirects `fetch` rejects with a TypeError, too. But the server has answered 20 times or more, and
 * would again. Browsers do not tell this error from a network error. On Node the cause of a network error has a code. A
 * cause without one is a mistake in the call, such as a blocked port, or a redirect that the call forbids, unless its
 * text is of a network, as a mock's may be.
 */
export function isNetworkError(error: unknown): boolean {
  const { cause } = Object(error) as { cause?: { message?: unknown; code?: unknown } | null };
  const text = [error, cause?.message, cause?.code].join();
  if (CALL_FAILURE.test(text)) return false;
  // All but Bun's `TooManyRedirects` have a blank, so hosts and URLs in a message do not match.
  if (/(many|number of|maximum) redirect|ManyRedirect/.test(text)) return false;
  return /^(TypeError(?!.*\bURL\b)|TimeoutError|FetchError|Error: (Network connection|internal error;))/.test(text);
}
