/** AWS Lambda behind an HTTP API (payload format 2.0) or a function URL: `export const handler = rateLimit(options)(yourHandler)`. */
import type { APIGatewayProxyEventV2 as Event, APIGatewayProxyStructuredResultV2 as Result, Context } from "aws-lambda";
import { createGate, fieldRecord, trackWork, type AdapterOptions, type WebAnswer } from "sluice/http";
import { refusalResponse } from "sluice/web";

type Handler = (event: Event, context: Context) => Promise<Result>;

export function rateLimit(options: AdapterOptions<Event, [event: Event, context: Context], WebAnswer | Promise<WebAnswer>>): (handler: Handler) => Handler {
  const gate = createGate<Event>(options, { method: (event) => event.requestContext.http.method, header: (event, name) => event.headers[name] });
  return (handler) => async (event, context) => {
    const verdict = await gate(event);
    if (verdict.outcome === "skip") return handler(event, context);
    if (verdict.outcome === "refuse") {
      const response = await refusalResponse(verdict, event.requestContext.http, [event, context]);
      const { "content-length": _length, "set-cookie": _cookies, ...headers } = Object.fromEntries(response.headers); // the gateway counts the bytes itself
      return { statusCode: response.status, headers, cookies: response.headers.getSetCookie(), body: await response.text() };
    }
    const done = trackWork(verdict);
    let status = 500;
    try {
      const result = await handler(event, context);
      status = result.statusCode ?? 200;
      const own = Object.fromEntries(Object.entries(result.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
      const { "access-control-expose-headers": exposed, ...fields } = fieldRecord(verdict, own["access-control-expose-headers"]);
      return { ...result, headers: { ...fields, ...own, ...(exposed && { "access-control-expose-headers": exposed }) } };
    } finally {
      await done({ status, aborted: false }); // before Lambda freezes the process
    }
  };
}
