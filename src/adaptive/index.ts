/**
 * A limit on requests in flight that finds its own number.
 *
 * Experimental: names, defaults and how the number moves may change in a minor version.
 * @module sluice/adaptive
 * @experimental
 */
import { checkClock, checkName, checkOptions, expected, positiveInteger } from "../core/check.js";
import { monotonicClock, type Clock } from "../core/clock.js";
import type { Decision } from "../core/decision.js";
import type { Key } from "../core/key.js";
import { definePolicy, type Policy } from "../core/policy.js";
import { createLimiter } from "../limiter/create-limiter.js";
import { plainInternalsOf } from "../limiter/internals.js";
import type { ConsumeOptions, PlainLimiter } from "../limiter/limiter.js";
import { quietly } from "../limiter/now-or-later.js";
import type { Observer } from "../limiter/observer.js";
import { isUnlimited, type Unlimited } from "../limiter/unlimited.js";
import { whenDone } from "../limits/in-flight.js";
import type { AnswerWatch, DecidedCharge, Overload } from "../port/overload.js";
import { MemoryStore } from "../stores/memory/memory.js";
import { countArriving, createAnswerWatch, type ArrivingRequest } from "./answer.js";
import { LoadLimit } from "./load.js";
import { chargeOneKey } from "./one-key.js";

/** The options of {@link adaptive}. */
export interface AdaptiveOptions {
  /** The name of its policies, for refusals and observers. Default `"service"`. */
  readonly name?: string | undefined;
  /** The fewest requests in flight that are allowed, however slow the service is. At least 1, which is the default. */
  readonly least?: number | undefined;
  /** The most requests in flight that are allowed, however fast the service is. At most 100,000, default 1,000. */
  readonly most?: number | undefined;
  /** Receives every decision: `createObserver((event) => …)`. */
  readonly observe?: Observer | undefined;
  /** The clock. Default: the platform's monotonic clock. */
  readonly clock?: Clock | undefined;
  /**
   * Returns a number from 0 to 1, which 1 is not. It spreads `Retry-After`. Default: `Math.random`, which also takes the
   * place of any other number.
   */
  readonly random?: (() => number) | undefined;
}

/** A limit that finds its own number. Made by {@link adaptive}. */
export interface Adaptive {
  /**
   * The limiter, for the option `limiter` of `rateLimit`. It charges all requests under the key `"service"`, whatever the
   * option `key` returns.
   */
  readonly limiter: PlainLimiter<MemoryStore>;
  /**
   * Returns the policy of requests that may use a share of the number: above 0, at most 1. With 0.7, batch work leaves 30 %
   * to requests with the share 1. A share is at least one request. Keep the policy if you like: it follows the number.
   */
  policyFor(share: number): Policy;
  /** How many requests may be in flight now. */
  readonly number: number;
  /** How many are in flight now. Requests whose bodies arrive are left out. */
  readonly inFlight: number;
}

const MOST_PLACES = 100_000;
const ALL_CALLERS = "service";
/** Policies that are remembered, of each kind. Beyond it they are made again. */
const MOST_REMEMBERED = 1_000;
/** The place of a client that left is kept for at most so many usual times, since its admission. */
const KEPT_TIMES = 4;
const LEAST_WAIT_MS = 1_000;
const JITTER_MS = 3_000;
const ADAPTIVE_OPTIONS = ["name", "least", "most", "observe", "clock", "random"];

/**
 * Makes a limit on the requests in flight of this process, for all callers together. Its number follows what the service
 * can do: a gate measures the time from the admission of each request to the first byte of its answer.
 *
 * A refused caller did nothing wrong: the gate answers 503 with the code `"overloaded"`, a `Retry-After` of 1 to 4
 * seconds at random, and no `RateLimit` field. A place comes back with the first byte of the answer. `run` takes a place,
 * too, but measures nothing.
 *
 * Throws a TypeError or RangeError that names the wrong option.
 * @example
 * const load = adaptive({ name: "service", least: 2, most: 500 });
 * app.use(
 *   rateLimit({
 *     limiter: load.limiter,
 *     policy: (request) => load.policyFor(request.path.startsWith("/recount") ? 0.7 : 1),
 *     key: () => "service",
 *   }),
 * );
 * @experimental
 */
