import { Controller, Get, Module } from "@nestjs/common";
import { APP_GUARD } from "@nestjs/core";
import { RateLimitGuard } from "./rate-limit-guard.js";

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
  controllers: [HelloController],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
})
export class AppModule {}
