// The files to copy with the options that pages advise, together with `respond`: a caller who is not signed in gets a 401.
// `tsc -p examples/hosts` reads these lines as a user's.
import type { APIGatewayProxyEventV2WithJWTAuthorizer, Context } from "aws-lambda";
import { Elysia } from "elysia";
import { H3 } from "h3";
import Koa from "koa";
import { perSecond } from "sluice";
import { expect, test } from "vitest";
import { rateLimit as onH3 } from "../servers/h3.js";
import { rateLimit as onKoa } from "../servers/koa.js";
import { rateLimit as onLambda } from "../servers/lambda.js";
import { rateLimit as onElysia } from "../servers/elysia.js";
import { rateLimit as onNitro, type NitroEvent } from "../servers/nitro.js";
import { start } from "./moving.js";

const policy = { name: "api", refill: perSecond(5) };

test("h3", async () => {
  const app = new H3({ silent: true }).use(onH3({ policy, key: (event) => ["user", event.context["userId"] as string | undefined], unidentified: "refuse", respond: ({ status }, event) => ({ status, path: event.url.pathname }) }));
  expect((await app.get("/", () => "hello").request("/")).status).toBe(401);
});

test("AWS Lambda", async () => {
  const limited = onLambda({
    policy,
    key: ({ requestContext }) => ["user", (requestContext as APIGatewayProxyEventV2WithJWTAuthorizer["requestContext"]).authorizer?.jwt.claims["sub"] as string | undefined],
    unidentified: "refuse",
    respond: ({ status }, event, context) => ({ status, path: event.rawPath, left: context.getRemainingTimeInMillis() }),
  });
  const event = { headers: {}, requestContext: { http: { method: "GET" } } } as unknown as APIGatewayProxyEventV2WithJWTAuthorizer;
  expect(await limited(async () => ({ statusCode: 200 }))(event, {} as Context)).toMatchObject({ statusCode: 401 });
});

test("Koa", async () => {
  const app = new Koa().use(onKoa({ policy, key: (ctx) => ["user", (ctx.state as { user?: { id: string } }).user?.id], unidentified: "refuse", respond: ({ message }, ctx, response) => response.end(`${ctx.path}: ${message}`) }));
  expect(await (await start("express", app.callback() as never)).get()).toMatchObject({ status: 401 });
});

test("Elysia", async () => {
  const app = new Elysia().use(onElysia<{ readonly user?: { readonly id: string } }>({ policy, key: ({ user }) => ["user", user?.id], unidentified: "refuse", respond: ({ status }, { path }) => ({ status, path }) }));
  expect((await app.get("/", () => "hello").handle(new Request("http://localhost/"))).status).toBe(401);
});

test("Nitro", async () => {
  const handler = onNitro({ policy, key: ({ node }) => ["user", node.req.headers.authorization], unidentified: "refuse", respond: ({ message }, { node }, response) => response.end(`${node.req.url}: ${message}`) });
  const { get } = await start("express", ((req: NitroEvent["node"]["req"], res: NitroEvent["node"]["res"]) => handler({ node: { req, res }, _handled: false })) as never);
  expect(await get()).toMatchObject({ status: 401 });
});
