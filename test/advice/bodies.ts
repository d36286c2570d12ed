// The bounds for bodies that the pages name, carried out on one version of a framework.
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";

/** Starts an app that reads the body of a POST, with this bound in bytes. */
export type ServeBounded = (bytes: number) => Promise<RequestListener>;

interface FastifyLike {
  readonly routing: RequestListener;
  post(path: string, handler: () => Promise<string>): unknown;
  ready(): PromiseLike<unknown>;
}

/** `bodyLimit` of any major version of Fastify. */
export const fastifyBounded = (fastify: (options: never) => unknown): ServeBounded => async (bodyLimit) => {
  const app = fastify({ bodyLimit } as never) as FastifyLike;
  app.post("/", async () => "read");
  await app.ready();
  return (request, response) => app.routing(request, response);
};

interface HonoLike {
  use(middleware: never): unknown;
  post(path: string, handler: (c: { readonly req: { text(): Promise<string> }; text(text: string): Response }) => Promise<Response>): unknown;
  readonly fetch: (request: Request) => Response | Promise<Response>;
}

interface HonoBounds {
  readonly Hono: new () => unknown;
  readonly bodyLimit: (options: { readonly maxSize: number }) => unknown;
  readonly getRequestListener: (fetch: never) => unknown;
}

/** `bodyLimit` of `hono/body-limit`. */
export const honoBounded = ({ Hono, bodyLimit, getRequestListener }: HonoBounds): ServeBounded => async (maxSize) => {
  const app = new Hono() as HonoLike;
  app.use(bodyLimit({ maxSize }) as never);
  app.post("/", async (c) => (await c.req.text(), c.text("read")));
  return getRequestListener(app.fetch as never) as RequestListener;
};

/** A body within the bound is read, and one above it gets a 413. */
export function bodySuite(name: string, serve: ServeBounded): void {
  test(`${name}: \`bodyLimit\` answers a larger body with 413`, async () => {
    const server = createServer(await serve(1_000)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const post = async (bytes: number): Promise<number> => {
      const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { method: "POST", body: "x".repeat(bytes), headers: { "content-type": "text/plain" } });
      await response.text();
      return response.status;
    };
    try {
      expect([await post(1_000), await post(1_001)]).toEqual([200, 413]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
}
