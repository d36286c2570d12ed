// `redis-http-server.ts <client> <ports of Redis as JSON> <side>`, forked by redis-http.ts: a Node HTTP server with one way
// to decide, in a process of its own. It sends its port, and on each message its processor time.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Side } from "./measure.js";
import { overCluster, overIoredis, overNodeRedis, type ClientName } from "./redis-sides.js";

const [name, json, wanted] = process.argv.slice(2) as [ClientName, string, string];
const side = await sideOf(JSON.parse(json) as readonly [number, ...number[]]);

const server = createServer((request, response) => {
  const respond = (answer: unknown): void => {
    response.writeHead(side.allows(answer) ? 200 : 429, { "content-length": 2 }).end("ok");
  };
  void side.ask(request.headers["x-id"] as string).then(respond, respond);
});
process.on("disconnect", () => process.exit());
process.on("message", () => process.send?.(process.cpuUsage()));
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));

/** The side of this process. None of that name: a server without a limiter. */
async function sideOf(ports: readonly [number, ...number[]]): Promise<Side> {
  const nothing: Side = { name: wanted, ask: () => Promise.resolve(), allows: () => true };
  const { allowed } = ports.length > 1 ? await overCluster(name, ports)
    : name === "ioredis" || name === "ioredis 6" ? await overIoredis(ports[0], name)
    : await overNodeRedis(ports[0], name);
  return allowed.find((each) => each.name === wanted) ?? nothing;
}
