// Reports of the example server on every framework. They take seconds, so `npm test` leaves them out.
import { test } from "vitest";
import { ExampleServer, FRAMEWORKS } from "./example-server.js";
import { walkReports } from "./reports.js";

test.concurrent.each(FRAMEWORKS)("two reports of a caller run at once, with %s", (framework) => walkReports(() => ExampleServer.start(["--framework", framework])));
