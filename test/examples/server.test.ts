// The example server on every framework.
import { ExampleServer } from "./example-server.js";
import { walk } from "./walk.js";

walk(
  ["node", "express", "fastify", "hono"].map((framework) => ({
    title: `${framework}, memory`,
    start: () => ExampleServer.start(["--framework", framework]),
  })),
);
