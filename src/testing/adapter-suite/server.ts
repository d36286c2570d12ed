import type { Decision } from "../../core/decision.js";
import type { PolicyOptions, Policy } from "../../core/policy.js";
import type { Store } from "../../port/store.js";
import type { AnyKey } from "../../http/caller.js";
import type { ChargeOptions, GateOptions, OwnLimiter, SharedOptions } from "../../http/options/options.js";
import type { Outcome } from "../../http/response/work.js";
import type { Limiter } from "../../limiter/limiter.js";
import type { Unlimited } from "../../limiter/unlimited.js";
import { MemoryStore } from "../../stores/memory/memory.js";
import { eventually, explainFailure } from "../assert.js";
import { ManualClock } from "../manual-clock.js";
import type { AdapterSetup, AdapterSuiteOptions, AdapterTrait, SuiteRequest } from "./setup.js";
import { openConnection, requestOnce, type RawConnection, type WireRequest, type WireResponse } from "./wire.js";

/** One test of the suite. */
export interface AdapterCase {
  /** Starts with the case's numbers in the contract's checklist, if it has any. */
  readonly name: string;
  /** The mistake of an adapter that fails this case most often. Added to the message of a failure. */
  readonly cause: string;
  /** The suite skips the case if the framework lacks this trait. */
  readonly needs?: AdapterTrait | readonly AdapterTrait[] | undefined;
  run(start: StartServer): Promise<void>;
}

/** Starts the server under test. Default options: each `X-User` has a bucket of 3 tokens that gets 1 token a second. */
export type StartServer = (options?: CaseOptions) => Promise<ServerUnderTest>;

/** The limiter's options that a case changes. */
export interface CaseOptions extends SharedOptions<SuiteRequest>, Partial<ChargeOptions<SuiteRequest, [], AnyKey>> {
  readonly policy?: PolicyOptions | Policy | ((request: SuiteRequest) => Policy | Unlimited);
  readonly store?: Store;
  readonly onStoreError?: OwnLimiter<SuiteRequest>["onStoreError"];
  readonly shadow?: boolean;
  readonly unidentified?: "share" | "refuse" | "skip";
  /** In place of the policy. */
  readonly limiter?: Limiter<never>;
  /** The response that `respond` must send; see `AdapterSetup`. */
  readonly answer?: NonNullable<AdapterSetup["answer"]>;
  /** The response that an `unidentified` function must send; see `AdapterSetup`. */
  readonly answerUnidentified?: NonNullable<AdapterSetup["answerUnidentified"]>;
  /** Gets what reports the cost of a request; see `AdapterSetup`. */
  readonly reports?: AdapterSetup["reports"];
}

/** The server under test, with a client for it. */
export interface ServerUnderTest {
  readonly port: number;
  /** Moves only when the case moves it. The default store reads it. */
  readonly clock: ManualClock;
  /** The paths of the requests that passed a limiter. */
  readonly entered: readonly string[];
  /** Sends a GET on a new connection. Default headers: `X-User: ann`. */
  get(path: string, headers?: Record<string, string>): Promise<WireResponse>;
  /** Sends a request on a new connection, with `X-User: ann` unless the headers have another. */
  request(path: string, request: WireRequest): Promise<WireResponse>;
  connect(): Promise<RawConnection>;
  /** Waits until `holds` returns true. */
  eventually(holds: () => boolean, what: string): Promise<void>;
  /** Ends the waiting of held handlers. */
  release(): void;
}

const DEFAULT_POLICY = { name: "suite", capacity: 3, refill: { tokens: 1, everyMs: 1_000 } } as const;

/** The policy of the limiter in front of `/bulk`. */
export const BULK_POLICY = { name: "bulk", capacity: 2, refill: { tokens: 1, everyMs: 10_000 } } as const;

/** The default `key`: the user in `X-User`. */
export const userKey = (request: SuiteRequest): readonly [string, string | null | undefined] => [
  "user", request.header("x-user"),
];

/** Starts servers for one case, runs the case, then stops them. */
export async function runAdapterCase(
  { serve, timeoutMs = 5_000 }: AdapterSuiteOptions, { cause, run }: AdapterCase,
): Promise<void> {
  const stops: Array<() => unknown> = [];
  const start: StartServer = async ({ answer = null, answerUnidentified = null, reports = () => {}, ...options } = {}) => {
    const clock = new ManualClock(1_000_000);
    const entered: string[] = [];
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    stops.push(release);
    const store = options.store ?? new MemoryStore({ clock: clock.now });
    const { port, close } = await serve({
      options: (read) => translateOptions(withCaseDefaults(options, store), read),
      bulk: (read) => translateOptions(withCaseDefaults({ policy: BULK_POLICY }, store), read),
      answer,
      answerUnidentified,
      reports,
      entered: (path) => void entered.push(path),
      held: () => held,
    });
    stops.push(close);
    return {
      port,
      clock,
      entered,
      release,
      get: async (path, headers = { "X-User": "ann" }) => requestOnce(await openConnection(port, timeoutMs), path, { headers }),
      request: async (path, request) =>
        requestOnce(await openConnection(port, timeoutMs), path, {
          ...request, headers: { "X-User": "ann", ...request.headers },
        }),
      connect: () => openConnection(port, timeoutMs),
      eventually: (holds, what) => eventually(holds, what, timeoutMs),
    };
  };
  try {
    await explainFailure(cause, () => run(start));
  } finally {
    for (const stop of stops) await stop();
  }
}

type OwnOptions = Omit<CaseOptions, "answer" | "answerUnidentified" | "reports">;

function withCaseDefaults(options: OwnOptions, store: Store): OwnOptions {
  return { ...(options.limiter === undefined && { policy: DEFAULT_POLICY, store }), key: userKey, ...options };
}

/** Wraps the functions in `options`. The wrapped functions take the framework's request. */
function translateOptions<Request>(options: OwnOptions, read: (request: Request) => SuiteRequest): GateOptions<Request> {
  const { key, cost, skip, policy, onDecision, actualCost, ...plain } = options;
  const translated = {
    ...plain,
    ...(key && { key: (request: Request) => key(read(request)) }),
    ...(policy !== undefined && { policy: typeof policy === "function" ? (request: Request) => policy(read(request)) : policy }),
    ...(cost !== undefined && { cost: typeof cost === "function" ? (request: Request) => cost(read(request)) : cost }),
    ...(skip && { skip: (request: Request) => skip(read(request)) }),
    ...(onDecision && {
      onDecision: (decision: Decision, request: Request, own: AnyKey | null) => onDecision(decision, read(request), own),
    }),
    ...(actualCost && { actualCost: (outcome: Outcome, request: Request) => actualCost(outcome, read(request)) }),
  };
  return translated as unknown as GateOptions<Request>;
}
