/**
 * axios that obeys a 429. This is an interceptor for an instance that you already have:
 *
 *   const http = obeyRateLimits(axios.create({ baseURL: "https://api.example.com" }));
 *
 * Do not pass `createFetch()` to axios as its `fetch`: axios replaces errors with its own.
 */
import { CanceledError, isAxiosError, type AxiosInstance, type GenericAbortSignal } from "axios";
import { parseWait } from "sluice/client";

declare module "axios" {
  interface AxiosRequestConfig {
    /** Requests of this call that were refused so far. */
    refusals?: number;
    /** True for a request that must not be repeated, such as a login code by SMS. */
    sensitive?: boolean;
  }
}

const REPEATABLE = ["get", "head", "options", "put", "delete"];

/** Makes `http` wait as long as the server says. A call that is given up rejects with an `AxiosError` of status 429. */
export function obeyRateLimits(http: AxiosInstance, { maxAttempts = 3, maxWaitMs = 60_000 } = {}): AxiosInstance {
  http.interceptors.response.use(undefined, async (error: unknown) => {
    if (!isAxiosError(error) || error.response?.status !== 429 || error.config === undefined) throw error;
    const { config, response } = error;
    const refusals = (config.refusals ?? 0) + 1;
    // The same line reads the wait from the error that is thrown here, to show it on the screen.
    const wait = parseWait(response.headers, Date.now())?.waitMs;
    if (config.sensitive || !REPEATABLE.includes(config.method ?? "get") || isStream(config.data)) throw error;
    if (refusals >= maxAttempts || (wait ?? 0) > maxWaitMs) throw error;

    await pause(wait === undefined ? backoff(refusals) : withJitter(wait), config.signal);
    // The body is already text or bytes.
    return http.request({ ...config, refusals, transformRequest: [(data: unknown) => data] });
  });
  return http;
}

/** Longer than the server said, never shorter. */
function withJitter(waitMs: number): number {
  return Math.max(waitMs, 100) + Math.random() * Math.min(Math.max(waitMs / 10, 100), 1_000);
}

/** For servers that name no wait. */
function backoff(refusals: number): number {
  return Math.random() * Math.min(30_000, 1_000 * 2 ** (refusals - 1));
}

/** Can be read only once. */
function isStream(data: unknown): boolean {
  return typeof data === "object" && data !== null && ("pipe" in data || "getReader" in data);
}

// A timer may fire 1 ms early. Above 2^31 - 1 ms it fires at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function pause(ms: number, signal: GenericAbortSignal | undefined): Promise<void> {
  const end = performance.now() + ms;
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = (): void => {
      clearTimeout(timer);
      reject(new CanceledError());
    };
    const rest = (): void => {
      const left = Math.ceil(end - performance.now());
      if (left > 0) return void (timer = setTimeout(rest, Math.min(left, LONGEST_TIMER_MS)));
      signal?.removeEventListener?.("abort", stop);
      resolve();
    };
    if (signal?.aborted) return stop();
    signal?.addEventListener?.("abort", stop);
    rest();
  });
}
