// `node http-server.mjs <framework> <side as JSON>`, forked by http.ts: one server with one way to limit, in a separate
// process. It sends its port, and on each message its CPU time.
import { createServer } from "node:http";
import { listenerOf } from "./apps.mjs";

const [framework, json] = process.argv.slice(2);
const server = createServer(await listenerOf(framework, JSON.parse(json)));
process.on("disconnect", () => process.exit());
process.on("message", () => process.send(process.cpuUsage()));
server.listen(0, "127.0.0.1", () => process.send(server.address().port));
