// Applications of NestJS on both platforms, started by @nestjs/testing.
import "reflect-metadata";
import { Injectable, type CanActivate, type ExecutionContext, type INestApplication, type ModuleMetadata } from "@nestjs/common";
import { APP_GUARD } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { Test } from "@nestjs/testing";
import { perMinute, MemoryStore } from "sluice";
import { RateLimitGuard, RateLimitModule, type RateLimitModuleOptions } from "sluice/nest";
import { ManualClock } from "sluice/testing";
import { onTestFinished } from "vitest";

export const platforms = [
  { platform: "Express", adapter: () => new ExpressAdapter() },
  { platform: "Fastify", adapter: () => new FastifyAdapter() as unknown as ExpressAdapter },
] as const;

export type Platform = (typeof platforms)[number];

/** Sends a request as a user, or as nobody. */
export type Ask = (call: string, user?: string, fields?: Readonly<Record<string, string>>) => Promise<Response>;

/** An application that was not started. */
export async function create({ adapter }: Platform, metadata: ModuleMetadata): Promise<INestApplication> {
  const testing = await Test.createTestingModule(metadata).compile();
  const app = testing.createNestApplication(adapter(), { logger: false });
  onTestFinished(() => app.close());
  return app;
}

/** Starts an application, and returns what sends requests to it, such as `ask("POST /reports", "ann")`. */
export async function start(platform: Platform, metadata: ModuleMetadata): Promise<Ask> {
  const app = await create(platform, metadata);
  await app.listen(0, "127.0.0.1");
  const url = new URL(await app.getUrl());
  return (call, user, fields = {}) => {
    const [method, path] = call.split(" ") as [string, string];
    return fetch(`http://127.0.0.1:${url.port}${path}`, { method, headers: user === undefined ? fields : { ...fields, "x-user": user } });
  };
}

/** The message with which an application does not start. */
export async function startError(platform: Platform, metadata: ModuleMetadata): Promise<string> {
  try {
    await (await create(platform, metadata)).init();
    return "it started";
  } catch (error) {
    return (error as Error).message;
  }
}


/** Signs callers in by the field that `ask` sends. */
@Injectable()
export class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string | undefined>; user?: { id: string } }>();
    const id = request.headers["x-user"];
    if (id !== undefined) request.user = { id };
    return true;
  }
}

export const signIn = { provide: APP_GUARD, useClass: AuthGuard };
export const limited = { provide: APP_GUARD, useClass: RateLimitGuard };

/** The module with 100 a minute for each user, and time that stands still. */
export function limits(more: Partial<RateLimitModuleOptions> = {}) {
  return RateLimitModule.forRoot({
    store: new MemoryStore({ clock: new ManualClock() }),
    policy: { name: "api", refill: perMinute(100) },
    key: (request) => ["user", request.user?.id],
    ...more,
  } as RateLimitModuleOptions);
}
