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
  const stop = isTimed ? new AbortController() : null;
  const timer = isTimed ? new AbortController() : null;
  init.signal = (stop ?? { signal: signal ?? init.signal }).signal as AbortSignal;
  let hasEnded = false;
  let release: ReturnType<typeof onAbort> | null | undefined;
  let response: Response | undefined;
  try {
    return await new Promise<Response>((resolve, reject) => {
      // A wrapped `fetch` may ignore its signal.
      const end = (reason: unknown): void => {
        hasEnded = true;
        reject(reason);
        stop?.abort(reason);
      };
      release = signal && onAbort(signal, () => end(abortReason(signal)));
      const receive = (answer: Response): void =>
        hasEnded ? void cancelBody(answer) : resolve((response = answer));
      Promise.resolve(fetch(input, init)).then(receive).catch(reject);
      if (!timer) return;
      // A clock may ignore its signal.
      const late = (reason: unknown): void => void (response || end(reason));
      call.time.sleep(attemptTimeoutMs, timer.signal).then(() => {
        const text = `No response to ${call.method} ${call.url} within ${attemptTimeoutMs} ms`;
        // The name that code around a `fetch` looks for.
        late(Object.assign(new SluiceError("ERR_ATTEMPT_TIMEOUT", text), { name: "TimeoutError" }));
      }, late);
    });
  } finally {
    timer?.abort();
    // An abort still ends a body that is arriving.
    release?.(isTimed ? response?.body : null);
  }
}

/** Cancels a body that nobody will read, which frees the connection. */
export function cancelBody(message: Request | Response | null): null {
  (message?.body as Partial<ReadableStream> | null)?.cancel?.().catch(() => undefined);
  return null;
}

/** What Node says of a call that its `fetch` cannot make, or whose response it must not return. */
const CALL_FAILURE =
  /^TypeError: fetch failed,.*(unexpected redirect|redirect count|bad port|scheme|integrity).*,$/;

/**
 * Whether `fetch` failed without a response. Such errors are TypeErrors, and those of a timeout or of the package
 * node-fetch; Cloudflare Workers throw plain errors with these texts. The error of a wrong URL, also in a redirect, is
 * a TypeError too, whose message says so on every platform, or on Node that of its cause.
 *
 * After too many redirects `fetch` rejects with a TypeError, too. But the server has answered 20 times or more, and
 * would again. Browsers do not tell this error from a network error. On Node the cause says what is wrong with the call
 * itself, such as a blocked port. Unknown causes count as those of a network.
 */
export function isNetworkError(error: unknown): boolean {
  const { cause } = Object(error) as { cause?: { message?: unknown; code?: unknown } | null };
  const text = [error, cause?.message, cause?.code].join();
  if (CALL_FAILURE.test(text)) return false;
  // All but Bun's `TooManyRedirects` have a blank, so hosts and URLs in a message do not match.
  if (/(many|number of|maximum) redirect|ManyRedirect|UND_ERR_(INV|NOT|REQ_C)|have (a )?body/.test(text)) return false;
  return /^(TypeError(?!.*\bURL\b)|TimeoutError|FetchError|Error: (Network connection|internal error;))/.test(text);
}
