import { monotonicClock } from "../core/clock.js";
import type { Policy } from "../core/policy.js";
import type { Store } from "../core/store.js";
import { MemoryStore } from "../stores/memory/memory.js";
import { builtin, platform } from "./platform.js";
import { isQuiet, warnOnce } from "./warnings.js";

/** So many limiters of one policy within a minute are not made at the start. */
const MANY = 100;
const MINUTE_MS = 60_000;

/** Looks at a limiter that is being made, and warns of what cannot be meant. */
export function lookAtLimiter(policy: Policy, store: Store): void {
  // A clock of one's own means tests, which make limiters by the hundred.
  if (store.clock !== "server" && store.clock !== monotonicClock) return;
  if (isOneOfMany(policy)) {
    warnOnce("SLUICE_LIMITER_PER_REQUEST", `${MANY} limiters of policy "${policy.name}" were made within a minute: make one, and keep it`);
  }
  if (store instanceof MemoryStore && isClusterWorker()) {
    warnOnce("SLUICE_MEMORY_IN_CLUSTER", `Each worker of this cluster counts policy "${policy.name}" by itself, in its own memory`);
  }
}

const made = new Map<string, number>();
let madeSince = -Infinity;
let isCounted = false;

function isOneOfMany(policy: Policy): boolean {
  if (isCounted || isQuiet("SLUICE_LIMITER_PER_REQUEST")) return false;
  // What is made in one go, such as one for each of many routes, counts as one.
  isCounted = true;
  queueMicrotask(() => (isCounted = false));
  const now = monotonicClock();
  if (now - madeSince > MINUTE_MS) {
    made.clear();
    madeSince = now;
  }
  const which = JSON.stringify([policy.name, ...policy.limits.map(({ capacity, refill }) => [capacity, refill])]);
  const count = (made.get(which) ?? 0) + 1;
  made.set(which, count);
  return count >= MANY;
}

function isClusterWorker(): boolean {
  // Only a process with a line to its parent can be one, and no other should load the module.
  if (platform.process?.send === undefined || isQuiet("SLUICE_MEMORY_IN_CLUSTER")) return false;
  return builtin<{ readonly isWorker: boolean }>("node:cluster")?.isWorker === true;
}
