// What the package does when `Object.prototype` has members that it should not have, added before the package is loaded or
// after it: a process of its own for it. The arguments name the value that every member gets, and the members.
import { POLLUTIONS } from "./pollution-names.js";
import { stories } from "./pollution-stories.js";

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
  "sluice/adaptive": () => import("sluice/adaptive"),
  "sluice/client": () => import("sluice/client"),
  "sluice/client/traffic": () => import("sluice/client/traffic"),
};

/** The entries, those that failed with their errors, and the stories that went another way with the members. */
export interface Loaded {
  readonly entries: readonly string[];
  readonly failed: readonly string[];
  readonly titles: readonly string[];
  readonly differing: readonly string[];
}

const [, , pollution = "", ...names] = process.argv;
const { prototype } = Object as unknown as { prototype: Record<string, unknown> };

process.removeAllListeners("warning");
const early = await polluted(names, async () => {
  const failed: string[] = [];
  for (const [name, load] of Object.entries(ENTRIES)) await load().catch((error: unknown) => failed.push(`${name}: ${String(error)}`));
  return { failed, told: await stories() };
});
const clean = await stories();
const differing = [...changed("before the import", early.told), ...(await changedBy(names))];
process.send?.({ entries: Object.keys(ENTRIES), failed: early.failed, titles: Object.keys(clean), differing } satisfies Loaded, () => process.exit());

/** What differs after the import, of as few members as it needs. */
async function changedBy(added: readonly string[]): Promise<string[]> {
  const all = changed(added.length > 4 ? `${added.length} members` : added.join(), await polluted(added, stories));
  if (all.length === 0 || added.length === 1) return all;
  const halves = [...(await changedBy(added.slice(0, added.length / 2))), ...(await changedBy(added.slice(added.length / 2)))];
  return halves.length > 0 ? halves : all;
}

async function polluted<T>(added: readonly string[], run: () => Promise<T>): Promise<T> {
  for (const name of added) Object.defineProperty(prototype, name, { value: POLLUTIONS[pollution], configurable: true, enumerable: true, writable: true });
  try {
    return await run();
  } finally {
    for (const name of added) Reflect.deleteProperty(prototype, name);
  }
}

function changed(when: string, told: Readonly<Record<string, string>>): string[] {
  return Object.keys(clean).filter((title) => told[title] !== clean[title]).map((title) => `${when}, ${title}: ${told[title]?.slice(0, 300)}`);
}
