// The table of platforms: each row finds the caller in what its platform sends, whatever the caller wrote into the field before.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { runInThisContext } from "node:vm";
import express, { type Request } from "express";
import { addressKey } from "sluice";
import { expect, test } from "vitest";

const FORGED = "198.51.100.66";
const V4 = "203.0.113.7";
const V6 = "2001:db8:1:2::7";

/** What a platform sends for a caller that wrote `FORGED` into every field. Appended to, or overwritten. */
const SENT: Record<string, (address: string) => Record<string, string>> = {
  Cloudflare: (address) => ({ "CF-Connecting-IP": address, "X-Forwarded-For": `${FORGED}, ${address}` }),
  CloudFront: (address) => ({ "CloudFront-Viewer-Address": `${address}:443`, "X-Forwarded-For": `${FORGED}, ${address}` }),
  ALB: (address) => ({ "X-Forwarded-For": `${FORGED}, ${address}`, "X-Real-IP": FORGED }),
  Fly: (address) => ({ "Fly-Client-IP": address, "X-Forwarded-For": `${FORGED}, ${address}, 66.241.124.1` }),
  Vercel: (address) => ({ "X-Real-IP": address, "X-Forwarded-For": address }),
  Render: (address) => ({ "CF-Connecting-IP": address, "X-Forwarded-For": `${FORGED}, ${address}, 10.0.0.7` }),
  Railway: (address) => ({ "X-Real-IP": address, "X-Forwarded-For": `${FORGED}, ${address}` }),
  Heroku: (address) => ({ "X-Forwarded-For": `${FORGED}, ${address}`, "X-Real-IP": FORGED }),
  "Google's load balancer": (address) => ({ "X-Forwarded-For": `${FORGED},${address},192.0.2.200` }),
  "Cloud Run": (address) => ({ "X-Forwarded-For": `${FORGED},${address}` }),
  "Azure Front Door": (address) => ({ "X-Azure-SocketIP": address, "X-Azure-ClientIP": FORGED, "X-Forwarded-For": `${FORGED}, ${address}` }),
  "Azure App Service": (address) => ({ "X-Forwarded-For": `${FORGED}, ${address.includes(":") ? `[${address}]` : address}:46532` }),
  nginx: (address) => ({ "X-Forwarded-For": `${FORGED}, ${address}` }),
};

interface Row {
  readonly name: string;
  readonly key: (request: Request) => ReturnType<typeof addressKey>;
  readonly trust: unknown;
}

/** The rows of the page: their code is run, and is not written here again. */
function rows(): Row[] {
  const page = readFileSync("docs/guides/choosing-a-key.md", "utf8");
  const [, table = ""] = /### Behind a platform\n([^]*?)\n\n[^|]*\n\n###/.exec(page) ?? [];
  return table.split("\n").filter((line) => /^\| (?!behind|---)/.test(line)).map((line) => {
    const [, name = "", code = "", trust = "undefined"] = /^\| ([^|]+) \| `(addressKey\(.*?\))`(?:[^|]*?`app\.set\("trust proxy", (.+?)\)`)?/.exec(line) ?? [];
    const make = runInThisContext(`(addressKey) => [(request) => ${code}, ${trust}]`) as (own: typeof addressKey) => [Row["key"], unknown];
    const [key, value] = make(addressKey);
    return { name, key, trust: value };
  });
}

async function keyFor({ key, trust }: Row, headers: Record<string, string>): Promise<unknown> {
  const app = express();
  if (trust !== undefined) app.set("trust proxy", trust);
  app.get("/", (request, response) => void response.json({ key: key(request) ?? null }));
  const server = createServer(app);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { ...headers, Connection: "close" } });
  const { key: found } = (await answer.json()) as { readonly key: unknown };
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return found;
}

test("the page has each platform once", () => {
  expect(rows().map(({ name }) => name)).toEqual(Object.keys(SENT));
});

test.each(rows().map((row) => [row.name, row] as const))("%s: the caller is found, over IPv4 and IPv6", async (name, row) => {
  expect(await keyFor(row, SENT[name]?.(V4) ?? {})).toEqual(["address", V4]);
  expect(await keyFor(row, SENT[name]?.(V6) ?? {})).toEqual(["address", "2001:db8:1:2::/64"]);
  // An address that is another one with a port is the caller's, or no key.
  expect(await keyFor(row, SENT[name]?.("2001:db8::3:4:5:46532") ?? {})).not.toEqual(["address", FORGED]);
});
