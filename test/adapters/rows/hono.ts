import type { IncomingMessage, Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import { Hono, type Context } from "hono";
import { cors } from "hono/cors";
import { stream, streamSSE } from "hono/streaming";
import { rateLimit, reportCost } from "sluice/hono";
import type { AdapterSetup, RunningServer, SuiteAnswer } from "sluice/testing";
import type { Ask } from "./answers.js";
import { listen } from "./listen.js";
import { openSocket } from "./outer.js";

/** What a web-standard response cannot do. */
export const lacks = {
  rawHead: "a Response has no head to write by hand",
  earlyHead: "a Response is sent only when it is returned",
};

/** What the routes take from Hono, of whichever version. */
export interface HonoParts {
  readonly Hono: typeof Hono;
  readonly cors: typeof cors;
  readonly stream: typeof stream;
  readonly streamSSE: typeof streamSSE;
}

const newest: HonoParts = { Hono, cors, stream, streamSSE };

/** The suite's routes on Hono. */
export function honoApp(setup: AdapterSetup, hono = newest): Hono {
  const read = (c: Context) => ({ method: c.req.method, path: c.req.path, header: (name: string) => c.req.header(name) });
  const app = new hono.Hono();

  app.use(async (c, next) => {
    c.header("Cache-Control", "public, max-age=60");
    await next();
  });
  app.use("/dropped", async (c, next) => {
    await next();
    c.res = new Response("dropped", { status: 504 });
  });
  app.use("/fails-after", async (_c, next) => {
    await next();
    throw new Error("after");
  });
  app.use("/compressed", async (c, next) => {
    await next();
    c.res = new Response(c.res.body?.pipeThrough(new CompressionStream("gzip") as never), { headers: { "Content-Encoding": "gzip" } });
  });
  app.use("/cors", hono.cors({ origin: "*", exposeHeaders: ["X-Request-Id"] }));
  const bulk = rateLimit(setup.bulk(read));
  app.get("/bulk", bulk, (c) => {
    setup.entered(c.req.path);
    return c.text("bulk");
  });
  const { answer, answerUnidentified } = setup;
  // A response that is made by the context, and nonsense where the suite wants none.
  const send = (c: Context, known: SuiteAnswer | undefined): Response =>
    (known && ("returns" in known ? known.returns : c.body(known.body, known.status as 200, known.fields))) as Response;
  const answerBy = <Refused>(ask: Ask<Refused>) => (refusal: Refused, c: Context): Response | Promise<Response> => {
    const given = ask(refusal, read(c));
    return given instanceof Promise ? given.then((known) => send(c, known)) : send(c, given);
  };
  app.use(rateLimit({ ...setup.options(read), ...(answer && { respond: answerBy(answer) }), ...(answerUnidentified && { unidentified: answerBy(answerUnidentified) }) }));
  app.use(async (c, next) => {
    setup.entered(c.req.path);
    await next();
  });
  app.onError((_error, c) => c.text("failed", 500)); // no stack traces on the console

  app.get("/ok", (c) => c.text("ok"));
  app.use("/both", bulk);
  for (const path of ["/both", "/report"]) {
    app.get(path, (c) => {
      setup.reports((cost) => reportCost(c, cost));
      return c.text("report");
    });
  }
  app.get("/cors", (c) => c.text("cors"));
  app.get("/empty", (c) => c.body(null, 204));
  app.get("/same", (c) => c.body(null, 304));
  app.get("/chunks", (c) =>
    hono.stream(c, async (out) => {
      await out.write("one, ");
      await out.write("two");
    }),
  );
  app.get("/events", (c) =>
    hono.streamSSE(c, async (out) => {
      await out.writeSSE({ data: "1" });
      await setup.held();
      await out.writeSSE({ data: "2" });
    }),
  );
  app.get("/slow", async (c) => {
    await setup.held();
    return c.text("slow");
  });
  for (const path of ["/dropped", "/fails-after", "/compressed"]) app.get(path, (c) => c.text("late"));
  app.get("/socket", (c) => {
    openSocket((c.env as { incoming: IncomingMessage }).incoming.socket);
    return c.body(null);
  });
  app.get("/missing", (c) => c.json({}, 404));
  app.get("/broken", (c) => c.json({}, 500));
  app.get("/throws", () => {
    throw new Error("thrown");
  });
  app.get("/rejects", () => Promise.reject(new Error("rejected")));
  app.get("/own", (c) => c.text("own", 200, { "RateLimit-Remaining": "777" }));
  app.post("/json", async (c) => c.json(await c.req.json()));
  return app;
}

/** The same on Node. */
export function serveHono(setup: AdapterSetup, hono = newest, create = createAdaptorServer): Promise<RunningServer> {
  const app = honoApp(setup, hono);
  const server = create({ fetch: app.fetch }) as Server;
  // As @hono/node-ws does: the connection, and no response of Node.
  server.on("upgrade", (incoming: IncomingMessage) =>
    void app.request(incoming.url ?? "", { headers: incoming.headers as Record<string, string> }, { incoming, outgoing: undefined }));
  return listen(server);
}
