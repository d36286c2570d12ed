// The example server on every framework.
import { ExampleServer, FRAMEWORKS } from "./example-server.js";
import { walk } from "./walk.js";

walk(
  FRAMEWORKS.map((framework) => ({
    title: `${framework}, memory`,
    start: () => ExampleServer.start(["--framework", framework]),
  })),
);
