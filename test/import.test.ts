/** Importing does no work: it makes functions, constants and empty maps, and calls nothing of the platform. */
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { expect, test } from "vitest";
import entries from "../entries.json" with { type: "json" };

// Writes down what is called of JavaScript itself. Constructors are left alone: a Map or a RegExp that is made is a constant.
const WATCH = `(() => {
  const { entries, getOwnPropertyDescriptors, defineProperty } = Object;
  const { apply } = Reflect;
  const called = [];
  const rooms = entries({ Object, Array, String, Number, Math, Date, JSON, Promise, Symbol, RegExp });
  for (const [room, owner] of rooms.flatMap(([name, owner]) => [[name, owner], [name + ".prototype", owner.prototype ?? {}]])) {
    for (const [name, { value, writable }] of entries(getOwnPropertyDescriptors(owner))) {
      if (typeof value !== "function" || !writable || name === "constructor") continue;
      const watched = function (...args) {
        called[called.length] = room + "." + name;
        return apply(value, this, args);
      };
      defineProperty(owner, name, { value: watched });
    }
  }
  const { BigInt } = globalThis;
  globalThis.BigInt = (value) => ((called[called.length] = "BigInt"), BigInt(value));
  called.length = 0;
  return called;
})()`;

/** What a module and all that it imports call while they load, in a context of JavaScript alone: no timers, process, crypto or console. */
async function callsAtImport(source: string): Promise<string[]> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: "." },
    bundle: true,
    write: false,
    // Nothing is left out for want of use.
    treeShaking: false,
    ignoreAnnotations: true,
    format: "iife",
    platform: "neutral",
    external: ["node:*"],
  });
  const context = createContext({});
  const called = runInContext(WATCH, context) as string[];
  runInContext((outputFiles[0] as { text: string }).text, context);
  return [...new Set(called)];
}

// Frozen values and their brands; `Object.assign` adds `with` to an adapter's function. Nothing that takes time.
// `Object.defineProperty` puts the brand on the key of unidentified callers.
const CORE = ["Object.freeze", "Symbol.for", "Object.defineProperty"];
const HTTP = CORE;
const ADAPTER = [...HTTP, "Object.create", "Object.assign"];
const known: Readonly<Record<string, readonly string[]>> = {
  ".": CORE,
  "./store": CORE,
  "./durable-object": CORE,
  "./adaptive": CORE,
  "./node": ADAPTER,
  "./express": ADAPTER,
  "./fastify": ADAPTER,
  "./hono": ADAPTER,
  "./web": ADAPTER,
  "./redis": [...CORE, "Promise.resolve"],
  "./postgres": [...CORE, "Promise.resolve"],
  "./http": HTTP,
};

// Suites for tests are never loaded in production. NestJS, whose classes sluice/nest extends, loads on Node alone.
const subpaths = Object.entries(entries.subpaths).filter(([subpath]) => !["./testing", "./nest"].includes(subpath));

test.each(subpaths)("%s needs no platform to load, and calls nothing but what is known", async (subpath, { source }) => {
  const called = await callsAtImport(`import "./${source}"`);
  expect(called.sort()).toEqual([...(known[subpath] ?? [])].sort());
});

test("what is called at load is seen, and what is missing throws", async () => {
  expect(await callsAtImport("export const names = Object.keys({ a: BigInt(1) }).map(String)")).toEqual(["BigInt", "Object.keys", "Array.prototype.map"]);
  await expect(callsAtImport("setTimeout(() => undefined, 1)")).rejects.toThrow("setTimeout is not defined");
  await expect(callsAtImport("crypto.randomUUID()")).rejects.toThrow("crypto is not defined");
});
