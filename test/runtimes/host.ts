// Runs suites of portable.js in a browser's page or in workerd, and prints a line of JSON for each test:
// `node host.mjs chromium|workerd core client`
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import type { Page } from "playwright-core";
import { startChromium } from "../helpers/chromium.js";
import type { PortableJob } from "./portable.js";
import type { Ended } from "./runner.js";
import { startServers } from "./servers.js";

const program = readFileSync(new URL("portable.js", import.meta.url), "utf8");

const hosts: Readonly<Record<string, (job: PortableJob) => Promise<readonly Ended[]>>> = {
  async chromium(job) {
    const site = createServer((request, response) => {
      const isProgram = request.url === "/portable.js";
      response.setHeader("Content-Type", isProgram ? "text/javascript" : "text/html").end(isProgram ? program : "<title>sluice</title>");
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    const browser = await startChromium();
    const page: Page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
    // As text: the bundler would take the import for one of its own.
    return page.evaluate<Ended[]>(`import("/portable.js").then(({ runPortable }) => runPortable(${JSON.stringify(job)}))`);
  },

  async workerd(job) {
    const name: string = "miniflare";
    const { Miniflare } = (await import(name)) as { readonly Miniflare: new (options: object) => MiniflareServer };
    const server = new Miniflare({
      modules: [{ type: "ESModule", path: "portable.js", contents: program }],
      compatibilityDate: "2026-04-01",
      cf: false,
      host: "127.0.0.1",
      telemetry: { enabled: false },
      // workerd prints a stack for each failed connection.
      handleRuntimeStdio: (...streams: { resume(): void }[]) => streams.forEach((stream) => stream.resume()),
    });
    const response = await server.dispatchFetch("http://localhost/", { method: "POST", body: JSON.stringify(job) });
    return (await response.json()) as Ended[];
  },
};

interface MiniflareServer {
  dispatchFetch(url: string, init: object): Promise<Response>;
}

const host = hosts[process.argv[2] ?? ""];
if (host === undefined) throw new RangeError(`Expected one of ${Object.keys(hosts).join(", ")}, got ${process.argv[2]}`);
const { addresses } = await startServers();
const all = await host({ suites: process.argv.slice(3), addresses, seed: Number(process.env["FC_SEED"] ?? "20261101") });
const lines = [...all, { tests: all.length }].map((line) => `${JSON.stringify(line)}\n`);
// Not before all of it is written: a browser and a server are still open.
process.stdout.write(lines.join(""), () => process.exit(0));
