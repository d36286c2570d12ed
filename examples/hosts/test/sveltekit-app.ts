// An app that SvelteKit built, with the files of servers/sveltekit.
import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bundleSluice } from "./servers/bundle-sluice.js";

// SvelteKit 3 is for Node 22, which has this function. With it, the same app builds and runs on Node 20.
const POLYFILL = "Promise.withResolvers ??= function () { const all = {}; all.promise = new this((resolve, reject) => Object.assign(all, { resolve, reject })); return all; };";
const HOSTS = fileURLToPath(new URL("../", import.meta.url));
const CONFIG = 'import { sveltekit } from "@sveltejs/kit/vite";\nexport default { plugins: [sveltekit()], logLevel: "error", ssr: { noExternal: true } };\n';

/** The app in this process. */
export interface KitApp {
  /** Its files for browsers. */
  readonly client: string;
  /** Its pages that were prerendered. */
  readonly prerendered: string;
  respond(request: Request, options: { readonly getClientAddress: () => string }): Promise<Response>;
  remove(): Promise<void>;
}

type KitServer = Pick<KitApp, "respond"> & { init(options: { readonly env: object }): Promise<void> };

/** Builds the app. `edits` makes more hooks of those of the example, by the names of their files. */
export async function buildKitApp(edits: Readonly<Record<string, (hooks: string) => string>>): Promise<KitApp> {
  const dir = await mkdtemp(`${HOSTS}.sveltekit-app-`); // beside node_modules
  const remove = () => rm(dir, { recursive: true, force: true, maxRetries: 5 });
  try {
    await cp(`${HOSTS}test/sveltekit-app`, dir, { recursive: true });
    await cp(`${HOSTS}servers/sveltekit/routes`, `${dir}/src/routes`, { recursive: true });
    const example = await readFile(`${HOSTS}servers/sveltekit/hooks.server.ts`, "utf8");
    for (const [name, edit] of Object.entries({ example: (hooks: string) => hooks, ...edits })) await writeFile(`${dir}/src/${name}.ts`, edit(example));
    await writeFile(`${dir}/vite.config.js`, CONFIG);
    await writeFile(`${dir}/package.json`, JSON.stringify({ type: "module" }));
    await bundleSluice(`${dir}/node_modules/sluice`);
    await build(dir);
    const { Server, manifest } = await load(`${dir}/.svelte-kit/output/server/`);
    const server = new Server(manifest);
    await server.init({ env: {} });
    const output = `${dir}/.svelte-kit/output`;
    return { client: `${output}/client`, prerendered: `${output}/prerendered/pages`, respond: (request, options) => server.respond(request, options), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function build(cwd: string): Promise<void> {
  const child = spawn(process.execPath, ["--import", `data:text/javascript,${encodeURIComponent(POLYFILL)}`, `${HOSTS}node_modules/vite/bin/vite.js`, "build"], { cwd, env: { ...process.env, NODE_ENV: "production" }, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`Expected vite build to end with 0, got ${String(code)}:\n${output}`);
}

async function load(built: string): Promise<{ readonly Server: new (manifest: unknown) => KitServer; readonly manifest: unknown }> {
  await import(`data:text/javascript,${encodeURIComponent(POLYFILL)}`);
  const { href } = pathToFileURL(built);
  const { Server } = (await import(`${href}index.js`)) as { Server: new (manifest: unknown) => KitServer };
  const { manifest } = (await import(`${href}manifest.js`)) as { manifest: unknown };
  return { Server, manifest };
}
