/**
 * A phone's app against the example server: `npm run mobile` starts both, `npm run mobile -- http://127.0.0.1:3000`
 * uses a server that runs already. It takes a few seconds. The app is in app.ts.
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { MemoryStore } from "sluice";
import { readPolicies } from "../server/config.js";
import { buildServer } from "../server/node.js";
import { useApp } from "./app.js";

const [given] = process.argv.slice(2);
const { url, close } = given === undefined ? await startServer() : { url: given, close: () => {} };
try {
  await useApp({ url, user: "alice", say: console.log });
} finally {
  close();
}

async function startServer(): Promise<{ url: string; close: () => void }> {
  const server = await buildServer({ policies: readPolicies(process.env), store: new MemoryStore({ clock: Date.now }), onDecision: () => {} });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
