import "reflect-metadata";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { All, Body, Controller, Get, Header, HttpCode, Module, NotFoundException, Post, Req, Res, Sse, StreamableFile, UseGuards, type CanActivate, type ExecutionContext, type INestApplication } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter, type NestFastifyApplication } from "@nestjs/platform-fastify";
import { concat, from, type Observable } from "rxjs";
import { RateLimitGuard, RateLimitModule, reportCost, type NestResponse } from "sluice/nest";
import type { NodeRequest } from "sluice/node";
import type { AdapterSetup, RunningServer, SuiteAnswer, SuiteRequest } from "sluice/testing";
import { NestLimits } from "../../../src/adapters/nest/limits.js";
import type { Ask } from "./answers.js";

const AFTER_BODIES = "a guard runs after the body parser";

/** What a guard of NestJS lacks. On Fastify, `respond` may return a Response. */
export const nestLacks = {
  synchronous: "NestJS awaits every guard",
  outerMiddleware: "its middleware is that of Express or Fastify, which have rows of their own",
  upgrades: "NestJS passes no upgrade to a guard",
  beforeBodies: AFTER_BODIES,
  unreadBodies: AFTER_BODIES,
};

/** The folder whose NestJS these tests run on: see vitest.config.ts. */
export const nestPackages = process.env["SLUICE_NEST"] ?? ".";

const IS_10 = nestPackages.endsWith("nest-10");
/** What the platforms of NestJS 10 lack besides. */
export const onNest10 = { fastify: IS_10 ? { responses: "Fastify of NestJS 10 sends no Response" } : {} };

/** Express's response, or Fastify's reply. */
interface Reply {
  readonly raw?: ServerResponse;
  header(name: string, value: string): unknown;
  hijack(): unknown;
}

/** The suite's routes on NestJS over Express. */
export async function serveNestOnExpress(setup: AdapterSetup): Promise<RunningServer> {
  const app = await NestFactory.create(moduleOf(setup), new ExpressAdapter(), { logger: false, forceCloseConnections: true });
  app.use(prepare);
  return start(app);
}

/** The suite's routes on NestJS over Fastify. Its middleware sets header fields on Fastify's reply. */
export async function serveNestOnFastify(setup: AdapterSetup): Promise<RunningServer> {
  const app = await NestFactory.create<NestFastifyApplication>(moduleOf(setup), new FastifyAdapter({ forceCloseConnections: true }), { logger: false });
  const fastify = app.getHttpAdapter().getInstance();
  // By default Fastify answers 415 to a body without a type, before any guard.
  fastify.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
  fastify.addHook("onRequest", (request, reply, next) => prepare(request.raw, reply, next));
  return start(app);
}

function prepare({ url }: IncomingMessage, reply: Reply | ServerResponse, next: () => void): void {
  const set = (name: string, value: string): unknown => ("header" in reply ? reply.header(name, value) : reply.setHeader(name, value));
  set("Cache-Control", "public, max-age=60");
  if (url === "/cors") {
    set("Access-Control-Allow-Origin", "*");
    set("Access-Control-Expose-Headers", "X-Request-Id");
  }
  if (url === "/early") rawOf(reply).write("early, ");
  next();
}

async function start(app: INestApplication): Promise<RunningServer> {
  await app.listen(0, "127.0.0.1");
  return { port: Number(new URL(await app.getUrl()).port), close: () => app.close() };
}

/** Node's response, which the caller then answers by hand. */
function rawOf(reply: Reply | ServerResponse): ServerResponse {
  return ("raw" in reply && reply.raw) || (reply as ServerResponse);
}
function takeOver(reply: Reply): ServerResponse {
  if (reply.raw) reply.hijack();
  return rawOf(reply);
}

function moduleOf(setup: AdapterSetup): new () => object {
  type SuiteReq = NodeRequest & { readonly url: string };
  const read = ({ method = "", url, headers }: SuiteReq): SuiteRequest => ({ method, path: url, header: (name) => headers[name]?.toString() });
  const entered: CanActivate = {
    canActivate(context: ExecutionContext) {
      setup.entered(context.switchToHttp().getRequest<SuiteReq>().url);
      return true;
    },
  };

  const { answer, answerUnidentified } = setup;
  const send = (response: NestResponse, known: SuiteAnswer | undefined): unknown => {
    if (known === undefined || "returns" in known) return known?.returns;
    for (const [name, value] of Object.entries(known.fields)) response.header(name, value);
    return response.status(known.status).send(known.body);
  };
  const answerBy = <Refused>(ask: Ask<Refused>) => (refusal: Refused, request: SuiteReq, response: NestResponse): unknown => {
    const given = ask(refusal, read(request));
    return given instanceof Promise ? given.then((known) => send(response, known)) : send(response, given);
  };
  const options = { ...setup.options(read), ...(answer && { respond: answerBy(answer) }), ...(answerUnidentified && { unidentified: answerBy(answerUnidentified) }) };
  // An application has one module. The suite wants two limits, one after the other.
  const limitedBulk = new RateLimitGuard(new NestLimits(setup.bulk(read) as ConstructorParameters<typeof NestLimits>[0], []));

  @Controller()
  class Bulk {
    @UseGuards(limitedBulk, entered) @Get("bulk") bulk(): string {
      return "bulk";
    }
    @UseGuards(RateLimitGuard, limitedBulk, entered) @Get("both") both(@Req() request: SuiteReq): string {
      setup.reports((cost) => reportCost(request, cost));
      return "both";
    }
  }

  @Controller()
  @UseGuards(RateLimitGuard, entered)
  class Routes {
    @All(["ok", "cors"]) ok(): string {
      return "ok";
    }
    @Get("report") report(@Req() request: SuiteReq): string {
      setup.reports((cost) => reportCost(request, cost));
      return "report";
    }
    @Get("early") early(@Res() reply: Reply): void {
      takeOver(reply).end("late");
    }
    @Get("empty") @HttpCode(204) empty(): void {}
    @Get("same") @HttpCode(304) same(): void {}
    @Get("chunks") chunks(): StreamableFile {
      return new StreamableFile(Readable.from([Buffer.from("one, "), Buffer.from("two")]));
    }
    @Sse("events") events(): Observable<{ data: string }> {
      return concat([{ data: "1" }], from(setup.held().then(() => ({ data: "2" }))));
    }
    @Get("slow") async slow(): Promise<string> {
      await setup.held();
      return "slow";
    }
    @Get("missing") missing(): never {
      throw new NotFoundException();
    }
    @Get("broken") @HttpCode(500) broken(): string {
      return "broken";
    }
    @Get("throws") throws(): never {
      throw new Error("thrown");
    }
    @Get("rejects") rejects(): Promise<never> {
      return Promise.reject(new Error("rejected"));
    }
    @Get("own") @Header("RateLimit-Remaining", "777") own(): string {
      return "own";
    }
    @Get("raw") raw(@Res() reply: Reply): void {
      takeOver(reply).writeHead(200, { "RateLimit-Remaining": "777" }).end("raw");
    }
    @Get("raw-list") rawList(@Res() reply: Reply): void {
      takeOver(reply).writeHead(200, ["RateLimit-Remaining", "777"]).end("raw");
    }
    @Post("json") @HttpCode(200) json(@Body() body: unknown): unknown {
      return body;
    }
  }

  @Module({ imports: [RateLimitModule.forRoot(options)], controllers: [Bulk, Routes] })
  class Suite {}
  return Suite;
}
