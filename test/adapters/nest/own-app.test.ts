// The sample of docs/adapters/nest.md that tests an application: its guard goes by the clock of the test.
import { Controller, Get, Module } from "@nestjs/common";
import { APP_GUARD } from "@nestjs/core";
import { Test } from "@nestjs/testing";
import { MemoryStore, perMinute } from "sluice";
import { RateLimitGuard, RateLimitModule } from "sluice/nest";
import { ManualClock } from "sluice/testing";
import request from "supertest";
import { test } from "vitest";

@Module({ providers: [{ provide: MemoryStore, useFactory: () => new MemoryStore() }], exports: [MemoryStore] })
class StoreModule {}

@Controller()
class Inbox {
  @Get("inbox") read() {
    return [];
  }
}

@Module({
  imports: [
    RateLimitModule.forRootAsync({
      imports: [StoreModule],
      inject: [MemoryStore],
      useFactory: (store) => ({ store, policy: { name: "api", capacity: 1, refill: perMinute(1) }, key: () => "all" }),
    }),
  ],
  controllers: [Inbox],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
})
class AppModule {}

test("the inbox opens again after the wait", async () => {
  const clock = new ManualClock();
  const testing = await Test.createTestingModule({ imports: [AppModule] })
    .overrideProvider(MemoryStore).useValue(new MemoryStore({ clock: clock.now }))
    .compile();
  const app = await testing.createNestApplication().init();
  await request(app.getHttpServer()).get("/inbox").expect(200);
  await request(app.getHttpServer()).get("/inbox").expect(429);

  clock.advance(60_000);
  await request(app.getHttpServer()).get("/inbox").expect(200);
  await app.close();
});
