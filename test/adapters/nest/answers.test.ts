// How a refusal of NestJS is answered: by the standard document, by an exception filter, or by `respond`.
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { Catch, Controller, Get, HttpException, type ArgumentsHost, type ExceptionFilter } from "@nestjs/common";
import { APP_FILTER } from "@nestjs/core";
import { perHour } from "sluice";
import { RateLimit, RateLimitException, type NestRequest, type NestResponse } from "sluice/nest";
import { describe, expect, test } from "vitest";
import { create, limited, limits, platforms, signIn, start } from "./apps.js";

const entered: string[] = [];

@Controller()
class OneController {
  @RateLimit({ name: "one", refill: perHour(1) }) @Get("one") one(): string {
    entered.push("one");
    return "one";
  }
  @RateLimit({ cost: () => 101 }) @Get("huge") huge(): string {
    return "huge";
  }
}

/** The status, the type and the fields of a refusal. */
const seen = ({ status, headers }: Response): readonly unknown[] => [
  status, headers.get("content-type"), headers.get("retry-after"), headers.get("ratelimit-remaining"), headers.get("cache-control"),
];

const caught: HttpException[] = [];

@Catch(HttpException)
class OwnFilter implements ExceptionFilter {
  catch(exception: HttpException, host: ArgumentsHost): void {
    caught.push(exception);
    const response = host.switchToHttp().getResponse<NestResponse>();
    response.status(exception.getStatus()).send({ mine: exception.message });
  }
}

@Catch(RateLimitException)
class SameFilter implements ExceptionFilter {
  catch(exception: RateLimitException, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<NestResponse & { json?(body: unknown): unknown }>().status(exception.getStatus()).send(exception.getResponse());
  }
}

describe.each(platforms)("refusals of NestJS on $platform", (platform) => {
  const app = (more = {}, ...providers: object[]) => ({
    imports: [limits(more)], controllers: [OneController], providers: [signIn, limited, ...(providers as never[])],
  });

  test("without a filter, the document goes out whole, with its own type", async () => {
    const ask = await start(platform, app());
    await ask("GET /one", "ann");
    const response = await ask("GET /one", "ann");
    expect(seen(response)).toEqual([429, "application/problem+json", "3600", "0", "no-store"]);
    const text = await response.text();
    expect(response.headers.get("content-length")).toBe(String(text.length));
    expect(JSON.parse(text)).toMatchObject({ status: 429, code: "rate_limited", retry_after: 3600, "violated-policies": ["one"] });
    expect(seen(await ask("HEAD /one", "ann"))).toEqual([429, "application/problem+json", "3600", "0", "no-store"]);
  });

  test("an error of the application keeps its own type", async () => {
    const ask = await start(platform, app());
    const response = await ask("GET /nowhere", "ann");
    expect([response.status, response.headers.get("content-type")]).toEqual([404, "application/json; charset=utf-8"]);
  });

  test("a filter's body keeps its own type, and all other fields are set", async () => {
    const ask = await start(platform, app({}, { provide: APP_FILTER, useClass: OwnFilter }));
    await ask("GET /one", "ann");
    caught.length = 0;
    const response = await ask("GET /one", "ann");
    expect(seen(response)).toEqual([429, "application/json; charset=utf-8", "3600", "0", "no-store"]);
    expect(await response.json()).toEqual({ mine: "Too many requests. Try again in 3600 seconds." });
    const [exception] = caught as [RateLimitException];
    expect(exception).toBeInstanceOf(RateLimitException);
    expect([exception.name, exception.refusal.code, exception.refusal.decision?.policy]).toEqual(["RateLimitException", "rate_limited", "one"]);
    expect((await ask("GET /huge", "ann")).status).toBe(400);
  });

  test("a filter that sends the document as it is, sends its type", async () => {
    const ask = await start(platform, app({}, { provide: APP_FILTER, useClass: SameFilter }));
    await ask("GET /one", "ann");
    const response = await ask("GET /one", "ann");
    expect([...seen(response), await response.json()]).toMatchObject([429, "application/problem+json", "3600", "0", "no-store", { code: "rate_limited" }]);
  });

  test("a cost above the capacity is a 400", async () => {
    const ask = await start(platform, app());
    expect(seen(await ask("GET /huge", "ann")).slice(0, 3)).toEqual([400, "application/problem+json", null]);
  });

  test("a request from another origin may read the fields", async () => {
    const ask = await start(platform, app());
    await ask("GET /one", "ann");
    const response = await ask("GET /one", "ann", { origin: "https://example.com" });
    expect(response.headers.get("access-control-expose-headers")).toContain("Retry-After");
  });

  test("respond answers in place of the exception, and the handler does not run", async () => {
    caught.length = 0;
    const respond = ({ retryAfter }: { retryAfter: number | null }, _request: unknown, response: NestResponse) =>
      response.status(420).header("x-own", "yes").send(`wait ${retryAfter}`);
    const ask = await start(platform, app({ respond }, { provide: APP_FILTER, useClass: OwnFilter }));
    await ask("GET /one", "ann");
    entered.length = 0;
    const response = await ask("GET /one", "ann");
    expect([response.status, response.headers.get("x-own"), response.headers.get("retry-after"), await response.text()]).toEqual([420, "yes", "3600", "wait 3600"]);
    expect([entered, caught]).toEqual([[], []]);
  });

  test("an object that respond returns is sent as JSON", async () => {
    const ask = await start(platform, app({ respond: async ({ message }: { message: string }) => ({ message }) }));
    await ask("GET /one", "ann");
    const response = await ask("GET /one", "ann");
    expect([response.status, response.headers.get("content-type"), await response.json()]).toEqual([
      429, expect.stringContaining("application/json"), { message: "Too many requests. Try again in 3600 seconds." },
    ]);
  });

  test("a function `unidentified` answers a caller without a key", async () => {
    const unidentified = (_refusal: unknown, _request: unknown, response: NestResponse) => response.status(403).send("who are you?");
    const ask = await start(platform, app({ unidentified }));
    const response = await ask("GET /one");
    expect([response.status, await response.text()]).toEqual([403, "who are you?"]);
  });

  test("a request that `skip` names costs nothing and has no fields", async () => {
    const ask = await start(platform, app({ skip: ({ headers }: NestRequest) => headers["x-free"] === "yes" }));
    for (let i = 0; i < 2; i++) {
      const free = await ask("GET /one", "ann", { "x-free": "yes" });
      expect([free.status, free.headers.get("ratelimit")]).toEqual([200, null]);
    }
    expect([(await ask("GET /one", "ann")).status, (await ask("GET /one", "ann")).status]).toEqual([200, 429]);
  });

  test("an error of `key` is an error of the application, and the handler does not run", async () => {
    entered.length = 0;
    const ask = await start(platform, app({ key: () => { throw new Error("no session"); } }));
    expect((await ask("GET /one", "ann")).status).toBe(500);
    expect(entered).toEqual([]);
  });
});

test("on Express, the connection of a refused upload that no parser reads is closed", async () => {
  const [express] = platforms;
  const app = await create(express, { imports: [limits({ unidentified: "refuse" })], controllers: [OneController], providers: [limited] });
  await app.listen(0, "127.0.0.1");
  const upload = request(`${await app.getUrl()}/one`, { method: "GET", headers: { "content-type": "multipart/form-data", "content-length": "5000000" } });
  upload.on("error", () => {});
  upload.flushHeaders();
  const [response] = (await once(upload, "response")) as [IncomingMessage];
  upload.destroy();
  expect([response.statusCode, response.headers.connection]).toEqual([401, "close"]);
});
