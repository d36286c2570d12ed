/**
 * Rate limits for Node's `http`, `https` and `http2` servers.
 * @module sluice/node
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { expected, hasOwn, ownMembers } from "../core/check.js";
import type { Key } from "../core/key.js";
import { createGate } from "../http/gate.js";
import { misplaced } from "../http/misplaced.js";
import type { IfLimiter, LimiterGateOptions, PolicyGateOptions, RespondOption } from "../http/options/options.js";
import { withDefaults, type OverDefaults } from "../http/options/route-options.js";
import { errorRefusal } from "../http/response/refusal.js";
import { applyToNode, nodeReader, refuseOnNode, type NodeRequest, type NodeResponse } from "./node/response.js";
import { asError, runAside } from "../http/user-functions.js";
import type { Verdict } from "../http/response/verdict.js";

export { boundUnreadBody } from "./node/unread-body.js";
export { answerOnNode, nodeReader, type NodeRequest, type NodeResponse } from "./node/response.js";
export { decisionOf, decisionsOf, reportCost, type ReportedCost } from "../http/response/decisions.js";

/**
 * The options of {@link rateLimit}. For an `http2` server, name its request and response types. `K` is the type of the
 * limiter's keys.
 */
export type NodeRateLimitOptions<Req extends NodeRequest = IncomingMessage, Res extends NodeResponse = ServerResponse, K = Key> =
  PolicyRateLimitOptions<Req, Res> | IfLimiter<K, LimiterRateLimitOptions<Req, Res, K>>;

/** The options with a policy. */
interface PolicyRateLimitOptions<Req extends NodeRequest = IncomingMessage, Res extends NodeResponse = ServerResponse>
  extends PolicyGateOptions<Req>, NodeRespond<Req, Res> {}

/** The options with a limiter. */
interface LimiterRateLimitOptions<
  Req extends NodeRequest = IncomingMessage,
  Res extends NodeResponse = ServerResponse,
  K = Key,
>
  extends LimiterGateOptions<Req, [], K>, NodeRespond<Req, Res> {}

/** The options of this adapter alone. */
interface NodeRespond<Req, Res> extends RespondOption<[request: Req, response: Res]> {
  /**
   * Answers a request when a function of the options, such as `key`, fails, or when a refusal cannot be sent. Default:
   * a 500, and a process warning with the error. Not called for errors of the listener. If it fails too, the connection
   * is closed.
   */
  readonly onError?: ((error: Error, request: Req, response: Res) => unknown) | undefined;
}

/** A request listener, as for `createServer`. */
export type Listener<Req, Res> = (request: Req, response: Res) => unknown;

/** Wraps a listener. With the parameter `none`, it does not compile as the middleware of a framework. */
type LimitedListener<Req, Res> = (listener: Listener<Req, Res>, none?: never) => Listener<Req, Res>;

/**
 * The type of {@link rateLimit}, or with `Given`, the names of its defaults, of one that `with` returned. With the
 * parameter `none`, `app.use(rateLimit)` without a call does not compile.
 */
export interface NodeRateLimit<Given extends string = never> {
  <Req extends NodeRequest = IncomingMessage, Res extends NodeResponse = ServerResponse,
    K = IncomingMessage extends Req ? ([Given] extends [never] ? never : Key) : Key>(
    options: [Given] extends [never]
      ? NodeRateLimitOptions<Req, Res, K>
      : OverDefaults<Given, Req, [], K> & NodeRespond<Req, Res>,
    none?: never,
  ): LimitedListener<Req, Res>;
  /** Returns a `rateLimit` with defaults, or with more of them. Options of its calls replace them. */
  with<const More extends Partial<PolicyRateLimitOptions>>(more: More): NodeRateLimit<Given | (keyof More & string)>;
}

/**
 * Makes a wrapper for request listeners. A wrapped listener runs for allowed requests. The others get a 429.
 *
 * Listeners that share a wrapper share its buckets. Throws a TypeError or RangeError that names the wrong option. When
 * `key` or another function throws, the request gets a 500: see `onError`. The wrapped listener throws or rejects with
 * the errors of your listener.
 * @example
 * const limited = rateLimit({
 *   policy: { name: "interactive", capacity: 30, refill: perSecond(5) },
 *   key: async (request) => ["user", (await sessionOf(request))?.userId],
 * });
 * createServer(limited((request, response) => response.end("hello"))).listen(3000);
 */
export const rateLimit: NodeRateLimit = withDefaults(wrapListeners) as unknown as NodeRateLimit;

function wrapListeners<Req extends NodeRequest, Res extends NodeResponse>(
  options: NodeRateLimitOptions<Req, Res>,
): LimitedListener<Req, Res> {
  const { onError = answer500, ...gateOptions } = ownMembers(Object(options) as NodeRateLimitOptions<Req, Res>);
  if (typeof onError !== "function") throw new TypeError(expected("onError", "a function", onError));
  const gate = createGate<Req>(gateOptions as NodeRateLimitOptions<Req, Res>, nodeReader);

  return (listener, ...rest: readonly unknown[]) => {
    if (typeof listener !== "function") {
      throw misplaced("listener", "a function of the request and the response", [listener, ...rest]);
    }
    return function rateLimited(request, response) {
      let verdict: Verdict | Promise<Verdict>;
      try {
        verdict = gate(request);
      } catch (error) {
        return fail(error, request, response);
      }
      if (hasOwn(verdict, "outcome")) return proceed(verdict, request, response);
      return verdict.then(
        (known) => proceed(known, request, response),
        (error: unknown) => fail(error, request, response),
      );
    };

    function proceed(known: Verdict, request: Req, response: Res): unknown {
      try {
        if (known.outcome === "refuse") return refuseOnNode(response, known, request);
        if (known.outcome === "pass") applyToNode(response, known);
      } catch (error) {
        return fail(error, request, response);
      }
      const handled: unknown = listener(request, response);
      if (known.outcome === "pass" && handled instanceof Promise) known.work.holdUntil(handled);
      return handled;
    }
  };

  function fail(error: unknown, request: Req, response: Res): void {
    void runAside("onError", async () => {
      try {
        await onError(asError(error), request, response);
      } catch (failure) {
        response.destroy();
        throw failure;
      }
    });
  }
}

function answer500(error: unknown, _request: NodeRequest, response: NodeResponse): void {
  process.emitWarning(error as Error);
  refuseOnNode(response, errorRefusal());
}
