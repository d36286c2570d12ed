import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { Registry } from "prom-client";
import { createLimiter, createObserver, perSecond, type LimiterEvent, MemoryStore } from "sluice";
import { expect, test } from "vitest";
import { buildServer } from "../../examples/metrics/main.js";
import { measureWith } from "../../examples/metrics/opentelemetry.js";
import { measureIn } from "../../examples/metrics/prometheus.js";
import { UnsteadyStore } from "../helpers/unsteady-store.js";
import { expectWarnings } from "../setup/warnings.js";

const KEY = "ann@example.org";

/** Two decisions by a store, then one without it and a refund that fails; with `shadow: true` one refusal that was none; and one by a store in memory. */
async function live(observe: (event: LimiterEvent) => void): Promise<void> {
  const policy = { name: "api", capacity: 5, refill: perSecond(1) };
  const clock = (): number => 0;
  const store = new UnsteadyStore(clock, { breaker: { failures: 1 } });
  const limiter = createLimiter({ policy, store, observe: createObserver(observe) });
  expectWarnings("SLUICE_SETTLEMENT_FAILED");
  const decision = await limiter.consume(KEY, 5);
  await limiter.consume(KEY);
  store.health = "down";
  await limiter.consume(KEY);
  // One key that fails is no outage yet.
  await limiter.peek("bob").catch(() => undefined);
  await limiter.refund(KEY, decision).catch(() => undefined);
  createLimiter({ policy: { ...policy, name: "trial" }, store: new MemoryStore({ clock }), shadow: true, observe: createObserver(observe) }).consume(KEY, 6);
}

/** Collects when it is told to. */
class Reader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

test("OpenTelemetry counts decisions, times stores and knows which are unavailable, by policy", async () => {
  const reader = new Reader();
  const provider = new MeterProvider({ readers: [reader] });
  await live(measureWith(provider.getMeter("sluice")));
  const { resourceMetrics, errors } = await reader.collect();
  expect(errors).toEqual([]);
  const measured = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
  const points = (name: string) => {
    const metric = measured.find(({ descriptor }) => descriptor.name === name);
    return { unit: metric?.descriptor.unit, points: metric?.dataPoints.map(({ attributes, value }) => ({ attributes, value })) };
  };
  const api = { "sluice.policy": "api" };
  expect(points("sluice.decisions")).toEqual({
    unit: "{decision}",
    points: [
      { attributes: { ...api, "sluice.outcome": "allowed", "sluice.degraded": false }, value: 1 },
      { attributes: { ...api, "sluice.outcome": "limited", "sluice.reason": "limited", "sluice.degraded": false }, value: 1 },
      { attributes: { ...api, "sluice.outcome": "allowed", "sluice.degraded": true }, value: 1 },
      {
        attributes: {
          "sluice.policy": "trial",
          "sluice.outcome": "shadow_refused",
          "sluice.reason": "cost_above_capacity",
          "sluice.degraded": false,
        },
        value: 1,
      },
    ],
  });
  expect(points("sluice.store.duration")).toMatchObject({
    unit: "s",
    points: [
      { attributes: { ...api, "sluice.degraded": false }, value: { count: 2 } },
      { attributes: { ...api, "sluice.degraded": true }, value: { count: 1 } },
    ],
  });
  expect(points("sluice.settlements.failed")).toEqual({ unit: "{settlement}", points: [{ attributes: api, value: 1 }] });
  expect(points("sluice.store.unavailable")).toEqual({ unit: "{store}", points: [{ attributes: {}, value: 1 }] });
  // Before the first 429. The decision without the store is not counted.
  expect(points("sluice.near_limit")).toEqual({ unit: "{decision}", points: [{ attributes: api, value: 1 }] });
  expect(points("sluice.fresh")).toEqual({ unit: "{decision}", points: [{ attributes: api, value: 1 }] });
  expect(JSON.stringify(measured)).not.toContain("ann");
  await provider.shutdown();
});

