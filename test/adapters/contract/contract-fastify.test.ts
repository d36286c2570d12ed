import { proveRow } from "./contract.js";

proveRow("Fastify 5");
