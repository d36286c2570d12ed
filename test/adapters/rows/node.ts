import { createServer, ServerResponse, type IncomingMessage, type RequestListener } from "node:http";
import type { AdapterOptions } from "sluice/http";
import { rateLimit, reportCost } from "sluice/node";
import type { AdapterSetup, RunningServer, SuiteAnswer } from "sluice/testing";
import type { Ask } from "./answers.js";
import { listen } from "./listen.js";
import { answerInstead, compressEnd, openSocket } from "./outer.js";

type Listen = (request: IncomingMessage, response: ServerResponse) => unknown;

/** What an adapter lacks whose `respond` gets the server's response. */
export const nodeLacks = { responses: "`respond` sends the response itself" };

/** An adapter for Node's own server. */
export type NodeAdapter = (options: AdapterOptions<IncomingMessage, [IncomingMessage, ServerResponse]>) => (listener: Listen) => Listen;

/** The suite's routes on Node's own server, under this package's adapter or another. */
export function serveNode(setup: AdapterSetup, adapter: NodeAdapter = rateLimit): Promise<RunningServer> {
  const read = (request: IncomingMessage) => ({
    method: request.method ?? "",
    path: request.url ?? "",
    header: (name: string) => request.headers[name]?.toString(),
  });
  const { answer, answerUnidentified } = setup;
  const send = (response: ServerResponse, known: SuiteAnswer | undefined): unknown =>
    known && ("returns" in known ? known.returns : response.writeHead(known.status, known.fields).end(known.body));
  const answerBy = <Refused>(ask: Ask<Refused>) => (refusal: Refused, request: IncomingMessage, response: ServerResponse): unknown => {
    const given = ask(refusal, read(request));
    return given instanceof Promise ? given.then((known) => send(response, known)) : send(response, given);
  };
  const limit = adapter({ ...setup.options(read), ...(answer && { respond: answerBy(answer) }), ...(answerUnidentified && { unidentified: answerBy(answerUnidentified) }) });
  const limitBulk = adapter(setup.bulk(read));
  const [limited, limitedBulk, limitedTwice] = [limit(route), limitBulk(route), limit(limitBulk(route))];

  const server = createServer(serve as RequestListener);
  server.on("upgrade", (request: IncomingMessage) => void serve(request, new ServerResponse(request)));
  return listen(server);

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader("Cache-Control", "public, max-age=60");
    if (request.url === "/cors") response.setHeader("Access-Control-Allow-Origin", "*").setHeader("Access-Control-Expose-Headers", "X-Request-Id");
    if (request.url === "/early") response.write("early, ");
    if (request.url === "/dropped") answerInstead(response);
    if (request.url === "/compressed") compressEnd(response);
    try {
      if (request.url === "/fails-after") {
        limited(request, response);
        throw new Error("after");
      }
      await (request.url === "/bulk" ? limitedBulk : request.url === "/both" ? limitedTwice : limited)(request, response);
    } catch {
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    }
  }

  function route(request: IncomingMessage, response: ServerResponse): unknown {
    setup.entered(request.url ?? "");
    switch (request.url) {
      case "/empty":
        return response.writeHead(204).end();
      case "/same":
        return response.writeHead(304).end();
      case "/both":
      case "/report":
        setup.reports((cost) => reportCost(request, cost));
        return response.end("report");
      case "/chunks":
        response.write("one, ");
        return response.end("two");
      case "/events":
        response.writeHead(200, { "Content-Type": "text/event-stream" }).write("data: 1\n\n");
        return setup.held().then(() => response.end("data: 2\n\n"));
      case "/slow":
        return setup.held().then(() => response.end("slow"));
      case "/dropped":
      case "/fails-after":
        return setup.held().then(() => response.headersSent || response.end("late"));
      case "/socket":
        return openSocket(request.socket);
      case "/missing":
        return response.writeHead(404).end();
      case "/broken":
        return response.writeHead(500).end();
      case "/throws":
        throw new Error("thrown");
      case "/rejects":
        return Promise.reject(new Error("rejected"));
      case "/own":
        return response.setHeader("RateLimit-Remaining", "777").end("own");
      case "/raw":
        return response.writeHead(200, { "RateLimit-Remaining": "777" }).end("raw");
      case "/raw-list":
        return response.writeHead(200, ["RateLimit-Remaining", "777"]).end("raw");
      case "/json":
        return parse(request).then((body) => response.end(JSON.stringify(body)));
      default:
        return response.end("ok");
    }
  }
}

async function parse(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk as string;
  return text === "" ? null : JSON.parse(text);
}
