import { monotonicClock } from "../core/clock.js";
import type { Policy } from "../core/policy.js";
import type { Store } from "../port/store.js";
import { builtin, withProcess } from "../platform.js";
import { isQuiet, warnOnce } from "../warnings/warnings.js";
import { checkClaim } from "./claims.js";
import { noteName } from "./moving/policy-name.js";
import { checkPolicyName } from "./policy-names.js";
import { checkQuota } from "./quotas.js";
import { checkClientTimeout } from "./stores/client-timeout.js";
import { checkSharedMemory } from "./stores/shared-memory.js";

// An application that makes 100 limiters of one policy within a minute makes one for each request.
const MANY = 100;
const MINUTE_MS = 60_000;
// The most policies that are counted within a minute.
const MOST_POLICIES = 1_000;

/**
 * Throws for a policy that disagrees with another limiter on the store. Warns about a limiter for each request, a store
 * with 1,000 policy names, and local memory in a cluster or where nothing is shared.
 */
export function checkLimiter(policy: Policy, store: Store): void {
  checkClaim(store, policy);
  noteName(policy.name);
  // Tests make hundreds of limiters, with clocks of their own.
  const isOwn = store.clock === "server" || store.clock === monotonicClock;
  // A synchronous store without a guard is in this process's memory.
  const isMemory = store.sync && store.guard === undefined;
  checkQuota(policy, isMemory);
  checkClientTimeout(policy, store);
  if (!isOwn && store.clock !== Date.now) return;
  if (isOneOfMany(policy)) {
    warnOnce(
      "SLUICE_LIMITER_PER_REQUEST",
      `${MANY} limiters of policy "${policy.name}" were made within a minute. Make one and reuse it`,
    );
  }
  checkPolicyName(store, policy.name);
  if (isMemory) checkSharedMemory(policy);
  if (isMemory && isClusterWorker()) {
    warnOnce(
      "SLUICE_MEMORY_IN_CLUSTER",
      `Each worker of this cluster counts policy "${policy.name}" separately, in its memory. Use a store that all workers share`,
    );
  }
}

const made = new Map<string, number>();
let countingSince = -Infinity;
let wasCountedNow = false;

function isOneOfMany(policy: Policy): boolean {
  if (wasCountedNow || isQuiet("SLUICE_LIMITER_PER_REQUEST")) return false;
  // Limiters made in one turn, such as one for each of many routes, count as one.
  wasCountedNow = true;
  queueMicrotask(() => (wasCountedNow = false));
  const now = monotonicClock();
  if (now - countingSince > MINUTE_MS || made.size >= MOST_POLICIES) {
    made.clear();
    countingSince = now;
  }
  const numbers = JSON.stringify([
    policy.name, ...policy.limits.map(({ capacity, refill, renews }) => [capacity, refill ?? renews]),
  ]);
  const count = (made.get(numbers) ?? 0) + 1;
  made.set(numbers, count);
  return count >= MANY;
}

function isClusterWorker(): boolean {
  // Only a process with a channel to its parent can be a worker. Other processes should not load the module.
  if (withProcess(({ send }) => send) === undefined || isQuiet("SLUICE_MEMORY_IN_CLUSTER")) return false;
  return builtin<{ readonly isWorker: boolean }>("node:cluster")?.isWorker === true;
}
