import { proveRow } from "./contract.js";

proveRow("NestJS on Express");
proveRow("NestJS on Fastify");
