import { Controller, Get, Module } from "@nestjs/common";
import { APP_GUARD, NestFactory } from "@nestjs/core";
import { addressKey, perMinute } from "sluice";
import { RateLimitGuard, RateLimitModule } from "sluice/nest";

@Controller()
class AppController { @Get() hello() { return "Hello"; } }
const limits = RateLimitModule.forRoot({
  policy: { name: "api", refill: perMinute(100) }, // 100 at once, then 100 a minute
  // Behind a proxy: app.set("trust proxy", 1) of a NestExpressApplication
  key: (request) => addressKey(request.ip),
});
const guard = { provide: APP_GUARD, useClass: RateLimitGuard };
@Module({ imports: [limits], controllers: [AppController], providers: [guard] })
class AppModule {}
void NestFactory.create(AppModule).then((app) => app.listen(3000));
