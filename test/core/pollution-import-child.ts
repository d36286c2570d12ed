// What the package does when `Object.prototype` has members that it should not have before the package is loaded: a process
// of its own for it. The arguments name the value that every member gets.
import type { GateOptions } from "sluice/http";
import { NAMES, POLLUTIONS } from "./pollution-names.js";

/** Every entry but the one for tests. Each loader is a separate file of the bundle. */
const ENTRIES: Readonly<Record<string, () => Promise<unknown>>> = {
  sluice: () => import("sluice"),
  "sluice/store": () => import("sluice/store"),
  "sluice/node": () => import("sluice/node"),
  "sluice/express": () => import("sluice/express"),
  "sluice/fastify": () => import("sluice/fastify"),
  "sluice/hono": () => import("sluice/hono"),
  "sluice/web": () => import("sluice/web"),
  "sluice/redis": () => import("sluice/redis"),
  "sluice/postgres": () => import("sluice/postgres"),
  "sluice/lease": () => import("sluice/lease"),
  "sluice/durable-object": () => import("sluice/durable-object"),
  "sluice/http": () => import("sluice/http"),
  "sluice/client": () => import("sluice/client"),
  "sluice/client/traffic": () => import("sluice/client/traffic"),
};

/** The entries, those that failed with their errors, and the outcomes of a gate. */
export interface Loaded {
  readonly entries: readonly string[];
  readonly failed: readonly string[];
  readonly outcomes: readonly string[];
}

const [, , pollution = ""] = process.argv;
const { prototype } = Object as unknown as { prototype: Record<string, unknown> };
for (const name of NAMES) {
  Object.defineProperty(prototype, name, { value: POLLUTIONS[pollution], configurable: true, enumerable: true, writable: true });
}

const failed: string[] = [];
for (const [name, load] of Object.entries(ENTRIES)) await load().catch((error: unknown) => failed.push(`${name}: ${String(error)}`));
const outcomes = await gateOutcomes().catch((error: unknown) => [String(error)]);
for (const name of NAMES) Reflect.deleteProperty(prototype, name);
process.send?.({ entries: Object.keys(ENTRIES), failed, outcomes } satisfies Loaded, () => process.exit());

async function gateOutcomes(): Promise<string[]> {
  const [{ createGate }, { MemoryStore }] = await Promise.all([import("sluice/http"), import("sluice")]);
  const options = { policy: { capacity: 2, refill: { tokens: 1, everyMs: 1_000 } }, key: (user) => user, store: new MemoryStore({ clock: () => 0 }) } as GateOptions<string>;
  const gate = createGate<string>(options, { method: () => "GET", header: () => undefined });
  return Promise.all(["ann", "ann", "ann"].map(async (user) => (await gate(user)).outcome));
}
