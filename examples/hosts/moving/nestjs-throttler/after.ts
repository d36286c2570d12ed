import { Module } from "@nestjs/common";
import { APP_GUARD } from "@nestjs/core";
import { addressKey } from "sluice";
import { RateLimitGuard, RateLimitModule } from "sluice/nest";
import { HelloController } from "./hello.js";

@Module({
  imports: [
    RateLimitModule.forRoot({
      policy: { name: "api", refill: { tokens: 100, everyMs: 900_000 } },
      key: (request) => addressKey(request.ip, { ipv6Prefix: 56 }),
    }),
  ],
  controllers: [HelloController],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
})
export class AppModule {}
