import { createServer } from "node:http";
import { createEventStream, H3, handleCors, HTTPError, toNodeHandler, type H3Event } from "h3";
import { reportCost } from "sluice/http";
import type { AdapterSetup, RunningServer, SuiteAnswer } from "sluice/testing";
import type { Ask } from "../../../../test/adapters/rows/answers.js";
import { listen } from "../../../../test/adapters/rows/listen.js";
import { rateLimit } from "../../servers/h3.js";

/** What h3 lacks. */
export const h3Lacks = {
  rawHead: "a Response has no head to write by hand",
  earlyHead: "a Response is sent only when it is returned",
  upgrades: "h3 gets no upgrade",
};

/** The suite's routes on h3. */
export function serveH3(setup: AdapterSetup): Promise<RunningServer> {
  const read = ({ req, url }: H3Event) => ({ method: req.method, path: url.pathname, header: (name: string) => req.headers.get(name) });
  const { answer, answerUnidentified } = setup;
  // Nonsense where the suite wants none.
  const send = (known: SuiteAnswer | undefined): Response =>
    (known && ("returns" in known ? known.returns : new Response(known.body, { status: known.status, headers: known.fields }))) as Response;
  const answerBy = <Refused>(ask: Ask<Refused>) => (refusal: Refused, event: H3Event): Response | Promise<Response> => {
    const given = ask(refusal, read(event));
    return given instanceof Promise ? given.then(send) : send(given);
  };
  const limited = rateLimit({ ...setup.options(read), ...(answer && { respond: answerBy(answer) }), ...(answerUnidentified && { unidentified: answerBy(answerUnidentified) }) });
  const limitedBulk = rateLimit(setup.bulk(read));
  const app = new H3({ silent: true });

  app.use((event) => {
    for (const headers of [event.res.headers, event.res.errHeaders]) headers.set("Cache-Control", "public, max-age=60");
  });
  app.use((event) => void (event.url.pathname === "/cors" && handleCors(event, { origin: "*", exposeHeaders: ["X-Request-Id"] })));
  app.use(async (event, next) => {
    const answer = await next();
    const path = event.url.pathname;
    if (path === "/dropped") return new Response("dropped", { status: 504 });
    if (path === "/fails-after") throw new HTTPError({ status: 500 });
    if (path !== "/compressed") return answer;
    return new Response((answer as Response).body?.pipeThrough(new CompressionStream("gzip") as never), { headers: { "Content-Encoding": "gzip" } });
  });
  app.use((event, next) => (event.url.pathname === "/bulk" ? next() : limited(event, next)));
  app.use((event, next) => (["/bulk", "/both"].includes(event.url.pathname) ? limitedBulk(event, next) : next()));
  app.use((event) => setup.entered(event.url.pathname));

  for (const path of ["/ok", "/cors", "/bulk", "/dropped", "/fails-after", "/compressed"]) app.get(path, () => "ok");
  for (const path of ["/both", "/report"]) app.get(path, (event) => (setup.reports((cost) => reportCost(event, cost)), "report"));
  app.get("/empty", (event) => ((event.res.status = 204), null));
  app.get("/same", () => new Response(null, { status: 304 }));
  app.get("/chunks", () => streamOf("one, ", "two"));
  app.get("/events", async (event) => {
    const stream = createEventStream(event);
    void stream.push("1").then(setup.held).then(() => stream.push("2")).then(() => stream.close());
    return stream.send();
  });
  app.get("/slow", () => setup.held().then(() => "slow"));
  app.get("/missing", () => {
    throw new HTTPError({ status: 404 });
  });
  app.get("/broken", () => new Response("broken", { status: 500 }));
  app.get("/throws", () => {
    throw new Error("thrown");
  });
  app.get("/rejects", () => Promise.reject(new HTTPError({ status: 500 })));
  app.get("/own", () => new Response("own", { headers: { "RateLimit-Remaining": "777" } }));
  app.post("/json", async (event) => (await event.req.json()) as object);

  return listen(createServer(toNodeHandler(app)));
}

function streamOf(...pieces: string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull(controller) {
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(piece));
    },
  });
}
