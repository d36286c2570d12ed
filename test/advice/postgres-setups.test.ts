// The newest version of the lock file. `npm run check:runtimes` does the same on the lowest.
import pg from "pg";
import { describeWith } from "../helpers/services.js";
import { postgresSetupSuite } from "./postgres-setups.js";

describeWith("postgres", "settings with which a store can never work", () => postgresSetupSuite("pg", pg));
