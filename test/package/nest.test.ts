// The packed sluice/nest in applications of NestJS as its users compile them: with declarations, in ES modules and CommonJS.
// NestJS is the root's, or that of the folder SLUICE_NEST: see vitest.config.ts.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Consumer } from "./consumer.js";

const packages = process.env["SLUICE_NEST"] ?? ".";
const consumer = new Consumer(packages);
afterAll(() => consumer.remove());
const { version } = JSON.parse(readFileSync(join(packages, "node_modules/@nestjs/core/package.json"), "utf8")) as { version: string };

const app = `import "reflect-metadata";
import { Catch, Controller, Get, Injectable, Module, Post, UseFilters, type ArgumentsHost, type CanActivate, type ExceptionFilter, type ExecutionContext } from "@nestjs/common";
import { APP_GUARD, NestFactory } from "@nestjs/core";
import { MemoryStore, perHour, perMinute, type Decision, type Limiter } from "sluice";
import { InjectRateLimiter, RateLimit, RateLimitDecision, RateLimitException, RateLimitGuard, RateLimitModule, SkipRateLimit, type NestResponse } from "sluice/nest";

@Injectable()
export class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string>; user?: { id: string } }>();
    request.user = { id: request.headers["x-user"] ?? "ann" };
    return true;
  }
}

export class StoreService {
  readonly store = new MemoryStore();
}

@Module({ providers: [StoreService], exports: [StoreService] })
export class StoreModule {}

@Catch(RateLimitException)
export class SlowDown implements ExceptionFilter {
  catch({ refusal }: RateLimitException, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<NestResponse>();
    response.status(refusal.status).header("content-type", "text/plain; charset=utf-8").send(refusal.code);
  }
}

@Controller("reports")
@RateLimit({ name: "reports", refill: perHour(3) })
export class ReportsController {
  constructor(@InjectRateLimiter("api") readonly limiter: Limiter) {}
  @SkipRateLimit() @Get("health") health(): string {
    return "healthy";
  }
  @Post() create(@RateLimitDecision() decision: Decision): object {
    return { policy: decision.policy, remaining: decision.remaining, api: this.limiter.parts.map(({ policy }) => policy.name) };
  }
  @UseFilters(SlowDown) @Get("filtered") filtered(): string {
    return "filtered";
  }
}

@Module({
  imports: [
    RateLimitModule.forRootAsync({
      imports: [StoreModule],
      inject: [StoreService],
      useFactory: (service) => ({
        store: service.store,
        policy: { name: "api", refill: perMinute(100) },
        key: (request) => ["user", request.user?.id],
        unidentified: "refuse",
      }),
    }),
  ],
  controllers: [ReportsController],
  providers: [
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_GUARD, useClass: RateLimitGuard },
  ],
})
export class AppModule {}

export async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: false, abortOnError: false });
  await app.listen(0, "127.0.0.1");
  const url = await app.getUrl();
  const ask = async (call: string): Promise<string> => {
    const [method, path] = call.split(" ");
    const response = await fetch(url + path, { method: method ?? "GET" });
    const text = await response.text();
    return [response.status, response.headers.get("content-type"), response.status < 400 ? text : ""].join(" ");
  };
  const calls = ["GET /reports/health", ...Array<string>(4).fill("POST /reports"), "GET /reports/filtered"];
  for (const call of calls) console.log(await ask(call));
  await app.close();
}
void main();
`;

const printed = [
  "200 text/html; charset=utf-8 healthy",
  ...[2, 1, 0].map((remaining) => `201 application/json; charset=utf-8 {"policy":"reports","remaining":${remaining},"api":["api"]}`),
  "429 application/problem+json ",
  "429 text/plain; charset=utf-8 ",
].join("\n").trim();

describe(`NestJS ${version}`, () => {
  beforeAll(() => {
    consumer.link("@types/node", "reflect-metadata", "rxjs", ...["common", "core", "platform-express"].map((name) => `@nestjs/${name}`));
  });

  /** Compiles the application in a folder, and returns its JavaScript. */
  async function compile(folder: string, type: string, more: object): Promise<string> {
    consumer.write(`${folder}/package.json`, JSON.stringify({ type }));
    consumer.write(`${folder}/app.ts`, app);
    const options = { experimentalDecorators: true, declaration: true, module: "nodenext", lib: ["es2022", "dom"], types: [], skipLibCheck: true, ...more };
    expect(await consumer.tsc(folder, options)).toBe("");
    return readFileSync(join(consumer.root, folder, "app.js"), "utf8");
  }

  test.each([["ES modules", "module", {}], ["CommonJS", "commonjs", { emitDecoratorMetadata: true }]])("compiles and runs in %s", async (_name, type, more) => {
    await compile(type, type, more);
    expect(await consumer.node(`${type}/app.js`)).toBe(printed);
  });

  test("has declarations that a compiler finds no fault in, where it looks into packages", async () => {
    consumer.write("checked/package.json", '{"type":"module"}');
    consumer.write("checked/app.ts", 'export * from "sluice/nest";');
    const options = { module: "nodenext", lib: ["es2022", "dom"], types: ["node"], skipLibCheck: false, noEmit: true, experimentalDecorators: true };
    const faults = (await consumer.tsc("checked", options)).split("\n").filter((line) => line !== "");
    // NestJS 10 has two faults of its own.
    const isOwn = (line: string): boolean => version.startsWith("10.") && /\/@nestjs\/common\/pipes\/file\/|^ /.test(line);
    expect(faults.filter((line) => !isOwn(line))).toEqual([]);
  });

  // Runtimes and test runners that do not know `module-sync` load these.
  test("runs with the CommonJS files, and with a decorator, a guard and an exception of the other copy", async () => {
    const compiled = await compile("copies", "commonjs", {});
    const dist = (name: string): string => `require("../node_modules/sluice/dist/cjs/default/${name}.cjs")`;
    const whole = compiled.replace('require("sluice")', dist("index")).replace('require("sluice/nest")', dist("nest"));
    expect(whole).not.toContain('require("sluice');
    consumer.write("copies/whole.js", whole);
    expect(await consumer.node("copies/whole.js")).toBe(printed);

    const from = (esm: string, cjs: string): string => `{ ...${esm}, ...(({ RateLimitException, RateLimitModule }) => ({ RateLimitException, RateLimitModule }))(${cjs}) }`;
    const [esm, cjs] = ['require("sluice/nest")', dist("nest")];
    for (const nest of [from(esm, cjs), from(cjs, esm)]) {
      const mixed = compiled.replace(esm, nest);
      expect(mixed).not.toBe(compiled);
      consumer.write("copies/mixed.js", mixed);
      expect(await consumer.node("copies/mixed.js")).toBe(printed);
    }
  });
});
