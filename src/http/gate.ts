import { createRequestCheck } from "#diagnostics";
import type { Decision } from "../core/decision.js";
import { expected } from "../core/check.js";
import { UNIDENTIFIED, type Key } from "../core/key.js";
import { makeLimit, perSecond } from "../core/limit.js";
import { definePolicy, isPolicy, Policy } from "../core/policy.js";
import type { Store } from "../core/store.js";
import { namesIn, NOTHING } from "./responses/cors.js";
import { createLimiter, defaultStore } from "../limiter/create-limiter.js";
import type { Limiter } from "../limiter/limiter.js";
import { LIMITER_OPTIONS } from "../limiter/options.js";
import { isShadow } from "../limiter/internals.js";
import { DEFAULT_STYLES, createHeaderWriter, type FieldList } from "./headers/writer.js";
import { checkGateOptions } from "./check-options.js";
import { createProxyCheck } from "./proxy-address.js";
import type { GateOptions, MaybeKey, Outcome, OwnLimiter } from "./options.js";
import { perPolicy } from "./headers/per-policy.js";
import { makeRefusals } from "./refusal/refusal.js";

/** How a gate reads a framework's request. */
export interface RequestReader<Request> {
  /** The method, in capitals. */
  method(request: Request): string;
  /** A header field, by its lower-case name; null or undefined when it is absent. */
  header(request: Request, name: string): string | readonly string[] | null | undefined;
}

/** What is to happen with a request. */
export type Verdict = Skip | Pass | Refuse;

/** Not limited: answer as if there were no gate. */
export interface Skip {
  readonly outcome: "skip";
}

/** Go on, with these header fields on whatever the answer will be. */
export interface Pass {
  readonly outcome: "pass";
  readonly fields: FieldList;
  /** Names to add to `Access-Control-Expose-Headers`; empty when the request did not come from another origin. */
  readonly expose: readonly string[];
  readonly decision: Decision;
  /** Call it once with how the request ended; null when nobody asked to know. Resolves when refunded tokens are back. */
  readonly settle: ((outcome: Outcome) => void | Promise<void>) | null;
}

/** Answer with exactly this, without calling the handler. */
export interface Refuse {
  readonly outcome: "refuse";
  readonly status: 400 | 401 | 429 | 500 | 503;
  readonly fields: FieldList;
  readonly expose: readonly string[];
  /** JSON text, never empty. */
  readonly body: string;
  /** Null when the caller was refused for want of a key. */
  readonly decision: Decision | null;
}

/** Says what is to happen with a request: at once when nothing that it asks answers later. */
export type Gate<Request> = (request: Request) => Verdict | Promise<Verdict>;

const SKIP: Skip = { outcome: "skip" };

// The limiter's own policy where each request brings another: never asked, and of a name that no other policy can have.
const PICKED = new Policy("", [makeLimit({ capacity: 1, refill: perSecond(1) }, "")]);

/**
 * Makes the middleware without a framework: facts of a request in, a verdict out.
 *
 * Throws a TypeError or RangeError that names the wrong option.
 * @example
 * const gate = createGate<Request>(
 *   { policy: { capacity: 30, refill: perSecond(5) }, key: (request) => request.headers.get("x-device-id") },
 *   { method: (request) => request.method, header: (request, name) => request.headers.get(name) },
 * );
 * const verdict = await gate(new Request("http://localhost/inbox"));
 */
