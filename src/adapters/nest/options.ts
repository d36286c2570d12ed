import type { ExecutionContext, FactoryProvider, ModuleMetadata } from "@nestjs/common";
import type { KeyPart } from "../../core/key.js";
import type { PolicyOptions } from "../../core/policy.js";
import type { AnyKey } from "../../http/caller.js";
import type { GateOptions, LimiterGateOptions, PolicyGateOptions, RespondOption } from "../../http/options/options.js";
import type { NodeRequest } from "../node/response.js";

/**
 * What Express's request and Fastify's have in common. For the rest, write the type of the parameter:
 * `key: (request: Request) => …`.
 */
export interface NestRequest extends NodeRequest {
  /** The caller's address, as the framework finds it. */
  readonly ip?: string | undefined;
  /** The path and the query. */
  readonly url?: string | undefined;
  /** What a guard that signs callers in has set. */
  readonly user?: NestUser | undefined;
}

/** A signed-in user. For other members, write the type of the parameter. */
interface NestUser {
  readonly id?: KeyPart | undefined;
  readonly sub?: string | undefined;
}

/** What Express's response and Fastify's reply have in common. */
export interface NestResponse {
  /** Sets the status. */
  status(code: number): NestResponse;
  /** Sets a header field. */
  header(name: string, value: string): NestResponse;
  /** Sends the response. */
  send(body?: unknown): unknown;
}

/** How `respond` and `unidentified` answer. */
type NestRespond<Request, Response> = RespondOption<[request: Request, response: Response]>;

/** The options of a limit. `key`, `policy`, `cost` and `skip` get Nest's context after the request. */
type NestGateOptions<Request = NestRequest, Response = NestResponse> =
  GateOptions<Request, [context: ExecutionContext], AnyKey> & NestRespond<Request, Response>;

/**
 * The options of `RateLimitModule`: the limit of all handlers, and the defaults of {@link RateLimit}. `K` is the type of
 * the limiter's keys.
 */
// Where `K` is never, an editor shows the documentation of `policy` and `key`.
export type RateLimitModuleOptions<Request = NestRequest, Response = NestResponse, K = AnyKey> =
  PolicyModuleOptions<Request, Response> | ([K] extends [never] ? never : LimiterModuleOptions<Request, Response, K>);

/** The options with a policy. */
interface PolicyModuleOptions<Request, Response>
  extends PolicyGateOptions<Request, [context: ExecutionContext]>, NestRespond<Request, Response>, ContextOptions<Request> {}

/** The options with a limiter. */
interface LimiterModuleOptions<Request, Response, K>
  extends LimiterGateOptions<Request, [context: ExecutionContext], K>, NestRespond<Request, Response>, ContextOptions<Request> {}

/** How the guard finds the request where there is more than HTTP. */
export interface ContextOptions<Request = NestRequest> {
  /**
   * Returns the HTTP request of a GraphQL resolver's context. All fields of one operation are charged once for each
   * limit, and the operations of a batch or a WebSocket each: the GraphQL server makes a context object for each.
   * Without this option, the guard throws for a resolver. It throws in every other context, such as a gateway's.
   */
  readonly getRequest?: ((context: ExecutionContext) => Request) | undefined;
  /**
   * Returns Express's response or Fastify's reply of such a context. Default: the `res` of the request, as Express sets
   * it. Without it, no header field is sent, and a place in flight comes back when the connection closes.
   */
  readonly getResponse?: ((context: ExecutionContext) => object | undefined) | undefined;
}

/** Options that override those of the module. An undefined option keeps the module's value. */
export type RateLimitOptions<Request = NestRequest, Response = NestResponse> = {
  readonly [Name in keyof NestGateOptions<Request, Response>]?: NestGateOptions<Request, Response>[Name] | undefined;
};

/** A limit of a list. Each has a policy with a name of its own. */
export type ListedLimit<Request = NestRequest> = PolicyOptions | (ListedOptions<Request> & { readonly policy: PolicyOptions });

/** What a limit of a list has of its own. */
type ListedOptions<Request> = Pick<RateLimitOptions<Request>, "key" | "cost" | "onStoreError" | "shadow" | "observe">;

/** How `RateLimitModule.forRootAsync` makes its options. */
export interface RateLimitAsyncOptions<
  Inject extends readonly unknown[], Request = NestRequest, Response = NestResponse, K = AnyKey,
> extends Pick<ModuleMetadata, "imports"> {
  /** The providers whose instances `useFactory` gets. */
  readonly inject?: Inject & NonNullable<FactoryProvider["inject"]>;
  /** Returns the options, or a promise of them. */
  readonly useFactory: (
    ...injected: InstancesOf<Inject>
  ) => RateLimitModuleOptions<Request, Response, K> | Promise<RateLimitModuleOptions<Request, Response, K>>;
}

/** The instances of injected classes. For a token that is no class, write the type of the parameter. */
type InstancesOf<Inject extends readonly unknown[]> = {
  [I in keyof Inject]: Inject[I] extends abstract new (...args: never) => infer Instance ? Instance : never;
};
