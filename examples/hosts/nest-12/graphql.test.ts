// Resolvers of @nestjs/graphql on Apollo's server: one query is one request, however many fields it asks for.
import { Controller, Get, type ExecutionContext, type INestApplication, type ModuleMetadata } from "@nestjs/common";
import { APP_GUARD } from "@nestjs/core";
import { ApolloDriver, type ApolloDriverConfig } from "@nestjs/apollo";
import { GqlExecutionContext, GraphQLModule, Query, ResolveField, Resolver } from "@nestjs/graphql";
import { Test } from "@nestjs/testing";
import { MemoryStore, perHour, perMinute, type Decision } from "sluice";
import { RateLimit, RateLimitDecision, RateLimitGuard, RateLimitModule, type NestRequest, type RateLimitModuleOptions } from "sluice/nest";
import { ManualClock } from "sluice/testing";
import { expect, onTestFinished, test } from "vitest";

const typeDefs = "type Query { one: Int, two: Int, three: Int, report: Int, user: User } type User { left: Int }";

@Resolver()
class Fields {
  @Query() one(@RateLimitDecision() decision: Decision): number {
    return decision.remaining;
  }
  @Query() two(@RateLimitDecision() decision: Decision): number {
    return decision.remaining;
  }
  @Query() three(@RateLimitDecision() decision: Decision): number {
    return decision.remaining;
  }
  @RateLimit({ name: "reports", refill: perHour(1) }) @Query() report(@RateLimitDecision() decision: Decision): number {
    return decision.remaining;
  }
  @Query() user(): object {
    return {};
  }
}

@Resolver("User")
class Users {
  @ResolveField() left(@RateLimitDecision() decision: Decision): number {
    return decision.remaining;
  }
}

@Controller()
class Rest {
  @Get("rest") rest(@RateLimitDecision() decision: Decision): object {
    return { left: decision.remaining };
  }
}

const limits = (more: Pick<RateLimitModuleOptions, "getRequest"> = {}) =>
  RateLimitModule.forRoot({
    store: new MemoryStore({ clock: new ManualClock() }),
    policy: { name: "api", refill: perMinute(2) },
    key: ({ headers }) => ["user", headers["x-user"]?.toString()],
    getRequest: (context: ExecutionContext) => GqlExecutionContext.create(context).getContext<{ req: NestRequest }>().req,
    ...more,
  });

const limited = { provide: APP_GUARD, useClass: RateLimitGuard };

async function create(metadata: ModuleMetadata): Promise<INestApplication> {
  const graphql = GraphQLModule.forRoot<ApolloDriverConfig>({ driver: ApolloDriver, typeDefs, playground: false });
  const testing = await Test.createTestingModule({ ...metadata, imports: [graphql, ...(metadata.imports ?? [])] }).compile();
  const app = testing.createNestApplication({ logger: false });
  onTestFinished(() => app.close());
  return app;
}

/** Sends a query as Ann, and returns the response and its body. */
async function start(imports: ModuleMetadata["imports"] = [limits()]): Promise<(query: string) => Promise<readonly [Response, unknown]>> {
  const app = await create({ imports, controllers: [Rest], providers: [Fields, Users, limited] });
  await app.listen(0, "127.0.0.1");
  const url = await app.getUrl();
  return async (query) => {
    const headers = { "content-type": "application/json", "x-user": "ann" };
    const response = await (query === "rest"
      ? fetch(`${url}/rest`, { headers })
      : fetch(`${url}/graphql`, { method: "POST", headers, body: JSON.stringify({ query }) }));
    return [response, await response.json()];
  };
}

test("three root fields in one query are charged once, and the fields of the response say so", async () => {
  const ask = await start();
  const [response, body] = await ask("{ one two three }");
  expect([response.status, body, response.headers.get("ratelimit-remaining")]).toEqual([200, { data: { one: 1, two: 1, three: 1 } }, "1"]);
});

test("fields of objects belong to the same request", async () => {
  const ask = await start();
  expect((await ask("{ one user { left } }"))[1]).toEqual({ data: { one: 1, user: { left: 1 } } });
});

test("requests beyond the limit get an error for each field, and the header fields", async () => {
  const ask = await start();
  await ask("{ one }");
  await ask("{ one }");
  const [{ headers }, body] = await ask("{ one two }");
  expect([headers.get("retry-after"), headers.get("ratelimit-remaining"), headers.get("content-type")]).toEqual(["30", "0", "application/json; charset=utf-8"]);
  const { data, errors } = body as { data: unknown; errors: ReadonlyArray<{ path: unknown; message: string }> };
  expect([data, errors.map(({ path, message }) => [path, message])]).toEqual([
    { one: null, two: null }, ["one", "two"].map((name) => [[name], "Too many requests. Try again in 30 seconds."]),
  ]);
});

test("a field with a limit of its own is charged there, and a route of the same application as ever", async () => {
  const ask = await start();
  expect((await ask("{ report }"))[1]).toEqual({ data: { report: 0 } });
  expect((await ask("rest"))[1]).toEqual({ left: 1 });
});

test("without `getRequest` each field is an error with the cure, and none runs", async () => {
  const ask = await start([limits({ getRequest: undefined })]);
  const { data, errors } = (await ask("{ one }"))[1] as { data: unknown; errors: ReadonlyArray<{ message: string }> };
  expect(data).toEqual({ one: null });
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining("GqlExecutionContext.create(context).getContext().req")]);
});

test("a @RateLimit of a resolver without a guard stops the start", async () => {
  const app = await create({ imports: [limits()], providers: [Fields, Users] });
  await expect(app.init()).rejects.toThrow("Expected RateLimitGuard to guard Fields.report, which has a @RateLimit, got no such guard");
});
