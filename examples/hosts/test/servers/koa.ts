import { createServer, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import Koa, { type Context } from "koa";
import { reportCost } from "sluice/http";
import type { AdapterSetup, RunningServer, SuiteAnswer } from "sluice/testing";
import type { Ask } from "../../../../test/adapters/rows/answers.js";
import { listen } from "../../../../test/adapters/rows/listen.js";
import { nodeLacks } from "../../../../test/adapters/rows/node.js";
import { answerInstead, compressEnd } from "../../../../test/adapters/rows/outer.js";
import { rateLimit } from "../../servers/koa.js";

/** What Koa lacks. */
export const koaLacks = { ...nodeLacks, upgrades: "Koa gets no upgrade" };

/** The suite's routes on Koa. */
export function serveKoa(setup: AdapterSetup): Promise<RunningServer> {
  const read = (ctx: Context) => ({ method: ctx.method, path: ctx.path, header: (name: string) => ctx.headers[name]?.toString() });
  const { answer, answerUnidentified } = setup;
  const send = (response: ServerResponse, known: SuiteAnswer | undefined): unknown =>
    known && ("returns" in known ? known.returns : response.writeHead(known.status, known.fields).end(known.body));
  const answerBy = <Refused>(ask: Ask<Refused>) => (refusal: Refused, ctx: Context, response: ServerResponse): unknown => {
    const given = ask(refusal, read(ctx));
    return given instanceof Promise ? given.then((known) => send(response, known)) : send(response, given);
  };
  const limited = rateLimit({ ...setup.options(read), ...(answer && { respond: answerBy(answer) }), ...(answerUnidentified && { unidentified: answerBy(answerUnidentified) }) });
  const limitedBulk = rateLimit(setup.bulk(read));
  const app = new Koa();
  app.silent = true; // no stack traces on the console

  app.use(async (ctx, next) => {
    ctx.set("Cache-Control", "public, max-age=60");
    if (ctx.path === "/cors") ctx.set({ "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "X-Request-Id" });
    if (ctx.path === "/early") ctx.res.writeHead(200).write("early, ");
    if (ctx.path === "/dropped") answerInstead(ctx.res);
    if (ctx.path === "/compressed") compressEnd(ctx.res);
    await next();
    if (ctx.path === "/fails-after") throw new Error("after");
  });
  app.use((ctx, next) => (ctx.path === "/bulk" ? next() : limited(ctx, next)));
  app.use((ctx, next) => (ctx.path === "/bulk" || ctx.path === "/both" ? limitedBulk(ctx, next) : next()));
  app.use(async (ctx) => {
    setup.entered(ctx.path);
    await route(ctx);
  });
  return listen(createServer(app.callback()));

  async function route(ctx: Context): Promise<unknown> {
    switch (ctx.path) {
      case "/both":
      case "/report":
        setup.reports((cost) => reportCost(ctx, cost));
        return void (ctx.body = "report");
      case "/empty":
        return void (ctx.status = 204);
      case "/same":
        return void (ctx.status = 304);
      case "/chunks":
        return void (ctx.body = Readable.from(["one, ", "two"]));
      case "/events":
        ctx.type = "text/event-stream";
        return void (ctx.body = Readable.from(events()));
      case "/slow":
        await setup.held();
        return void (ctx.body = "slow");
      case "/dropped":
        await setup.held();
        return void (ctx.respond = false);
      case "/missing":
        return void (ctx.status = 404);
      case "/broken":
        return void (ctx.status = 500);
      case "/throws":
        throw new Error("thrown");
      case "/rejects":
        return Promise.reject(new Error("rejected"));
      case "/own":
        ctx.set("RateLimit-Remaining", "777");
        return void (ctx.body = "own");
      case "/raw":
        ctx.respond = false;
        return ctx.res.writeHead(200, { "RateLimit-Remaining": "777" }).end("raw");
      case "/raw-list":
        ctx.respond = false;
        return ctx.res.writeHead(200, ["RateLimit-Remaining", "777"]).end("raw");
      case "/early":
        ctx.respond = false;
        return ctx.res.end("late");
      case "/json":
        return void (ctx.body = await parse(ctx.req));
      default:
        return void (ctx.body = "ok");
    }
  }

  async function* events(): AsyncGenerator<string> {
    yield "data: 1\n\n";
    await setup.held();
    yield "data: 2\n\n";
  }
}

async function parse(request: Readable): Promise<unknown> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk as string;
  return text === "" ? null : JSON.parse(text);
}
