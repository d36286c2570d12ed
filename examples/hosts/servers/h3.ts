/** h3 2: `app.use(rateLimit({ policy, key: (event) => ["user", event.context.userId as string] }))`. */
import { HTTPError, onDispose, toResponse, type H3Event, type Middleware } from "h3";
import { createGate, fieldRecord, trackWork, type GateOptions } from "sluice/http";
import { answerOnNode, boundUnreadBody } from "sluice/node";
import { applyToResponse, refusalResponse, webReader } from "sluice/web";

export function rateLimit(options: GateOptions<H3Event>): Middleware {
  const gate = createGate<H3Event>(options, { method: ({ req }) => req.method, header: ({ req }, name) => req.headers.get(name), onDisconnect: ({ req }, leave) => webReader.onDisconnect(req, leave) });
  return async (event, next) => {
    const asked = gate(event);
    const verdict = "outcome" in asked ? asked : await asked;
    if (verdict.outcome === "skip") return next();
    // h3 puts `errHeaders` on every response from status 400, including responses for thrown errors.
    for (const [name, value] of Object.entries(fieldRecord(verdict, event.res.errHeaders.get("access-control-expose-headers")))) event.res.errHeaders.set(name, value);
    if (verdict.outcome === "refuse") return (boundUnreadBody(Object(event.runtime?.node?.res) as object), refusalResponse(verdict, event.req));
    let status = 500;
    if (event.runtime?.node?.res) answerOnNode(verdict, event, event.runtime.node.res); // it closes in any case
    else onDispose(event, (reason) => void trackWork(verdict)({ status, aborted: reason !== undefined }));
    try {
      const handled = Promise.resolve(next());
      trackWork(verdict, { handled }); // it may go on after its client left
      const response = applyToResponse(await toResponse(await handled, event), verdict);
      return ((status = response.status), response);
    } catch (error) {
      if (HTTPError.isError(error)) status = error.status;
      throw error;
    }
  };
}
