import { proveRow } from "./contract.js";

proveRow("Hono");
