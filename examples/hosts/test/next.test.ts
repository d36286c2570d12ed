// Next.js, built: a route handler and the proxy under the adapter suite, and the examples as they are.
import { adapterSuite } from "sluice/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { proxyLacks, routeLacks, startNext, type NextApp } from "./servers/next.js";

let app: NextApp | undefined;
beforeAll(async () => {
  app = await startNext();
}, 180_000);
afterAll(() => app?.close());

describe("a route handler", () => adapterSuite({ test, serve: (setup) => running().serve(setup, "route"), lacks: routeLacks }));
describe("the proxy", () => adapterSuite({ test, serve: (setup) => running().serve(setup, "proxy"), lacks: proxyLacks }));

function running(): NextApp {
  if (app === undefined) throw new Error("Expected the app to be built");
  return app;
}