test("Prometheus counts the same", async () => {
  const registry = new Registry();
  await live(measureIn(registry));
  const text = await registry.metrics();
  const lines = text.split("\n").filter((line) => /^sluice_(decisions|near|fresh|settlements|store_unavailable)|_count/.test(line));
  expect(lines).toEqual([
    'sluice_decisions_total{policy="api",outcome="allowed",reason="none",degraded="false"} 1',
    'sluice_decisions_total{policy="api",outcome="limited",reason="limited",degraded="false"} 1',
    'sluice_decisions_total{policy="api",outcome="allowed",reason="none",degraded="true"} 1',
    'sluice_decisions_total{policy="trial",outcome="shadow_refused",reason="cost_above_capacity",degraded="false"} 1',
    'sluice_store_duration_seconds_count{policy="api",degraded="false"} 2',
    'sluice_store_duration_seconds_count{policy="api",degraded="true"} 1',
    'sluice_near_limit_total{policy="api"} 1',
    'sluice_fresh_total{policy="api"} 1',
    'sluice_settlements_failed_total{policy="api"} 1',
    'sluice_store_unavailable 1',
  ]);
  expect(text).not.toContain("ann");
});

test.each(["OpenTelemetry", "Prometheus"])("%s counts no caller of a limit below 5 as near: it would count each request of a limit of 1", async (which) => {
  const reader = new Reader();
  const provider = new MeterProvider({ readers: [reader] });
  const registry = new Registry();
  const observe = createObserver(which === "Prometheus" ? measureIn(registry) : measureWith(provider.getMeter("sluice")));
  const store = new MemoryStore({ clock: () => 0 });
  for (const capacity of [1, 4, 5]) {
    const limiter = createLimiter({ policy: { name: `of-${capacity}`, capacity, refill: perSecond(1) }, store, observe });
    for (let i = 0; i < capacity; i++) limiter.consume(KEY);
  }
  const { resourceMetrics } = await reader.collect();
  const near = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics).find(({ descriptor }) => descriptor.name === "sluice.near_limit")?.dataPoints ?? [];
  const values = which === "Prometheus" ? ((await registry.getSingleMetric("sluice_near_limit_total")?.get())?.values.map(({ labels, value }) => [labels["policy"], value]) ?? []) : near.map(({ attributes, value }) => [attributes["sluice.policy"], value]);
  expect(values).toEqual([["of-5", 2]]);
  await provider.shutdown();
});

test.each(["OpenTelemetry", "Prometheus"])("%s knows of a store that came back", async (which) => {
  const reader = new Reader();
  const provider = new MeterProvider({ readers: [reader] });
  const registry = new Registry();
  const observe = which === "Prometheus" ? measureIn(registry) : measureWith(provider.getMeter("sluice"));
  const store = new UnsteadyStore(() => 0, { breaker: false });
  const limiter = createLimiter({ policy: { name: "api", capacity: 2, refill: perSecond(1) }, store, observe: createObserver(observe) });
  for (const health of ["down", "up"] as const) {
    store.health = health;
    for (let i = 0; i < 5; i++) await limiter.consume(`${KEY} ${i}`);
  }
  const { resourceMetrics } = await reader.collect();
  const unavailable = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics).find(({ descriptor }) => descriptor.name === "sluice.store.unavailable");
  const value = which === "Prometheus" ? (await registry.getSingleMetric("sluice_store_unavailable")?.get())?.values[0]?.value : unavailable?.dataPoints[0]?.value;
  expect(value).toBe(0);
  await provider.shutdown();
});

test("the example's server limits its inbox and tells Prometheus of it", async () => {
  const server = buildServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const get = (path: string) => fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { headers: { authorization: "Bearer token-of-ann" } });
    for (let i = 0; i < 3; i++) expect((await get("/inbox")).status).toBe(200);
    const metrics = await get("/metrics");
    expect(metrics.headers.get("content-type")).toMatch(/^text\/plain/);
    const text = await metrics.text();
    expect(text).toContain('sluice_decisions_total{policy="interactive",outcome="allowed",reason="none",degraded="false"} 3\n');
    expect(text).not.toContain("ann");
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
