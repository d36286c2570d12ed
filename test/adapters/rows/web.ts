import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import type { AdapterSetup, RunningServer, SuiteAnswer } from "sluice/testing";
import { rateLimit, reportCost } from "sluice/web";
import type { Ask } from "./answers.js";
import { lacks } from "./hono.js";
import { listen } from "./listen.js";

// The platform's own, not what @hono/node-server puts in its place.
const { Response } = globalThis;

const noConnection = "a Request does not give its connection";

/** What it cannot do. */
export const webLacks = { ...lacks, unreadBodies: noConnection, upgrades: noConnection };

const pathOf = (request: Request) => new URL(request.url).pathname;

/** The suite's routes as one function from Request to Response, behind this package's adapter or a copy of it. */
export function webHandler(setup: AdapterSetup, answer = withErrorPage(webRoutes(setup)), limit = rateLimit): (request: Request) => Promise<Response> {
  const read = (request: Request) => ({ method: request.method, path: pathOf(request), header: (name: string) => request.headers.get(name) });
  const { answer: asked, answerUnidentified } = setup;
  // Nonsense where the suite wants no response.
  const send = (known: SuiteAnswer | undefined): Response =>
    (known && ("returns" in known ? known.returns : new Response(known.body, { status: known.status, headers: known.fields }))) as Response;
  const answerBy = <Refused>(ask: Ask<Refused>) => (refusal: Refused, request: Request): Response | Promise<Response> => {
    const given = ask(refusal, read(request));
    return given instanceof Promise ? given.then(send) : send(given);
  };
  const limitOwn = limit({ ...setup.options(read), ...(asked && { respond: answerBy(asked) }), ...(answerUnidentified && { unidentified: answerBy(answerUnidentified) }) });
  const limitBulk = limit(setup.bulk(read));
  const [limited, limitedBulk, limitedTwice] = [limitOwn(answer), limitBulk(answer), limitOwn(limitBulk(answer))];

  return async function handle(request) {
    const path = pathOf(request);
    const response = await (path === "/bulk" ? limitedBulk : path === "/both" ? limitedTwice : limited)(request);
    if (path === "/dropped") return new Response("dropped", { status: 504 });
    if (path === "/fails-after") return new Response("failed", { status: 500 });
    if (path === "/compressed") return new Response(response.body?.pipeThrough(new CompressionStream("gzip") as never), { headers: { "Content-Encoding": "gzip" } });
    if (!response.headers.has("Cache-Control")) response.headers.set("Cache-Control", "public, max-age=60");
    if (path === "/cors") {
      response.headers.set("Access-Control-Allow-Origin", "*");
      response.headers.append("Access-Control-Expose-Headers", "X-Request-Id");
    }
    return response;
  };
}

type Answer = (request: Request) => Response | Promise<Response>;

// Errors are answered inside of the limiter, as a router does, so that their answers carry the fields.
function withErrorPage(route: Answer): Answer {
  const failed = () => new Response("failed", { status: 500 });
  return (request) => {
    try {
      const response = route(request);
      return response instanceof Promise ? response.catch(failed) : response;
    } catch {
      return failed();
    }
  };
}

/** The suite's routes without a limiter. Those that fail throw or reject. */
export function webRoutes(setup: AdapterSetup): Answer {
  return function route(request) {
    const path = pathOf(request);
    setup.entered(path);
    switch (path) {
      case "/empty":
        return new Response(null, { status: 204 });
      case "/same":
        return new Response(null, { status: 304 });
      case "/both":
      case "/report":
        setup.reports((cost) => reportCost(request, cost));
        return new Response("report");
      case "/chunks":
        return new Response(streamOf("one, ", "two"));
      case "/events":
        return new Response(streamOf("data: 1\n\n", setup.held().then(() => "data: 2\n\n")), {
          headers: { "Content-Type": "text/event-stream" },
        });
      case "/slow":
        return setup.held().then(() => new Response("slow"));
      case "/missing":
        return new Response("missing", { status: 404 });
      case "/broken":
        return new Response("broken", { status: 500 });
      case "/throws":
        throw new Error("thrown");
      case "/rejects":
        return Promise.reject(new Error("rejected"));
      case "/own":
        return new Response("own", { headers: { "RateLimit-Remaining": "777" } });
      case "/json":
        return request.method === "POST" ? request.json().then((body) => Response.json(body)) : Response.json(null);
      default:
        return new Response("ok");
    }
  };
}

/** The same on a real server. */
export function serveWeb(setup: AdapterSetup): Promise<RunningServer> {
  return listen(createAdaptorServer({ fetch: webHandler(setup) }) as Server);
}

function streamOf(...pieces: Array<string | Promise<string>>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const piece = await pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(piece));
    },
  });
}
