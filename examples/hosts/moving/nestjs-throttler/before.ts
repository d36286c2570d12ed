import { Controller, Get, Module } from "@nestjs/common";
import { APP_GUARD } from "@nestjs/core";
import { ThrottlerGuard, ThrottlerModule } from "@nestjs/throttler";

@Controller()
class HelloController {
  @Get("hello") hello(): string {
    return "hello";
  }
  @Get("bye") bye(): string {
    return "bye";
  }
}

@Module({
  imports: [ThrottlerModule.forRoot([{ ttl: 15 * 60 * 1000, limit: 100 }])],
  controllers: [HelloController],
  providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
})
export class AppModule {}
