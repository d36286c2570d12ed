/** One line of JSON for each request, when its response is done. It has the decision, and never the caller. */
import type { IncomingMessage, Server } from "node:http";
import type { Decision } from "sluice";

/** Writes requests' lines to `write`, by default standard output. */
export class RequestLog {
  readonly #decisions = new WeakMap<IncomingMessage, Decision>();
  readonly #write: (line: string) => void;

  constructor(write: (line: string) => void = console.log) {
    this.#write = write;
  }

  /** Remembers the decision about a request until its line is written. */
  readonly onDecision = (decision: Decision, request: IncomingMessage): void => {
    this.#decisions.set(request, decision);
  };

  /** Follows all requests of a server. It works below the framework, so that all frameworks log the same lines. */
  follow(server: Server): void {
    server.prependListener("request", (request, response) => {
      const started = performance.now();
      const { method, url = "" } = request;
      response.once("close", () => {
        const decision = this.#decisions.get(request);
        this.write({
          method,
          path: url.split("?")[0],
          status: response.statusCode,
          ms: Math.round((performance.now() - started) * 10) / 10,
          policy: decision?.policy ?? null,
          remaining: decision?.remaining ?? null,
          retryAfterMs: decision?.retryAfterMs ?? null,
          // The client disconnected before the response was complete.
          ...(response.writableFinished ? {} : { aborted: true }),
        });
      });
    });
  }

  /** Writes any other line, with the time before it. */
  write(facts: object): void {
    this.#write(JSON.stringify({ time: new Date().toISOString(), ...facts }));
  }
}
