// NestJS, on Express and on Fastify: places come back with the first byte there, too.
import "reflect-metadata";
import { Controller, Get, HttpCode, Module, Sse, type INestApplication } from "@nestjs/common";
import { APP_GUARD, NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { concat, from, type Observable } from "rxjs";
import { RateLimitGuard, RateLimitModule } from "sluice/nest";
import { afterEach, expect, test } from "vitest";
import { soon } from "../helpers/soon.js";
import { closeAll, World } from "./servers.js";

afterEach(closeAll);

function moduleOf(world: World): new () => object {
  @Controller()
  class Routes {
    @Get("ok") ok(): string {
      return "ok";
    }
    @Get("empty") @HttpCode(204) empty(): void {}
    @Get("slow") async slow(): Promise<string> {
      await world.held();
      return "slow";
    }
    @Sse("events") events(): Observable<{ data: string }> {
      return concat([{ data: "1" }], from(world.held().then(() => ({ data: "2" }))));
    }
  }
  @Module({ imports: [RateLimitModule.forRoot(world.options)], controllers: [Routes], providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }] })
  class App {}
  return App;
}

const platforms = { express: () => new ExpressAdapter(), fastify: () => new FastifyAdapter({ forceCloseConnections: true }) };
const appOn = (name: keyof typeof platforms, world: World): Promise<INestApplication> =>
  NestFactory.create(moduleOf(world), platforms[name]() as ExpressAdapter, { logger: false, forceCloseConnections: true });

test.each(["express", "fastify"] as const)("on %s", async (name) => {
  const world = new World();
  const app = await appOn(name, world);
  await app.listen(0, "127.0.0.1");
  const url = await app.getUrl();
  try {
    expect((await fetch(`${url}/ok`)).status).toBe(200);
    expect((await fetch(`${url}/empty`)).status).toBe(204);
    const events = await fetch(`${url}/events`);
    const held = [fetch(`${url}/slow`), fetch(`${url}/slow`)];
    await soon(() => expect(world.load.inFlight).toBe(2));
    const refused = await fetch(`${url}/ok`);
    expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("ratelimit"), await refused.json()]).toMatchObject([503, "3", null, { code: "overloaded" }]);
    world.releaseAll();
    for (const { status } of await Promise.all(held)) expect(status).toBe(200);
    await events.text();
    expect([world.load.inFlight, world.samples.length]).toEqual([0, 4]);
  } finally {
    await app.close();
  }
});
