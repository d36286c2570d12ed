import { Module } from "@nestjs/common";
import { APP_GUARD } from "@nestjs/core";
import { addressKey } from "sluice";
import { HelloController } from "./hello.js";
import { RateLimitGuard } from "./rate-limit-guard.js";

const createGuard = (): RateLimitGuard =>
  new RateLimitGuard({
    policy: { name: "api", capacity: 100, refill: { tokens: 100, everyMs: 900_000 } },
    key: (request) => addressKey(request.ip, { ipv6Prefix: 56 }),
  });

@Module({
  controllers: [HelloController],
  providers: [{ provide: APP_GUARD, useFactory: createGuard }],
})
export class AppModule {}
