import { proveRow } from "./contract.js";

proveRow("Express 5");
