import type { ExecutionContext } from "@nestjs/common";
import { expected } from "../../core/check.js";
import { createGate, type Gate } from "../../http/gate.js";
import type { GateOptions } from "../../http/options/options.js";
import { shareStore } from "../../http/options/route-options.js";
import type { RequestReader } from "../../http/reader.js";
import type { Limiter } from "../../limiter/limiter.js";
import { onClose } from "../node/disconnect.js";
import type { NodeRequest } from "../node/response.js";
import { metadataOf, type AskedLimit } from "./decorators.js";
import { limitersOf, optionsOfLimit, type LooseOptions } from "./listed.js";
import type { ContextOptions } from "./options.js";
import type { Class, LimitedPlace } from "./scan.js";

/** A request of Express, or of Fastify, which has Node's as `raw`. */
export type AnyRequest = NodeRequest & { readonly raw?: NodeRequest };

/** The gate of one limit in Nest. */
export type NestGate = Gate<AnyRequest, [ExecutionContext]>;

/** The limits of one application: the one of the module, and those of its decorators. */
export class NestLimits {
  readonly contexts: ContextOptions<AnyRequest>;
  /** What to do where no request has a key, in place of the usual advice. */
  orderCure: string | undefined;
  readonly #options: LooseOptions;
  readonly #reader: RequestReader<AnyRequest>;
  readonly #ofModule: NestGate;
  readonly #gates = new Map<AskedLimit, NestGate>();
  readonly #limiters: Map<string, Limiter>;

  /** Makes all limits. Throws for a wrong option, and for two policies of one name with different numbers. */
  constructor(given: LooseOptions & ContextOptions<AnyRequest>, decorated: readonly LimitedPlace[]) {
    const { getRequest, getResponse, ...options } = given;
    this.contexts = { getRequest, getResponse };
    this.#options = shareStore(options);
    const reader: RequestReader<AnyRequest> & { orderCure(): string | undefined } = {
      adapter: "nest",
      method: ({ method }) => method ?? "GET",
      header: ({ headers }, name) => headers[name],
      onDisconnect: (request, listener) => onClose(request.raw ?? request, listener),
      orderCure: () => this.orderCure,
    };
    this.#reader = reader;
    this.#ofModule = this.#makeGate(this.#options);
    this.#limiters = new Map(limitersOf(this.#options));
    for (const { where, limit } of decorated) {
      try {
        this.#gateOf(limit);
      } catch (error) {
        // The message names an option, and not where it is written.
        throw Object.assign(error as Error, { message: `@RateLimit of ${where}: ${(error as Error).message}` });
      }
    }
  }

  /** The gate of a handler, or null for no limit. The handler's decorator is before that of its class. */
  gateFor(handler: object, type: Class): NestGate | null {
    const asked = metadataOf(handler) ?? metadataOf(type);
    if (asked === undefined) return this.#ofModule;
    return asked === false ? null : this.#gateOf(asked);
  }

  /** The limiter of the policy with this name. */
  limiterOf(name: string): Limiter {
    const limiter = this.#limiters.get(name);
    if (limiter !== undefined) return limiter;
    const names = [...this.#limiters.keys()].map((each) => JSON.stringify(each)).join(", ");
    throw new RangeError(
      `${expected("@InjectRateLimiter", `one of ${names || "no policies"}`, name)}. Write a policy of this name in ` +
      "RateLimitModule or in a @RateLimit. In place of a function `policy`, pass a `limiter`",
    );
  }

  #gateOf(asked: Exclude<AskedLimit, false>): NestGate {
    let gate = this.#gates.get(asked);
    if (gate === undefined) {
      const options = optionsOfLimit(this.#options, asked);
      this.#gates.set(asked, (gate = this.#makeGate(options)));
      for (const [name, limiter] of limitersOf(options)) if (!this.#limiters.has(name)) this.#limiters.set(name, limiter);
    }
    return gate;
  }

  #makeGate(options: LooseOptions): NestGate {
    return createGate(options as GateOptions<AnyRequest, [ExecutionContext]>, this.#reader);
  }
}
