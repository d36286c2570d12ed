import { MemoryStore } from "sluice";
// A site with the pages of this folder and an API of one token, opened in Chromium. Time stands still in both.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { build } from "esbuild";
import type { Browser, Page } from "playwright-core";
import { rateLimit } from "sluice/node";
import { ManualClock } from "sluice/testing";
import { onTestFinished } from "vitest";
import { listen } from "../../../test/adapters/rows/listen.js";

const HERE = new URL("./", import.meta.url).pathname;
const CLIENT = "/node_modules/sluice/dist/client.js";
const START = Date.UTC(2026, 10, 21, 12);

const STYLE = `body { font: 16px/1.5 sans-serif; margin: 24px } h1 { font-size: 20px; margin: 0 0 12px }
  label { display: block; margin-bottom: 12px } input, button { font: inherit; padding: 6px 12px; border-radius: 6px; border: 1px solid #888 }
  button { color: #fff; background: #0b57d0; border-color: #0b57d0 } button:disabled { color: #555; background: #e4e4e4; border-color: #ccc }`;

/** A page that is open, and the server behind it. */
export interface OpenPage {
  readonly page: Page;
  /** What reached the API: `POST /login/code 204`. */
  readonly arrived: string[];
  /** Errors that no one caught in the page, and what it wrote to the console. */
  readonly complaints: string[];
  /** Moves the page's clock and the server's, second by second. */
  advance(ms: number): Promise<void>;
}

/** Opens `countdown.html` or one of the pages. The API has one token, spent or not, which is back after `everyMs`. */
export async function openPage(browser: Browser, name: "countdown" | "inbox" | "login" | "save", { everyMs = 12_000, isSpent = false } = {}): Promise<OpenPage> {
  const clock = new ManualClock();
  const policy = { name: "login-code", capacity: 1, refill: { tokens: 1, everyMs } };
  const arrived: string[] = [];
  const api = rateLimit({ policy, key: () => ["user", "ada"], store: new MemoryStore({ clock: clock.now }) })((request, response) => {
    if (request.method === "GET") response.setHeader("Content-Type", "application/json").end('{"messages":["hello"]}');
    else response.writeHead(204).end();
  });
  const files: Readonly<Record<string, readonly [type: string, content: string]>> = {
    "/": ["text/html", name === "countdown" ? await readFile(`${HERE}../countdown.html`, "utf8") : html()],
    "/page.js": ["text/javascript", name === "countdown" ? "" : await bundle(`${HERE}pages/${name}.tsx`)],
    [CLIENT]: ["text/javascript", name === "countdown" ? await bundle(`${HERE}../../../src/client/index.ts`) : ""],
    "/favicon.ico": ["image/x-icon", ""],
  };
  const server = createServer((request, response) => {
    const [type, content] = files[String(request.url)] ?? [];
    if (type !== undefined) return void response.writeHead(200, { "Content-Type": `${type}; charset=utf-8` }).end(content);
    response.once("finish", () => arrived.push(`${request.method} ${request.url} ${response.statusCode}`));
    return api(request, response);
  });
  const { port, close } = await listen(server);
  const context = await browser.newContext({ viewport: { width: 320, height: 204 }, deviceScaleFactor: 2 });
  onTestFinished(async () => {
    await context.close();
    await close();
  });

  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", ({ message }) => complaints.push(message));
  page.on("console", (message) => complaints.push(message.text()));
  await page.clock.install({ time: START });
  await page.clock.pauseAt(START + 1_000);
  const origin = `http://127.0.0.1:${port}`;
  if (isSpent) await fetch(`${origin}/inbox`);
  arrived.length = 0;
  await page.goto(origin);
  const advance = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 1_000) {
      clock.advance(Math.min(left, 1_000));
      await page.clock.runFor(Math.min(left, 1_000));
    }
  };
  return { page, arrived, complaints, advance };
}

function html(): string {
  return `<!doctype html><html lang="en"><title>A page</title><style>${STYLE}</style><div id="app"></div><script type="module" src="/page.js"></script></html>`;
}

async function bundle(entry: string): Promise<string> {
  const define = { "process.env.NODE_ENV": '"development"' }; // StrictMode mounts everything twice
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, write: false, format: "esm", target: "es2022", jsx: "automatic", define });
  return outputFiles[0]?.text ?? "";
}