export function createGate<Request>(options: GateOptions<Request>, reader: RequestReader<Request>): Gate<Request> {
  checkGateOptions(options);
  const { key: keyOf, cost: costOption = 1, skip, onDecision, refundWhen, partitionKey, unidentified = "share" } = options;
  const wallClock = checkedClock(options.wallClock ?? Date.now);
  const styles = options.headers ?? DEFAULT_STYLES;
  if (partitionKey !== undefined && !styles.includes("draft-11")) {
    throw new TypeError('Expected `headers` to include "draft-11", which alone says `partitionKey`, got styles without it');
  }
  const writer = createHeaderWriter(styles, wallClock);
  const refusals = makeRefusals({ ...options, wallClock });
  const checkOnce = perPolicy(writer.check);

  const pickPolicy = typeof options.policy === "function" ? options.policy : null;
  const limiter: Limiter = options.limiter ?? makeLimiter(pickPolicy === null ? definePolicy(options.policy as Policy) : PICKED);
  if (pickPolicy === null) {
    checkPolicy(limiter.policy);
    if (typeof costOption === "number" && costOption > limiter.policy.maxCost) {
      throw new RangeError(expected("cost", `at most the capacity, ${limiter.policy.maxCost}`, costOption));
    }
  }
  const shadow = isShadow(limiter);
  const checkRequest = createRequestCheck(limiter.store ?? limiter);
  const checkProxy = createProxyCheck(reader);
  return gate;

  function gate(request: Request): Verdict | Promise<Verdict> {
    if (isPreflight(request)) return SKIP;
    const skipped = skip?.(request) ?? false;
    return isPromise(skipped) ? skipped.then((yes) => (yes ? SKIP : identify(request))) : skipped ? SKIP : identify(request);
  }

  function identify(request: Request): Verdict | Promise<Verdict> {
    const key = keyOf(request);
    return isPromise(key) ? key.then((known) => price(request, known)) : price(request, key);
  }

  function price(request: Request, key: MaybeKey): Verdict | Promise<Verdict> {
    const caller = callerOf(key);
    if (caller === UNIDENTIFIED && unidentified === "skip") return SKIP;
    if (caller === UNIDENTIFIED && unidentified === "refuse") {
      if (shadow) return SKIP;
      return refusals.unidentified({ request, crossOrigin: isCrossOrigin(request) });
    }
    const cost = typeof costOption === "number" ? costOption : costOption(request);
    return isPromise(cost) ? cost.then((known) => decide(request, caller, known)) : decide(request, caller, cost);
  }

  function decide(request: Request, key: Key, cost: number): Verdict | Promise<Verdict> {
    if (pickPolicy === null) return spend(request, key, cost, limiter.policy);
    const policy = pickPolicy(request);
    return isPromise(policy)
      ? policy.then((known) => spend(request, key, cost, checkPolicy(known)))
      : spend(request, key, cost, checkPolicy(policy));
  }

  function spend(request: Request, key: Key, cost: number, policy: Policy): Verdict | Promise<Verdict> {
    const decision = limiter.consume(key, policy === limiter.policy ? cost : { cost, policy });
    // Not by isPromise, which sees too many kinds of objects already for the engine to be quick about one more.
    return "allowed" in decision
      ? judge(request, key, policy, decision)
      : decision.then((known) => judge(request, key, policy, known));
  }

  function judge(request: Request, key: Key, policy: Policy, decision: Decision): Verdict {
    checkRequest(request, key, policy.name);
    checkProxy(request, key, policy.name);
    onDecision?.(decision, request);
    // Numbers on trial are nothing for clients to go by.
    const fields = shadow ? NOTHING : writer.write(policy, decision, key === UNIDENTIFIED ? undefined : partitionKey?.(key));
    const crossOrigin = isCrossOrigin(request);
    if (!decision.allowed) return refusals.refuse({ request, crossOrigin }, policy, decision, fields);
    const settle = refundWhen === undefined ? null : (outcome: Outcome) => settleOnce(request, key, policy, decision, outcome);
    return { outcome: "pass", fields, expose: crossOrigin ? namesIn(fields) : NOTHING, decision, settle };
  }

  // The limiter refunds a decision once, however often it is asked. The request is over: an error here could only end the
  // process, and leaving the tokens spent is the safe side.
  async function settleOnce(request: Request, key: Key, policy: Policy, decision: Decision, outcome: Outcome): Promise<void> {
    try {
      if (refundWhen?.(outcome, request) === true) await limiter.refund(key, decision, { policy });
    } catch {
      return;
    }
  }

  function makeLimiter(policy: Policy): Limiter {
    const own = Object.fromEntries(LIMITER_OPTIONS.map((name) => [name, options[name]]));
    return createLimiter<Store>({ ...(own as Partial<OwnLimiter<Request>>), policy });
  }

  function checkPolicy(policy: Policy): Policy {
    if (!isPolicy(policy)) throw new TypeError(expected("policy()", "made by definePolicy", policy));
    checkOnce(policy);
    return policy;
  }

  function isPreflight(request: Request): boolean {
    return (
      reader.method(request) === "OPTIONS" && isCrossOrigin(request) && Boolean(reader.header(request, "access-control-request-method"))
    );
  }

  function isCrossOrigin(request: Request): boolean {
    return isPresent(reader.header(request, "origin"));
  }
}

// A date made of nonsense would be sent without a word.
function checkedClock(clock: () => number): () => number {
  return () => {
    const now = clock();
    if (!Number.isFinite(now)) throw new RangeError(expected("wallClock()", "a finite number of milliseconds", now));
    return now;
  };
}

function isPresent(value: unknown): boolean {
  return value !== null && value !== undefined;
}

// Only what is missing makes a caller unidentified; what is wrong goes on to the limiter, which throws.
function callerOf(key: MaybeKey): Key {
  if (key === null || key === undefined || key === "") return UNIDENTIFIED;
  if (!Array.isArray(key)) return key as Key;
  const parts: unknown[] = [];
  for (const part of key as readonly unknown[]) {
    // Node gives a header field that was sent several times as a list.
    const whole = Array.isArray(part) ? part.join(",") : part;
    if (whole === null || whole === undefined || whole === "") return UNIDENTIFIED;
    parts.push(whole);
  }
  return parts.length > 0 ? (parts as unknown as Key) : UNIDENTIFIED;
}

/** Whether an answer comes later. */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** The options with a store filled in where a gate would make its own, for gates that are to share it. */
export function shareStore<Request>(options: GateOptions<Request>): GateOptions<Request> {
  if (options?.limiter !== undefined || options?.store !== undefined) return options;
  return { ...options, store: defaultStore(options?.clock) };
}
