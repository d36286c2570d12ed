// `node http-service.mjs <service> <limit as JSON> <dist>`, started by http.ts: one Express service with one limit, in a
// separate process. It sends its port.
import { createServer } from "node:http";
import express from "express";

const [kind, json, dist] = process.argv.slice(2);
const CONNECTIONS = 8;

/** A pool of eight connections. A query takes 20 ms on average, and waits for a connection in a line. */
function poolOf(meanMs) {
  const line = [];
  let free = CONNECTIONS;
  const next = () => {
    const query = line.shift();
    if (query === undefined) return;
    free -= 1;
    setTimeout(() => {
      free += 1;
      query();
      next();
    }, -Math.log(1 - Math.random()) * meanMs);
  };
  return () => new Promise((resolve) => {
    line.push(resolve);
    if (free > 0) next();
  });
}

/** Computes for `ms` of processor time of the event loop. */
function compute(ms) {
  const { user, system } = process.cpuUsage();
  for (;;) {
    const used = process.cpuUsage();
    if (used.user + used.system - user - system >= 1_000 * ms) return;
  }
}

const query = poolOf(20);
/** A query, or a page that takes 4 ms of the event loop after 5 ms of waiting for something else. */
const works = {
  io: query,
  cpu: async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    compute(4);
  },
};

async function middlewareOf({ way, places }) {
  if (way === "none") return (_request, _response, next) => next();
  const { rateLimit } = await import(new URL("express.js", dist).href);
  const key = () => "service";
  if (way === "adaptive") {
    const { adaptive } = await import(new URL("adaptive.js", dist).href);
    const load = adaptive({ name: "service", least: 1, most: 500 });
    return rateLimit({ limiter: load.limiter, policy: () => load.policyFor(1), key });
  }
  const { whenDone } = await import(new URL("index.js", dist).href);
  return rateLimit({ policy: { name: "service", capacity: places, returns: whenDone() }, key });
}

const app = express();
app.disable("x-powered-by");
app.use(await middlewareOf(JSON.parse(json)));
app.get("/", async (_request, response) => {
  await works[kind]();
  response.json({ ok: true });
});
const server = createServer(app);
process.on("disconnect", () => process.exit());
server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => process.send(server.address().port));
