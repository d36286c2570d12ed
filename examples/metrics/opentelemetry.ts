/**
 * OpenTelemetry metrics of limiters. The caller is never an attribute, so the number of series is bounded: policies
 * times outcomes.
 */
import type { Attributes, Meter } from "@opentelemetry/api";
import type { LimiterEvent } from "sluice";

/** A listener for `createObserver`. One observer serves all limiters. */
export function measureWith(meter: Meter): (event: LimiterEvent) => void {
  const decisions = meter.createCounter("sluice.decisions", {
    description: "Decisions about requests, by outcome.",
    unit: "{decision}",
  });
  const durations = meter.createHistogram("sluice.store.duration", {
    description: "The time that a decision waited for its store.",
    unit: "s",
    // Up to the timeout of the store, 100 ms by default, and a little beyond.
    advice: { explicitBucketBoundaries: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1] },
  });
  const near = meter.createCounter("sluice.near_limit", {
    description: "Allowed requests that left at most 20 % of a limit of at least 5.",
    unit: "{decision}",
  });
  const fresh = meter.createCounter("sluice.fresh", {
    description: "Allowed requests of callers who had spent nothing: new ones, and those who come back after a rest.",
    unit: "{decision}",
  });
  const unsettled = meter.createCounter("sluice.settlements.failed", {
    description: "Settlements and refunds that failed, so that a caller may miss tokens.",
    unit: "{settlement}",
  });
  const unavailable = meter.createUpDownCounter("sluice.store.unavailable", {
    description: "Stores that are unavailable.",
    unit: "{store}",
  });

  return (event) => {
    if (event.type === "store") return unavailable.add(event.state === "unavailable" ? 1 : -1);
    const policy = { "sluice.policy": event.policy };
    if (event.type === "settlement") return unsettled.add(1, policy);
    const { outcome, reason, degraded, cost, remaining, capacity, durationMs } = event;
    const attributes: Attributes = { ...policy, "sluice.outcome": outcome, "sluice.degraded": degraded };
    if (reason !== null) attributes["sluice.reason"] = reason;
    decisions.add(1, attributes);
    // A decision without the store knows only the tokens of a local share.
    const known = outcome === "allowed" && !degraded;
    // A smaller limit has a fifth left only when it has nothing left: with a capacity of 1, after each request.
    if (known && capacity >= 5 && remaining <= capacity / 5) near.add(1, policy);
    if (known && cost > 0 && remaining + cost === capacity) fresh.add(1, policy);
    // No value with a store in memory. 0 for a remembered refusal, because no store was called.
    if (durationMs) durations.record(durationMs / 1_000, { ...policy, "sluice.degraded": degraded });
  };
}
