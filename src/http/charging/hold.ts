import type { Decision } from "../../core/decision.js";
import type { Key } from "../../core/key.js";
import type { ConsumeOptions } from "../../limiter/arguments.js";
import type { Holder } from "../../limiter/holder.js";
import type { RequestReader } from "../reader.js";

/** Decides like `consume` of a limiter, but waits for the tokens. Resolves to null when the client disconnected. */
export type HoldRequest<Request> = (request: Request, caller: Key, asked: ConsumeOptions) => Promise<Decision | null>;

/** Makes the function that holds requests in a waiter. */
export function createRequestHold<Request>({ hold }: Holder, reader: RequestReader<Request>): HoldRequest<Request> {
  return async (request, caller, asked) => {
    const disconnected = new AbortController();
    const release = reader.onDisconnect?.(request, () => disconnected.abort());
    try {
      return await hold(caller, { ...asked, signal: disconnected.signal });
    } catch (error) {
      if (!disconnected.signal.aborted) throw error;
      return null;
    } finally {
      release?.();
    }
  };
}
