// Starts a Worker of this repository in workerd, the runtime of Cloudflare Workers.
import { basename, join } from "node:path";
import { build } from "esbuild";
import { fromProject, installedSluice, requireRuntime, ROOT } from "../runtimes.mjs";

const { Log, LogLevel, Miniflare } = requireRuntime("miniflare");

installedSluice();
const bundles = new Map();

/** The code of a Worker as one file, with the packed package and all else that it imports. */
function bundle(entry) {
  let code = bundles.get(entry);
  if (code === undefined) {
    code = build({
      absWorkingDir: ROOT,
      entryPoints: [entry],
      bundle: true,
      write: false,
      format: "esm",
      target: "es2022",
      conditions: ["workerd", "worker", "browser"], // as wrangler does
      tsconfigRaw: {},
      plugins: [fromProject()],
      external: ["cloudflare:*", "node:*"], // node: late, by functions that are not called here
      logLevel: "error",
    }).then(({ outputFiles }) => outputFiles[0].text);
    bundles.set(entry, code);
  }
  return code;
}

/**
 * Starts a Worker and runs `use` with what sends it requests. Each Worker is an isolate of its own, so that what one test
 * breaks breaks no other.
 */
export function withWorker(entry, use, options = {}) {
  return started(entry, ["worker"], () => options, async (miniflare, printed) => {
    const url = await miniflare.ready;
    return use({ url, fetch: (path, init) => fetch(new URL(path, url), init), printed });
  });
}

/** The same for several Workers of one code, with the options of each. They are isolates of their own in one process. */
export function withWorkers(entry, names, use, optionsOf) {
  return started(entry, names, optionsOf, async (miniflare) => {
    const workers = await Promise.all(names.map((name) => miniflare.getWorker(name)));
    return use(workers.map((worker) => ({ fetch: (path) => worker.fetch(new URL(path, "http://localhost")) })));
  });
}

async function started(entry, names, optionsOf, use) {
  const output = [];
  const modules = [{ type: "ESModule", path: basename(entry).replace(/\.ts$/, ".mjs"), contents: await bundle(entry) }];
  const miniflare = new Miniflare({
    workers: names.map((name) => ({ name, modules, modulesRoot: join(ROOT), compatibilityDate: "2026-04-01", ...optionsOf(name) })),
    cf: false,
    host: "127.0.0.1",
    telemetry: { enabled: false },
    log: new Log(LogLevel.NONE),
    handleRuntimeStdio(stdout, stderr) {
      for (const stream of [stdout, stderr]) stream.on("data", (chunk) => output.push(chunk));
    },
  });
  const printed = () => Buffer.concat(output).toString();
  try {
    await miniflare.ready;
    return await use(miniflare, printed);
  } catch (error) {
    // `fetch` says the reason in the cause alone.
    throw new Error(`${error.message} ${error.cause?.message ?? ""}\n${printed().slice(-2_000)}`, { cause: error });
  } finally {
    await miniflare.dispose().catch(() => undefined); // fails where the Worker did not start
  }
}

/** Sends `count` requests at once, and resolves to what they answered: each has to be a 200 with a JSON document. */
export async function askAtOnce(worker, path, count = 50) {
  const responses = await Promise.all(Array.from({ length: count }, (_, i) => worker.fetch(path.replace("*", i))));
  return Promise.all(
    responses.map(async (response) => {
      const text = await response.text();
      if (response.status !== 200) throw new Error(`Expected ${path} to answer 200, got ${response.status}: ${text.slice(0, 400)}`);
      return JSON.parse(text);
    }),
  );
}

/** Sends one request, and resolves to its document. */
export const ask = async (worker, path) => (await askAtOnce(worker, path, 1))[0];

/** Sends a request that hangs, and cancels it when the server that it waits for was reached. */
export async function cancelled(worker, path, origin) {
  const client = new AbortController();
  const reached = origin.whenReached === undefined ? new Promise((resolve) => (origin.hanging = resolve)) : poll(origin.whenReached);
  const answer = worker.fetch(path, { signal: client.signal }).catch(() => undefined);
  await Promise.race([reached, answer.then((early) => early && Promise.reject(new Error(`Expected ${path} to hang, got ${early.status}`)))]);
  client.abort();
  await answer;
}

async function poll(holds) {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
