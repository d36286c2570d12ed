import { AsyncLocalStorage } from "node:async_hooks";
import { spawn } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import next from "next";
import type { AdapterSetup, RunningServer } from "sluice/testing";
import { listen } from "../../../../test/adapters/rows/listen.js";
import { webHandler, webRoutes } from "../../../../test/adapters/rows/web.js";
import type { SuiteServer } from "../next-app/suite.js";
import { bundleSluice } from "./bundle-sluice.js";

const HOSTS = fileURLToPath(new URL("../../", import.meta.url));
const CONFIG = `export default { typescript: { ignoreBuildErrors: true }, turbopack: { root: ${JSON.stringify(HOSTS)} } };`;

const lacks = {
  rawHead: "a Response has no head to write by hand",
  earlyHead: "a Response is sent only when it is returned",
  contentLength: "Next.js removes the Content-Length and sends chunks",
  unreadBodies: "a Request does not give its connection",
  outerMiddleware: "Next.js has no middleware that sees the response of a route",
  upgrades: "a Request does not give its connection",
};

/** What a route handler of Next.js lacks. */
export const routeLacks = { ...lacks, errorFields: "Next.js answers what a handler throws outside of it" };

/** What the proxy of Next.js lacks. */
export const proxyLacks = {
  ...lacks,
  synchronous: "Next.js runs the handler after the proxy",
  beforeBodies: "Next.js reads the body before it sends what the proxy answers",
  handlerFields: "Next.js keeps the proxy's value of a field",
  outcomes: "the proxy does not see the handler's response",
  disconnects: "the proxy has answered when the handler runs",
};

/** A built app in this process: the examples, and the suite's routes behind a route handler or behind the proxy. */
export interface NextApp {
  serve(setup?: AdapterSetup, behind?: "route" | "proxy"): Promise<RunningServer>;
  close(): Promise<void>;
}

/** Builds the app and starts Next.js. */
export async function startNext(): Promise<NextApp> {
  // Beside node_modules, so that Next.js finds its packages.
  const dir = await mkdtemp(`${HOSTS}.next-app-`);
  const remove = (): Promise<void> => rm(dir, { recursive: true, force: true, maxRetries: 5 });
  try {
    await writeApp(dir);
    await buildApp(dir);
    return await startApp(dir, remove);
  } catch (error) {
    await remove();
    throw error;
  }
}

async function writeApp(dir: string): Promise<void> {
  await cp(`${HOSTS}test/next-app`, dir, { recursive: true });
  await cp(`${HOSTS}servers/next/app`, `${dir}/app`, { recursive: true });
  await cp(`${HOSTS}servers/next/proxy.ts`, `${dir}/example-proxy.ts`);
  await writeFile(`${dir}/next.config.mjs`, CONFIG);
  await writeFile(`${dir}/tsconfig.json`, JSON.stringify({ compilerOptions: { module: "esnext", moduleResolution: "bundler" } }));
  await bundleSluice(`${dir}/node_modules/sluice`);
}

async function startApp(dir: string, remove: () => Promise<void>): Promise<NextApp> {
  const app = next({ dev: false, dir, hostname: "127.0.0.1", port: 0 });
  await app.prepare();
  const handle = app.getRequestHandler();
  // Next.js runs in this process, and each request carries the server that it reached.
  const suites = ((globalThis as { sluiceSuite?: AsyncLocalStorage<SuiteServer> }).sluiceSuite ??= new AsyncLocalStorage());

  return {
    serve(setup, behind = "route") {
      const suite = setup && suiteServer(setup, behind);
      return listen(
        createServer((request, response) => {
          request.headers["x-behind"] = behind;
          if (suite === undefined) void handle(request, response);
          else suites.run(suite, () => void handle(request, response));
        }),
      );
    },
    async close() {
      await app.close();
      await remove();
    },
  };
}

function suiteServer(setup: AdapterSetup, behind: "route" | "proxy"): SuiteServer {
  const routes = webRoutes(setup);
  let made: ReturnType<SuiteServer["limited"]> | undefined;
  return {
    limited: (limit, pass) => (made ??= webHandler(setup, pass ?? routes, limit)),
    routes: behind === "proxy" ? routes : null,
  };
}

async function buildApp(cwd: string): Promise<void> {
  const env = { ...process.env, NODE_ENV: "production" as const, NEXT_TELEMETRY_DISABLED: "1", NEXT_IGNORE_INCORRECT_LOCKFILE: "1" };
  const child = spawn(process.execPath, [`${HOSTS}node_modules/next/dist/bin/next`, "build"], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`Expected next build to end with 0, got ${String(code)}:\n${output}`);
}
