import { proveRow } from "./contract.js";

proveRow("Node");
