import { Module } from "@nestjs/common";
import { APP_GUARD } from "@nestjs/core";
import { ThrottlerGuard, ThrottlerModule } from "@nestjs/throttler";
import { HelloController } from "./hello.js";

@Module({
  imports: [ThrottlerModule.forRoot([{ ttl: 15 * 60 * 1000, limit: 100 }])],
  controllers: [HelloController],
  providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
})
export class AppModule {}
