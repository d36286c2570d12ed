/** The clients of the page. Each response is kept as a mark. */
import { createFetch } from "sluice/client";

/** The clients by name, in the order of their lanes. */
export const LANES = ["You", "Tablet", "Watch", "Obeys", "Ignores"] as const;
export type Lane = (typeof LANES)[number];

/** One response. */
export interface Mark {
  readonly at: number;
  readonly lane: Lane;
  readonly status: number;
}

/** The devices of the clients that run beside yours. Each has its own bucket. */
export const DEVICES = { Tablet: "device tablet", Watch: "device watch", Obeys: "device obeying", Ignores: "device ignoring" } as const;

/** The path and the caller of requests. */
export interface Target {
  readonly caller: string;
  readonly policy: string;
}

/** The phone number for login codes, one for each caller. */
export function phoneOf(caller: string): string {
  let digits = 7;
  for (let i = 0; i < caller.length; i++) digits = (digits * 31 + caller.charCodeAt(i)) % 10_000;
  return `+49151555${String(digits).padStart(4, "0")}`;
}

/** The header field that identifies the caller. */
export function identityOf(caller: string): Record<string, string> {
  return caller.startsWith("device ") ? { "X-Device-Id": caller.slice(7) } : { Authorization: `Bearer ${caller}` };
}

/** Sends requests, and passes each response to `onResponse`. */
export class Clients {
  readonly #target: () => Target;
  readonly #onResponse: (mark: Mark, response: Response) => void;
  /** The functions that stop the running clients. */
  readonly #running = new Map<string, AbortController>();

  constructor(target: () => Target, onResponse: (mark: Mark, response: Response) => void) {
    this.#target = target;
    this.#onResponse = onResponse;
  }

  /** Sends `count` requests at once, without waiting for anything. */
  async send(count: number, lane: Lane = "You"): Promise<void> {
    const fetchOnce = this.#recorded(lane);
    await Promise.all(Array.from({ length: count }, () => fetchOnce(...this.#request(lane)).catch(() => undefined)));
  }

  /** Sends the requests of an app that comes back to the foreground: six at once. Each obeys a 429. */
  async foreground(): Promise<void> {
    const obeying = createFetch({ fetch: this.#recorded("You"), merge: false });
    await Promise.all(Array.from({ length: 6 }, () => obeying(...this.#request("You")).catch(() => undefined)));
  }

  /** Starts a client that calls until it is stopped, or stops it. Returns whether it runs now. */
  toggle(name: "runaway" | "others" | "obeying" | "ignoring"): boolean {
    const running = this.#running.get(name);
    running?.abort();
    if (running !== undefined) return !this.#running.delete(name);
    const stop = new AbortController();
    this.#running.set(name, stop);
    if (name === "obeying") void this.#obey(stop.signal);
    else if (name === "ignoring") void this.#ignore(stop.signal, "Ignores", 200);
    else if (name === "runaway") void this.#ignore(stop.signal, "You", 50);
    else void Promise.all([this.#ignore(stop.signal, "Tablet", 1_500), this.#ignore(stop.signal, "Watch", 2_500)]);
    return true;
  }

  // Sends one call after the other, as fast as the server allows. After a call that the client gave up, it waits a
  // second.
  async #obey(signal: AbortSignal): Promise<void> {
    const obeying = createFetch({ fetch: this.#recorded("Obeys") });
    while (!signal.aborted) {
      const [url, init] = this.#request("Obeys");
      await obeying(url, { ...init, signal, retry: true }).catch(() => after(1_000));
      await after(100);
    }
  }

  async #ignore(signal: AbortSignal, lane: Lane, everyMs: number): Promise<void> {
    while (!signal.aborted) {
      void this.send(1, lane);
      await after(everyMs);
    }
  }

  #request(lane: Lane): [url: string, init: RequestInit] {
    const { policy, caller: chosen } = this.#target();
    const caller = lane === "You" ? chosen : DEVICES[lane];
    const headers = identityOf(caller);
    if (policy === "bulk") return ["/exports", { method: "POST", headers }];
    if (policy === "sandbox") return ["/sandbox", { headers }];
    if (policy !== "login-code") return ["/inbox", { headers }];
    return ["/login/code", { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify({ phone: phoneOf(caller) }) }];
  }

  #recorded(lane: Lane): typeof fetch {
    return async (...asked) => {
      const response = await fetch(...asked);
      this.#onResponse({ at: performance.now(), lane, status: response.status }, response.clone());
      return response;
    };
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
