import { createServer } from "node:http";
import express, { type RequestHandler } from "express";
import express4 from "express4";
import { rateLimit } from "sluice/express";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "./rows/listen.js";
import { oneToken, told } from "./setup.js";

const versions = [
  { name: "Express 4", framework: express4 as unknown as typeof express },
  { name: "Express 5", framework: express },
];

describe.each(versions)("$name", ({ framework }) => {
  async function serve(...mounted: RequestHandler[]): Promise<(path?: string) => Promise<Response>> {
    const app = framework().set("env", "test");
    app.use(...mounted);
    app.get("/", (_request, response) => void response.send("ok"));
    app.use(((error: Error, _request, response, next) => {
      if (response.headersSent) return next(error);
      response.status(418).send(error.message);
    }) as express.ErrorRequestHandler);
    const server = await listen(createServer(app));
    onTestFinished(() => void server.close());
    return (path = "/") => fetch(`http://127.0.0.1:${server.port}${path}`);
  }

  test("what a key throws goes to next, and to the app's error handler", async () => {
    const get = await serve(
      rateLimit({
        ...oneToken(),
        key: () => {
          throw new Error("no session");
        },
      }),
    );
    const response = await get();
    expect([...told(response), await response.text()]).toEqual([418, null, null, "no session"]);
  });

  test("what a key rejects with goes to next", async () => {
    const get = await serve(rateLimit({ ...oneToken(), key: () => Promise.reject(new Error("no session")) }));
    const response = await get();
    expect([...told(response), await response.text()]).toEqual([418, null, null, "no session"]);
  });

  test("a key that rejects with undefined lets no request in", async () => {
    const get = await serve(rateLimit({ ...oneToken(), key: () => Promise.reject() }));
    expect((await get()).status).toBe(418);
  });

  test("an error handler cannot turn a 429 into anything else", async () => {
    const get = await serve(rateLimit({ ...oneToken(), key: () => "ann" }));
    expect(told(await get())).toEqual([200, "0", null]);
    expect(told(await get())).toEqual([429, "0", "1"]);
  });

  test("the error handler's answer carries the fields", async () => {
    const get = await serve(rateLimit({ ...oneToken(), key: () => "ann" }), () => {
      throw new Error("broken");
    });
    expect(told(await get())).toEqual([418, "0", null]);
  });

  test("a limit on one route leaves the others alone", async () => {
    const router = framework.Router();
    router.get("/limited", rateLimit({ ...oneToken(), key: () => "ann" }), (_request, response) => void response.send("ok"));
    const get = await serve(router);
    expect(told(await get("/limited"))).toEqual([200, "0", null]);
    expect(told(await get("/limited"))).toEqual([429, "0", "1"]);
    expect(told(await get("/"))).toEqual([200, null, null]);
  });

  test("the key may read what earlier middleware put on the request", async () => {
    const get = await serve(
      (request, _response, next) => {
        Object.assign(request, { user: { id: request.query["as"] } });
        next();
      },
      rateLimit({ ...oneToken(), key: (request) => ["user", (request as unknown as { user: { id: string } }).user.id] }),
    );
    expect((await get("/?as=ann")).status).toBe(200);
    expect((await get("/?as=bob")).status).toBe(200);
    expect((await get("/?as=ann")).status).toBe(429);
  });
});

test("the middleware has a name, for stack traces", () => {
  expect(rateLimit({ ...oneToken(), key: () => "ann" }).name).toBe("rateLimit");
});
