/**
 * A React hook for a button that obeys a rate limit: "Try again in 12 s".
 *
 *   const { state, start } = useRateLimit((call) => fetch("/login/code", { method: "POST", sensitive: true, ...call }));
 *
 * `start` does nothing unless the state is idle. When the component is unmounted, the call and all waits end.
 */
import { useEffect, useRef, useState } from "react";
import { countdown, RateLimitedError, type WaitInfo } from "sluice/client";

/** The state of the button. */
export type SendState =
  /** `error` is what the last call threw, unless it was a refusal with a known wait. */
  | { readonly phase: "idle"; readonly error: unknown }
  /** With `seconds` above 0, the client waits before it sends the request again. */
  | { readonly phase: "sending"; readonly seconds: number }
  /** The call was refused and given up. Try again after `seconds`; Infinity means never. */
  | { readonly phase: "waiting"; readonly seconds: number };

/** Sends the request. Add `call` to the options of your `fetch`. */
export type Send = (call: { readonly signal: AbortSignal; readonly onWait: (wait: WaitInfo) => void }) => Promise<unknown>;

/** The state of one action, and a function that starts it. */
export function useRateLimit(send: Send): { readonly state: SendState; readonly start: () => Promise<void> } {
  const [state, setState] = useState<SendState>({ phase: "idle", error: null });
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);

  const start = async (): Promise<void> => {
    if (running.current !== null) return; // a second click before React has drawn the first
    const { signal } = (running.current = new AbortController());
    setState({ phase: "sending", seconds: 0 });
    const error = await attempt(send, signal, setState);
    running.current = null;
    setState({ phase: "idle", error });
  };
  return { state, start };
}

/** Sends, then counts down a known wait. Resolves with any other error, and with null after an abort. */
async function attempt(send: Send, signal: AbortSignal, show: (state: SendState) => void): Promise<unknown> {
  let counting = new AbortController();
  const onWait = (wait: WaitInfo): void => {
    counting.abort(); // a queue may report a longer wait
    counting = new AbortController();
    countdown(wait, (seconds) => show({ phase: "sending", seconds }), { signal: counting.signal }).catch(() => undefined);
  };
  try {
    try {
      await send({ signal, onWait });
    } finally {
      counting.abort();
    }
  } catch (error) {
    if (signal.aborted) return null;
    if (!(error instanceof RateLimitedError) || error.retryAt === null) return error; // there is no wait to show
    await countdown(error, (seconds) => show({ phase: "waiting", seconds }), { signal }).catch(() => undefined);
  }
  return null;
}
