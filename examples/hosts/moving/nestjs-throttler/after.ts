import { Module } from "@nestjs/common";
import { APP_GUARD } from "@nestjs/core";
import type { Request } from "express";
import { addressKey } from "sluice";
import { RateLimitGuard } from "../../servers/nest-guard.js";
import { HelloController } from "./hello.js";

const createGuard = (): RateLimitGuard<Request> =>
  new RateLimitGuard({
    policy: { name: "api", refill: { tokens: 100, everyMs: 900_000 } },
    key: (request) => addressKey(request.ip, { ipv6Prefix: 56 }),
  });

@Module({
  controllers: [HelloController],
  providers: [{ provide: APP_GUARD, useFactory: createGuard }],
})
export class AppModule {}
