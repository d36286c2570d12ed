import type { GateOptions } from "../../http/index.js";
import { answers } from "./answers.js";
import { browsers } from "./browsers.js";
import { budgets } from "./budgets.js";
import { callers } from "./callers.js";
import { connections } from "./connections.js";
import { outcomes } from "./outcomes.js";
import { runCase, type Case } from "./server.js";

/** What the suite needs to know of a request: the harness's one line of translation. */
export interface SuiteRequest {
  readonly method: string;
  /** Without a query: the suite sends none. */
  readonly path: string;
  /** A header field by its lower-case name; undefined or null when it is absent. */
  header(name: string): string | undefined | null;
}

/**
 * What a harness builds one server from. Its routes, all `GET` but the last:
 *
 * | route | answer |
 * | --- | --- |
 * | `/ok` | 200 |
 * | `/empty` | 204 |
 * | `/same` | 304 |
 * | `/chunks` | 200, streamed in several pieces |
 * | `/events` | 200, `text/event-stream`: one event at once, a second after `held()` |
 * | `/slow` | 200 after `held()` |
 * | `/missing` | 404, by the handler |
 * | `/broken` | 500, by the handler |
 * | `/throws` | the handler throws |
 * | `/rejects` | the handler fails later: a rejected promise, or `next(error)` |
 * | `/own` | 200, with `RateLimit-Remaining: 777` set by the handler |
 * | `/raw`, `/raw-list` | 200 by `writeHead` with `RateLimit-Remaining: 777`, as an object and as a list (trait `rawHead`) |
 * | `/early` | 200; the head was sent before the limiter was asked (trait `earlyHead`) |
 * | `/cors` | 200 |
 * | `/bulk` | 200 |
 * | `POST /json` | 200 and the body, parsed as JSON |
 *
 * In front of the limiter, `Cache-Control: public, max-age=60` is set on every response, and on `/cors` the framework's
 * own CORS middleware lets every origin in and exposes `X-Request-Id`.
 */
export interface AdapterSetup {
  /** The options of the limiter in front of every route but `/bulk`. */
  readonly options: <Request>(read: (request: Request) => SuiteRequest) => GateOptions<Request>;
  /** The options of a second limiter, in front of `/bulk` alone. */
  readonly bulk: <Request>(read: (request: Request) => SuiteRequest) => GateOptions<Request>;
  /** Call it in the first thing behind either limiter, before any body is parsed. */
  readonly entered: (path: string) => void;
  /** Resolves when the suite lets handlers go on. */
  readonly held: () => Promise<void>;
}

/** A server that runs. */
export interface RunningServer {
  /** On 127.0.0.1. */
  readonly port: number;
  /** Stops it, with all its connections. */
  close(): unknown;
}

/** What a framework may be unable to do, which no adapter can give it. */
export type AdapterTrait =
  /** Handlers may write the head of a response themselves, as with Node's `writeHead`. */
  | "rawHead"
  /** The head of a response may be sent before the limiter is asked. */
  | "earlyHead"
  /** What a handler throws is answered where the limiter can still add fields. */
  | "errorFields"
  /** The handler is called without a microtask in between when nothing answers later. */
  | "synchronous"
  /** It is known when a client has gone away. */
  | "disconnects"
  /** Several requests may be written to one connection before the first is answered. */
  | "pipelining";

/** A runner's `test`, as in vitest, jest and node:test. */
export interface TestFunction {
  (name: string, run: () => Promise<void>): unknown;
  /** Used for what the framework lacks, where the runner has it. */
  skip?(name: string, run: () => Promise<void>): unknown;
}

/** What {@link adapterSuite} needs. */
export interface AdapterSuiteOptions {
  /** Registers one test. */
  readonly test: TestFunction;
  /** Starts a server on 127.0.0.1, port 0, with the adapter under test. It is called once for each test. */
  readonly serve: (setup: AdapterSetup) => Promise<RunningServer>;
  /** What the framework cannot do, each with the reason; the tests that need it are skipped under that reason. Default: nothing. */
  readonly lacks?: Readonly<Partial<Record<AdapterTrait, string>>>;
  /** Milliseconds of silence after which a server counts as hung. Default 5000; nothing else waits for it. */
  readonly deadlineMs?: number;
}

/**
 * The tests that make an adapter right: the whole HTTP contract against real servers over real sockets.
 *
 * Names carry the numbers of the contract's checklist. It needs Node and no test runner of its own, takes a fraction of
 * a second, opens connections to 127.0.0.1 only, and waits for nothing but the server under test.
 * @example
 * describe("my adapter", () => {
 *   adapterSuite({ test, serve: async (setup) => startMyServer(setup) });
 * });
 */
export function adapterSuite(options: AdapterSuiteOptions): void {
  const { test, lacks = {} } = options;
  const cases: readonly Case[] = [...budgets, ...answers, ...connections, ...callers, ...outcomes, ...browsers];
  for (const one of cases) {
    const reason = one.needs === undefined ? undefined : lacks[one.needs];
    if (reason === undefined) test(one.name, () => runCase(options, one));
    else skip(test, `${one.name} (skipped: ${reason})`);
  }
}

/** Registers a test that is skipped. A runner without `skip` at least gets one whose name says that nothing was tested. */
export function skip(test: TestFunction, name: string): void {
  const nothing = async (): Promise<void> => {};
  if (test.skip === undefined) test(name, nothing);
  else test.skip(name, nothing);
}