export function adaptive(options: AdaptiveOptions = {}): Adaptive {
  if (Object.hasOwn(Object(options) as object, "store")) throw new TypeError(NO_STORE);
  const own = checkOptions(options, ADAPTIVE_OPTIONS);
  const { name = "service", least = 1, most = 1_000, observe, clock = monotonicClock, random = Math.random } = own;
  checkName("name", name);
  checkBounds(least, most);
  checkClock(clock);
  if (typeof random !== "function") throw new TypeError(expected("random", "a function that returns a number", random));

  const load = new LoadLimit({ least, most });
  const now = (): number => (typeof clock === "function" ? clock() : clock.now());
  const returns = whenDone({ retryAfterMs: LEAST_WAIT_MS });
  const policyOf = remembered((capacity) => definePolicy({ name, capacity, returns }));
  // What users get stands for its share. A call charges the policy whose capacity is that share of the number.
  const shares = new WeakMap<object, number>();
  const shareOf = remembered((share) => {
    const policy = definePolicy({ name, capacity: Math.max(1, Math.floor(share * most)), returns });
    shares.set(policy, share);
    return policy;
  });

  const limiter = createLimiter({
    policy: policyFor(1), store: new MemoryStore({ clock }), ...(observe !== undefined && { observe }),
  });
  chargeOneKey(limiter, ALL_CALLERS);
  const { consume, peek } = limiter;
  const internals = plainInternalsOf(limiter);
  /** Places whose clients have left, until their handlers write. */
  const kept: { readonly until: number; free(): void }[] = [];
  const arriving = new Set<ArrivingRequest>();
  const uploads = (): number => countArriving(arriving, most); // they hold places beside those of the number

  type Asked = number | ConsumeOptions | undefined;
  Object.assign(limiter, {
    consume: (key: Key, asked: Asked) => withJitter(consume(key, atNumber(asked))),
    peek: (key: Key, asked: Asked) => withJitter(peek(key, atNumber(asked))),
  });
  const overload: Overload = Object.assign(admitted, { code: "overloaded" });
  Object.assign(internals, { overload, alone });

  return {
    limiter,
    policyFor,
    get number() {
      return numberAt(now());
    },
    get inFlight() {
      numberAt(now()); // lets go of places that were kept long enough
      return inFlight();
    },
  };

  function admitted({ decision: made }: DecidedCharge, request: unknown): AnswerWatch | undefined {
    const decision = made as Decision;
    if (!decision.allowed) return undefined;
    const at = now();
    // What it might use of the number: a share of few places is rounded.
    const share = (decision.capacity - uploads()) / load.number(at);
    let entry = load.enter(inFlight());
    return createAnswerWatch(request, {
      at,
      now,
      arriving,
      arrived: () => void (entry = load.enter(inFlight())),
      giveBack: () => void quietly(internals.settle(ALL_CALLERS, decision, {}, undefined, true)),
      sample: (answeredAt, ms, failed) => load.sample(answeredAt, ms, entry, failed, share),
      left(leftAt, ms, free) {
        if (free !== null) kept.push({ until: at + KEPT_TIMES * load.typicalMs, free });
        if (ms !== null) load.left(leftAt, ms, entry, share);
      },
    });
  }

  function inFlight(): number {
    return 2 * most - peek(ALL_CALLERS, { cost: 0, policy: policyOf(2 * most) }).remaining - uploads();
  }

  /** Returns the number, after it has let go of the places that were kept long enough for handlers without a client. */
  function numberAt(instant: number): number {
    if (kept.some(({ until }) => until <= instant)) {
      for (const { until, free } of kept.splice(0)) {
        if (until <= instant) free();
        else kept.push({ until, free });
      }
    }
    return load.number(instant);
  }

  function policyFor(share: number): Policy {
    if (typeof share !== "number" || !(share > 0 && share <= 1)) {
      const cure = share > 1 && share <= 100 ? `. For ${share} % write ${share / 100}` : "";
      throw new RangeError(expected("share", "above 0 and at most 1", share) + cure);
    }
    return shareOf(share);
  }

  /** Returns what a call asks for, with the policy of the number now. */
  function atNumber(asked: number | ConsumeOptions | undefined): ConsumeOptions {
    const given = typeof asked === "object" && asked !== null ? asked : { cost: asked };
    const policy: Policy | Unlimited = (Object.hasOwn(given, "policy") ? given.policy : undefined) ?? policyFor(1);
    if (isUnlimited(policy)) return { ...given, policy };
    const share = shares.get(policy);
    if (share === undefined) {
      throw new TypeError(`${expected("policy", "made by `policyFor`", policy)}. Write \`load.policyFor(1)\``);
    }
    return { ...given, policy: policyOf(Math.max(1, Math.floor(share * numberAt(now()))) + uploads()) };
  }

  function withJitter(decision: Decision): Decision {
    const { reason, cost } = decision;
    // A cost above the number of now fits into a later one.
    const isRefused = reason === "limited" || (reason === "cost_above_capacity" && cost <= most);
    if (!isRefused || Object.hasOwn(decision, "blocked")) return decision;
    const drawn = random();
    const part = drawn >= 0 && drawn < 1 ? drawn : Math.random();
    return { ...decision, reason: "limited", retryAfterMs: LEAST_WAIT_MS + Math.floor(part * JITTER_MS) };
  }

  function alone(): never {
    throw new TypeError(
      `Expected a limiter that can be combined or waited for, got "${name}" of \`adaptive\`: it measures the answers of its ` +
      "own gate. Mount it in a gate of its own, before the others",
    );
  }
}

const NO_STORE =
  "Expected no `store`, because the number is what this process can do: requests in flight of other processes say nothing " +
  "of it. Leave `store` out, and make one `adaptive` in each process";

function checkBounds(least: number, most: number): void {
  positiveInteger("least", least);
  if (positiveInteger("most", most) > MOST_PLACES) throw new RangeError(expected("most", `at most ${MOST_PLACES}`, most));
  if (least > most) throw new RangeError(expected("least", `at most \`most\`, ${most}`, least));
}

function remembered(make: (number: number) => Policy): (number: number) => Policy {
  const made = new Map<number, Policy>();
  return (number) => {
    let policy = made.get(number);
    if (policy === undefined) {
      if (made.size >= MOST_REMEMBERED) made.clear();
      made.set(number, (policy = make(number)));
    }
    return policy;
  };
}
