/** Prometheus metrics of limiters. The caller is never a label, so that there are few series. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { LimiterEvent, MemoryStore } from "sluice";

/** A listener for `createObserver`. One observer serves all limiters. */
export function measureIn(registry: Registry): (event: LimiterEvent) => void {
  const registers = [registry];
  const decisions = new Counter({
    name: "sluice_decisions_total",
    help: "Decisions about requests, by outcome.",
    labelNames: ["policy", "outcome", "reason", "degraded"],
    registers,
  });
  const durations = new Histogram({
    name: "sluice_store_duration_seconds",
    help: "The time that a decision waited for its store.",
    labelNames: ["policy", "degraded"],
    // Up to the timeout of the store, 100 ms by default, and a little beyond.
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers,
  });
  const near = new Counter({
    name: "sluice_near_limit_total",
    help: "Allowed requests that left at most 20 % of a limit of at least 5.",
    labelNames: ["policy"],
    registers,
  });
  const fresh = new Counter({
    name: "sluice_fresh_total",
    help: "Allowed requests of callers who had spent nothing: new ones, and those who come back after a rest.",
    labelNames: ["policy"],
    registers,
  });
  const unsettled = new Counter({
    name: "sluice_settlements_failed_total",
    help: "Settlements and refunds that failed, so that a caller may miss tokens.",
    labelNames: ["policy"],
    registers,
  });
  const unavailable = new Gauge({
    name: "sluice_store_unavailable",
    help: "Stores that are unavailable.",
    registers,
  });

  return (event) => {
    if (event.type === "settlement") return unsettled.inc({ policy: event.policy });
    if (event.type === "store") return event.state === "unavailable" ? unavailable.inc() : unavailable.dec();
    const { policy, outcome, reason, cost, remaining, capacity, durationMs } = event;
    const degraded = String(event.degraded);
    decisions.inc({ policy, outcome, reason: reason ?? "none", degraded });
    // A decision without the store knows only the tokens of a local share.
    const known = outcome === "allowed" && !event.degraded;
    // A smaller limit has a fifth left only when it has nothing left: with a capacity of 1, after each request.
    if (known && capacity >= 5 && remaining <= capacity / 5) near.inc({ policy });
    if (known && cost > 0 && remaining + cost === capacity) fresh.inc({ policy });
    // No value with a store in memory. 0 for a remembered refusal, because no store was called.
    if (durationMs) durations.observe({ policy, degraded }, durationMs / 1_000);
  };
}

/** Counts the buckets that a store in memory forgot too early. Above 0, `maxKeys` is too small, or a client sends many keys. */
export function measureMemory(registry: Registry, store: MemoryStore): void {
  const evicted = new Counter({
    name: "sluice_memory_evicted_total",
    help: "Buckets removed before they were full, because maxKeys was reached.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(store.stats().evictedBusy);
    },
  });
  evicted.inc(0);
}
