import { proveRow } from "./contract.js";

proveRow("Express 4");
proveRow("Fastify 4");
proveRow("Fastify in preHandler");
proveRow("Hono on node-server 1");
