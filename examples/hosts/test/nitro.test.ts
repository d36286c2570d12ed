// The middleware for Nitro, and so for the server of Nuxt: in an app that Nitro built, on Node.
import { cp, mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, createNitro, prepare } from "nitropack/core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { listen } from "../../../test/adapters/rows/listen.js";
import { bundleSluice } from "./servers/bundle-sluice.js";

const HOSTS = fileURLToPath(new URL("../", import.meta.url));

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(`${HOSTS}.nitro-app-`); // beside node_modules
  await cp(`${HOSTS}test/nitro-app`, dir, { recursive: true });
  await cp(`${HOSTS}servers/nitro.ts`, `${dir}/server/utils/rate-limit.ts`);
  await bundleSluice(`${dir}/node_modules/sluice`);
  const nitro = await createNitro({ rootDir: dir, srcDir: `${dir}/server`, preset: "node-listener", logLevel: 0, compatibilityDate: "2026-11-01" });
  await prepare(nitro);
  await build(nitro);
  await nitro.close();
}, 180_000);
afterAll(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));

/** Starts the app. */
async function serve() {
  const { listener } = (await import(pathToFileURL(`${dir}/.output/server/index.mjs`).href)) as { listener: RequestListener };
  const { port, close } = await listen(createServer(listener));
  onTestFinished(async () => void (await close()));
  return (path: string, user?: string) => fetch(`http://127.0.0.1:${port}${path}`, { headers: user === undefined ? {} : { "x-user": user } });
}

test("each user has a limit over all routes: fields on every response, also on errors and unknown paths, and then a 429", async () => {
  const get = await serve();
  const first = await get("/inbox", "ann");
  expect([first.status, await first.json(), first.headers.get("ratelimit-remaining")]).toEqual([200, { path: "inbox" }, "2"]);
  const thrown = await get("/throws", "ann");
  expect([thrown.status, thrown.headers.get("ratelimit-remaining")]).toEqual([418, "1"]);
  const missing = await get("/missing", "ann");
  expect([missing.status, missing.headers.get("ratelimit-remaining")]).toEqual([404, "0"]);
  const refused = await get("/inbox", "ann");
  expect([refused.status, refused.headers.get("cache-control"), refused.headers.get("content-type")]).toEqual([429, "no-store", "application/problem+json"]);
  expect(await refused.json()).toMatchObject({ code: "rate_limited", retry_after: Number(refused.headers.get("retry-after")) });
  expect((await get("/inbox", "bob")).status).toBe(200);
  expect((await get("/inbox")).status).toBe(401);
  const open = await get("/open");
  expect([open.status, open.headers.has("ratelimit-limit")]).toEqual([200, false]);
});

test("`respond` answers a refusal, also after a while", async () => {
  const get = await serve();
  expect((await get("/own")).status).toBe(404);
  const refused = await get("/own");
  expect([refused.status, await refused.text(), refused.headers.get("retry-after")]).toEqual([420, "/own: 60", "60"]);
});

test("an inner call is charged again, unless `skip` names it", async () => {
  const get = await serve();
  const page = await get("/page", "dan");
  expect([page.status, await page.json(), page.headers.get("ratelimit-remaining")]).toEqual([200, { path: "inbox" }, "2"]);
  expect((await get("/inbox", "dan")).headers.get("ratelimit-remaining")).toBe("1");
  expect((await get("/page?charged", "eve")).status).toBe(200);
  expect((await get("/inbox", "eve")).headers.get("ratelimit-remaining")).toBe("0");
});

test("an inner call by the global `$fetch` forwards no field of the request: it has no user, and no skip", async () => {
  const get = await serve();
  expect(await (await get("/signed-out", "fay")).json()).toEqual({ status: 401 });
  expect((await get("/inbox", "fay")).headers.get("ratelimit-remaining")).toBe("1");
});
