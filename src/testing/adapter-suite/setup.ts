import type { GateOptions, Refusal, ReportedCost, UnidentifiedRefusal } from "../../http/index.js";
import type { TestFunction } from "../runner.js";

/** The facts of a request that the suite reads. The test setup converts the framework's request to this shape. */
export interface SuiteRequest {
  readonly method: string;
  /** The path. The suite sends no query string. */
  readonly path: string;
  /** Returns the value of a header field by its lower-case name; undefined or null if it is absent. */
  header(name: string): string | undefined | null;
}

/**
 * The arguments that `serve` needs to start one server. The server must answer these routes, all with `GET` except the
 * last:
 *
 * | route | response |
 * | --- | --- |
 * | `/ok` | 200 |
 * | `/empty` | 204 |
 * | `/same` | 304 |
 * | `/chunks` | 200, streamed in several pieces |
 * | `/events` | 200, `text/event-stream`: one event immediately, a second event after `held()` |
 * | `/slow` | 200 after `held()` |
 * | `/missing` | 404, sent by the handler |
 * | `/broken` | 500, sent by the handler |
 * | `/throws` | the handler throws |
 * | `/rejects` | the handler fails later: a rejected promise, or `next(error)` |
 * | `/own` | 200; the handler sets `RateLimit-Remaining: 777` |
 * | `/raw`, `/raw-list` | 200 by `writeHead` with `RateLimit-Remaining: 777`, in an object or a list (`rawHead`) |
 * | `/early` | 200; the head was sent before the limiter ran (`earlyHead`) |
 * | `/cors` | 200 |
 * | `/bulk` | 200 |
 * | `/both` | 200 after a call of `reports`, behind both limiters: first that of `options`, then that of `bulk` |
 * | `/report` | 200 after a call of `reports` |
 * | `/dropped` | 504 by middleware outside of the limiter, in place of the handler's response (`outerMiddleware`) |
 * | `/fails-after` | 500, because such middleware throws after it called the limiter (`outerMiddleware`) |
 * | `/compressed` | 200, compressed by such middleware (`outerMiddleware`) |
 * | `/socket` | by an upgrade: the handler writes a 101 to the connection and keeps it open (`upgrades`) |
 * | `POST /json` | 200 and the request body, parsed as JSON |
 *
 * A route with a trait in parentheses is needed only if the framework has that trait.
 *
 * Before the limiter, the server sets `Cache-Control: public, max-age=60` on every response. On `/cors`, middleware of
 * the framework allows every origin and exposes `X-Request-Id`.
 */
export interface AdapterSetup {
  /** Returns the options of the limiter in front of every route except `/bulk`. */
  readonly options: <Request>(read: (request: Request) => SuiteRequest) => GateOptions<Request>;
  /** Returns the options of a second limiter, in front of `/bulk` and `/both`. */
  readonly bulk: <Request>(read: (request: Request) => SuiteRequest) => GateOptions<Request>;
  /**
   * The response that the `respond` option of the limiter of `options` must send, for a refusal and the request as
   * `read` returns it. Null in most setups: then leave `respond` out.
   *
   * Call it once, and do not catch its errors. If it returns nothing, return without sending.
   */
  readonly answer:
    ((refusal: Refusal, request: SuiteRequest) => SuiteAnswer | undefined | Promise<SuiteAnswer | undefined>) | null;
  /** The same for the `unidentified` option of that limiter. Null in most setups: then leave `unidentified` out. */
  readonly answerUnidentified:
    | ((refusal: UnidentifiedRefusal, request: SuiteRequest) => SuiteAnswer | undefined | Promise<SuiteAnswer | undefined>)
    | null;
  /**
   * Call it in the handlers of `/report` and `/both`. `report` must call `reportCost` with the object that `key` gets:
   * `setup.reports((cost) => reportCost(request, cost))`.
   */
  readonly reports: (report: (cost: ReportedCost) => void) => void;
  /** Call it first behind either limiter, before a body parser runs. */
  readonly entered: (path: string) => void;
  /** Resolves when the suite releases held handlers. */
  readonly held: () => Promise<void>;
}

/** A response that the suite wants from `respond` or from an `unidentified` function. */
export interface SuiteAnswer {
  readonly status: number;
  /** The header fields to set. */
  readonly fields: Readonly<Record<string, string>>;
  readonly body: string;
  /**
   * A value to return as it is, without sending anything, in place of the other members: an object literal. In tests
   * that need the trait `responses`, a Response.
   */
  readonly returns?: unknown;
}

/** A running server. */
export interface RunningServer {
  /** The port on 127.0.0.1. */
  readonly port: number;
  /** Stops the server and closes all its connections. */
  close(): unknown;
}

/** A feature that some frameworks lack. An adapter for such a framework cannot provide it. */
export type AdapterTrait =
  /** A handler can write the head of a response itself, as with Node's `writeHead`. */
  | "rawHead"
  /** The head of a response can be sent before the limiter runs. */
  | "earlyHead"
  /** The framework answers a handler's error where the limiter can still add fields. */
  | "errorFields"
  /** A field that the handler sets replaces the limiter's. */
  | "handlerFields"
  /** The limiter sees the handler's response, and the handler has the object that `key` gets. */
  | "outcomes"
  /** The Content-Length of a response is sent. */
  | "contentLength"
  /** If no function is asynchronous, the handler runs without a microtask in between. */
  | "synchronous"
  /** The framework reports that a client has disconnected. */
  | "disconnects"
  /** A client can send several requests on one connection, and the server runs them side by side. */
  | "pipelining"
  /** The limiter runs before the framework reads the body of a request. Without it, `unreadBodies` is lacking, too. */
  | "beforeBodies"
  /** The adapter can reach the connection of a refused request, and so close it when the body does not end. */
  | "unreadBodies"
  /** Middleware can run around the limiter, and change or replace the response behind it. */
  | "outerMiddleware"
  /**
   * A request of an upgrade runs through the limiter, with the connection at hand and without a response that is
   * written to it, as with express-ws.
   */
  | "upgrades"
  /** The adapter has a `respond` option. */
  | "respond"
  /** `respond` may return a `Response`. */
  | "responses";

/** The options of `adapterSuite`. */
export interface AdapterSuiteOptions {
  /** Registers one test. */
  readonly test: TestFunction;
  /** Starts a server with the adapter under test on 127.0.0.1, port 0. Each test starts one server or more. */
  readonly serve: (setup: AdapterSetup) => Promise<RunningServer>;
  /** Traits that the framework lacks, each with the reason. The suite skips their tests by name. Default: none. */
  readonly lacks?: { readonly [Trait in AdapterTrait]?: string | undefined } | undefined;
  /** Milliseconds of silence after which a test fails. Default 5,000. A right adapter never waits for it. */
  readonly timeoutMs?: number | undefined;
}
