// The HTTP contract on the server of the runtime itself. In a process of its own: @hono/node-server replaces the platform's Request and Response.
import { adapterSuite, type RunningServer } from "sluice/testing";
import { describe, test } from "vitest";
import { honoApp } from "../../adapters/rows/hono.js";
import { webHandler, webLacks } from "../../adapters/rows/web.js";
import { runtime } from "../runtime.js";

type Handler = (request: Request) => Response | Promise<Response>;

const native = nativeServer();
const lacks = { ...webLacks, pipelining: "requests of one connection run one after another" };
if (native !== null) {
  const { name, serve } = native;
  describe(`sluice/hono on ${name}`, () => {
    adapterSuite({ test, serve: (setup) => { const app = honoApp(setup); return serve((request) => app.fetch(request)); }, lacks });
  });
  describe(`sluice/web on ${name}`, () => {
    adapterSuite({ test, serve: (setup) => serve(webHandler(setup)), lacks });
  });
}

interface Native {
  readonly name: string;
  readonly serve: (handler: Handler) => Promise<RunningServer>;
}

/** The server of the runtime itself. */
function nativeServer(): Native | null {
  const { Bun, Deno } = globalThis as unknown as Globals;
  if (runtime === "bun") {
    return {
      name: "Bun.serve",
      async serve(handler) {
        const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: handler });
        return { port: server.port, close: () => server.stop(true) };
      },
    };
  }
  if (runtime === "deno") {
    return {
      name: "Deno.serve",
      async serve(handler) {
        const stop = new AbortController();
        const server = Deno.serve({ port: 0, hostname: "127.0.0.1", signal: stop.signal, onListen: () => undefined }, handler);
        return { port: server.addr.port, close: async () => (stop.abort(), await server.finished) };
      },
    };
  }
  return null;
}

interface Globals {
  readonly Bun: { serve(options: { port: number; hostname: string; fetch: Handler }): { readonly port: number; stop(close: boolean): unknown } };
  readonly Deno: {
    serve(
      options: { port: number; hostname: string; signal: AbortSignal; onListen: () => void },
      handler: Handler,
    ): { readonly addr: { readonly port: number }; readonly finished: Promise<void> };
  };
}
