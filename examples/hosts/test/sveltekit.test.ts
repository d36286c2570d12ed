// The hooks for SvelteKit, in an app that SvelteKit built.
import { spawn } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleSluice } from "./servers/bundle-sluice.js";

// SvelteKit 3 is for Node 22, which has this function. With it, the same app builds and runs on Node 20.
const POLYFILL = "Promise.withResolvers ??= function () { const all = {}; all.promise = new this((resolve, reject) => Object.assign(all, { resolve, reject })); return all; };";
const HOSTS = fileURLToPath(new URL("../", import.meta.url));
const CONFIG = 'import { sveltekit } from "@sveltejs/kit/vite";\nexport default { plugins: [sveltekit()], logLevel: "error", ssr: { noExternal: true } };\n';

interface KitServer {
  init(options: { readonly env: object }): Promise<void>;
  respond(request: Request, options: { readonly getClientAddress: () => string }): Promise<Response>;
}

let dir: string;
let server: KitServer;
beforeAll(async () => {
  dir = await mkdtemp(`${HOSTS}.sveltekit-app-`); // beside node_modules
  await cp(`${HOSTS}test/sveltekit-app`, dir, { recursive: true });
  await cp(`${HOSTS}servers/sveltekit/hooks.server.ts`, `${dir}/src/hooks.server.ts`);
  await writeFile(`${dir}/vite.config.js`, CONFIG);
  await writeFile(`${dir}/package.json`, JSON.stringify({ type: "module" }));
  await bundleSluice(`${dir}/node_modules/sluice`);
  const child = spawn(process.execPath, ["--import", `data:text/javascript,${encodeURIComponent(POLYFILL)}`, `${HOSTS}node_modules/vite/bin/vite.js`, "build"], { cwd: dir, env: { ...process.env, NODE_ENV: "production" }, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`Expected vite build to end with 0, got ${String(code)}:\n${output}`);
  await import(`data:text/javascript,${encodeURIComponent(POLYFILL)}`);
  const built = pathToFileURL(`${dir}/.svelte-kit/output/server/`).href;
  const { Server } = (await import(`${built}index.js`)) as { Server: new (manifest: unknown) => KitServer };
  const { manifest } = (await import(`${built}manifest.js`)) as { manifest: unknown };
  server = new Server(manifest);
  await server.init({ env: {} });
}, 180_000);
afterAll(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));

const get = (path: string, session?: string) =>
  server.respond(new Request(`http://localhost${path}`, session === undefined ? {} : { headers: { cookie: `session=${session}` } }), { getClientAddress: () => "192.0.2.1" });

test("each user has one limit over endpoints, pages and their data, and a page's own requests are not charged", async () => {
  const first = await get("/inbox", "token-of-ann");
  expect([first.status, await first.json(), first.headers.get("ratelimit-remaining")]).toEqual([200, { inbox: "ann" }, "19"]);
  const page = await get("/page", "token-of-ann");
  expect([page.status, page.headers.get("ratelimit-remaining")]).toEqual([200, "18"]);
  expect(await page.text()).toContain("<p>ann</p>");
  const data = await get("/page/__data.json", "token-of-ann");
  expect([data.status, data.headers.get("ratelimit-remaining")]).toEqual([200, "17"]);
  for (let i = 0; i < 17; i++) await get("/inbox", "token-of-ann");
  const refused = await get("/page", "token-of-ann");
  expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("content-type")]).toEqual([429, "1", "application/problem+json"]);
  expect(await refused.json()).toMatchObject({ code: "rate_limited", retry_after: 1 });
  expect((await get("/inbox", "token-of-bob")).status).toBe(200);
  expect((await get("/inbox")).status).toBe(401);
});
