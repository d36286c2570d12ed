// What the tests hand to the app. Next.js runs in their process, and its bundles share only the globals with them.
import type { AsyncLocalStorage } from "node:async_hooks";
import type { rateLimit } from "sluice/web";

type Handler = (request: Request) => Response | Promise<Response>;

/** The handlers of the server that a request reached. */
export interface SuiteServer {
  /** Answers behind the limiter, which it makes with the app's own copy of sluice. */
  limited(limit: typeof rateLimit, next: Handler | null): Handler;
  /** Answers without a limiter. Null when `limited` stands in front of all. */
  readonly routes: Handler | null;
}

/** The server under test; undefined for the examples. */
export function suiteServer(): SuiteServer | undefined {
  return (globalThis as { sluiceSuite?: AsyncLocalStorage<SuiteServer> }).sluiceSuite?.getStore();
}
