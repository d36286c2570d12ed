// Reports of the example server on every framework. They take seconds, so `npm test` leaves them out.
import { test } from "vitest";
import { ExampleServer, FRAMEWORKS } from "./example-server.js";
import { walkReports } from "./reports.js";

test.concurrent.each(FRAMEWORKS)("with %s, two reports run at once, a third is told when to ask again, and a place is free when one is done", (framework) => walkReports(() => ExampleServer.start(["--framework", framework])));
