/** h3 2: `app.use(rateLimit({ policy, key: (event) => ["user", event.context.userId as string] }))`. */
import { HTTPError, onDispose, toResponse, type H3Event, type Middleware } from "h3";
import { createGate, fieldRecord, trackWork, type AdapterOptions, type WebAnswer } from "sluice/http";
import { answerOnNode, boundUnreadBody } from "sluice/node";
import { applyToResponse, refusalResponse, webReader } from "sluice/web";

const EXPOSED = "access-control-expose-headers";

export function rateLimit(options: AdapterOptions<H3Event, [event: H3Event], WebAnswer | Promise<WebAnswer>>): Middleware {
  const gate = createGate<H3Event>(options, { method: ({ req }) => req.method, header: ({ req }, name) => req.headers.get(name), onDisconnect: ({ req }, leave) => webReader.onDisconnect(req, leave) });
  return async (event, next) => {
    const [asked, node] = [gate(event), event.runtime?.node?.res];
    const verdict = "outcome" in asked ? asked : await asked;
    if (verdict.outcome === "skip") return next();
    // h3 puts `errHeaders` on every response from status 400, including responses for thrown errors, and `headers` on the others.
    const { headers, errHeaders } = event.res;
    if (verdict.outcome === "refuse") {
      boundUnreadBody(node ?? {});
      const refusal = await refusalResponse(verdict, event.req, [event]);
      const staged = refusal.status < 400 ? headers : errHeaders;
      const exposed = fieldRecord(verdict, staged.get(EXPOSED))[EXPOSED];
      for (const [name, value] of refusal.headers) if (name !== "set-cookie") staged.set(name, (name === EXPOSED && exposed) || value);
      return refusal;
    }
    for (const [name, value] of Object.entries(fieldRecord(verdict, errHeaders.get(EXPOSED)))) errHeaders.set(name, value);
    let status = 500;
    if (node) answerOnNode(verdict, event, node); // it closes in any case
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
