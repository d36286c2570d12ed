/**
 * Starts a gateway, and a language model for it: `npx tsx examples/llm/main.ts`, or with `--memory` if there is no Redis.
 *
 *     curl -iN http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer ann-key" \
 *       -d '{ "model": "small", "stream": true, "max_tokens": 200, "messages": [{ "role": "user", "content": "write 100" }] }'
 *
 * Press Ctrl-C in the middle of an answer: the log says what it is charged for. Ask the model "large" for 9000 tokens twice
 * at once: the second is refused, and told how many seconds to wait. With "fail", "break after 10" or "ignore the limit"
 * in the prompt the language model does so. Ask for 9 answers at once: of each model one user may have a few under way.
 *
 * `REDIS_URL` names another Redis than 127.0.0.1:6379. Gateways over one Redis share their budgets: start a second one with
 * `PORT=8090`.
 */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Redis } from "ioredis";
import { MemoryStore, type Store } from "sluice";
import { RedisStore } from "sluice/redis";
import type { Caller } from "./budgets.js";
import { createGateway } from "./gateway.js";
import { createUpstream } from "./upstream.js";

const callers: Readonly<Record<string, Caller>> = {
  "Bearer ann-key": { user: "ann", team: "red" },
  "Bearer bob-key": { user: "bob", team: "red" },
  "Bearer cid-key": { user: "cid", team: "blue" },
};

async function openRedis(url: string): Promise<Store> {
  const client = new Redis(url, { lazyConnect: true, commandTimeout: 10_000, maxRetriesPerRequest: 1 });
  client.on("error", (error: Error) => console.error(`Redis: ${error.message}`));
  await client.connect();
  return new RedisStore(client, { prefix: "llm" });
}

async function listen(server: Server, port: number): Promise<string> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const store = process.argv.includes("--memory") ? new MemoryStore({ clock: Date.now }) : await openRedis(process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379");
const port = Number(process.env["PORT"] ?? 8080);
const upstream = await listen(createUpstream().server, port === 0 ? 0 : port + 1);
const gateway = createGateway({
  upstream,
  store,
  callerOf: (authorization) => callers[authorization ?? ""] ?? null,
  onBill: (bill) => console.log(JSON.stringify(bill)),
});
console.log(`gateway ${await listen(gateway, port)}, language model ${upstream}`);
