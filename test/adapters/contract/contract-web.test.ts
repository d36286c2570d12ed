import { proveRow } from "./contract.js";

proveRow("web");
