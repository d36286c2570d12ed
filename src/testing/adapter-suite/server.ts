import type { Clock } from "../../core/clock.js";
import type { PolicyOptions, Policy } from "../../core/policy.js";
import type { Store } from "../../core/store.js";
import type { GateOptions, OwnLimiter, SharedOptions } from "../../http/index.js";
import { eventually } from "./check.js";
import { ask, connect, type Answer, type Ask, type Line } from "./wire.js";
import type { AdapterSuiteOptions, AdapterTrait, SuiteRequest } from "./adapter-suite.js";
import { ManualClock } from "../manual-clock.js";

/** One test of the suite. */
export interface Case {
  /** With the numbers of the checklist where it has one. */
  readonly name: string;
  readonly needs?: AdapterTrait;
  run(start: Start): Promise<void>;
}

/** Starts the server under test. Without options: a bucket of 3 that gets one token a second, for each `X-User`. */
export type Start = (options?: SuiteOptions) => Promise<Server>;

/** The options that a test changes. */
interface SuiteOptions extends Partial<SharedOptions<SuiteRequest>> {
  readonly policy?: PolicyOptions | Policy | ((request: SuiteRequest) => Policy);
  readonly store?: Store;
  readonly onStoreError?: OwnLimiter<SuiteRequest>["onStoreError"];
  readonly storeTimeoutMs?: number;
  readonly shadow?: boolean;
}

/** The server under test, and a client for it. */
export interface Server {
  readonly port: number;
  /** Stands still until it is moved. The default store goes by it. */
  readonly clock: ManualClock;
  /** The paths that got past a limiter. */
  readonly entered: readonly string[];
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  ask(path: string, request: Ask): Promise<Answer>;
  connect(): Promise<Line>;
  /** Waits for something that follows by itself. */
  eventually(holds: () => boolean, what: string): Promise<void>;
  /** Lets held handlers go on. */
  release(): void;
}

/** The default policy. */
const POLICY = { name: "suite", capacity: 3, refill: { tokens: 1, everyMs: 1_000 } } as const;
/** The policy in front of `/bulk`. */
export const BULK = { name: "bulk", capacity: 2, refill: { tokens: 1, everyMs: 10_000 } } as const;

/** The caller, as the suite's requests name it. */
export const keyOf = (request: SuiteRequest): readonly [string, string | null | undefined] => ["user", request.header("x-user")];

/** Runs one test with servers of its own, and stops them. */
export async function runCase({ serve, deadlineMs = 5_000 }: AdapterSuiteOptions, { run }: Case): Promise<void> {
  const stops: Array<() => unknown> = [];
  try {
    await run(async (options = {}) => {
      const clock = new ManualClock(1_000_000);
      const entered: string[] = [];
      let release = (): void => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      stops.push(release);
      const { port, close } = await serve({
        options: (read) => translate(withDefaults(options, clock.now), read),
        bulk: (read) => translate(withDefaults({ policy: BULK, ...(options.store && { store: options.store }) }, clock.now), read),
        entered: (path) => void entered.push(path),
        held: () => held,
      });
      stops.push(close);
      return {
        port,
        clock,
        entered,
        release,
        get: async (path, headers = { "X-User": "ann" }) => ask(await connect(port, deadlineMs), path, { headers }),
        ask: async (path, request) =>
          ask(await connect(port, deadlineMs), path, { ...request, headers: { "X-User": "ann", ...request.headers } }),
        connect: () => connect(port, deadlineMs),
        eventually: (holds, what) => eventually(holds, what, deadlineMs),
      };
    });
  } finally {
    for (const stop of stops) await stop();
  }
}

function withDefaults(options: SuiteOptions, clock: Clock): GateOptions<SuiteRequest> {
  const own = options.store === undefined ? { clock } : {};
  return { policy: POLICY, key: keyOf, ...own, ...options };
}

type Translatable = SharedOptions<SuiteRequest> & Pick<OwnLimiter<SuiteRequest>, "policy">;

/** The same options for a framework's own request. */
function translate<Request>(options: GateOptions<SuiteRequest>, read: (request: Request) => SuiteRequest): GateOptions<Request> {
  const { key, cost, skip, policy, body, onDecision, refundWhen, ...plain } = options as Translatable;
  return {
    ...plain,
    key: (request) => key(read(request)),
    policy: typeof policy === "function" ? (request) => policy(read(request)) : policy,
    ...(cost !== undefined && { cost: typeof cost === "function" ? (request: Request) => cost(read(request)) : cost }),
    ...(skip && { skip: (request: Request) => skip(read(request)) }),
    ...(body && { body: (problem, decision, request: Request) => body(problem, decision, read(request)) }),
    ...(onDecision && { onDecision: (decision, request: Request) => onDecision(decision, read(request)) }),
    ...(refundWhen && { refundWhen: (outcome, request: Request) => refundWhen(outcome, read(request)) }),
  };
}
