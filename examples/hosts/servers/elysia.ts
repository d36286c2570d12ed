/** Elysia 1: `new Elysia().use(auth).use(rateLimit({ policy, key: ({ user }) => ["user", user?.id] })).get(…)`. */
import { Elysia, type Context } from "elysia";
import { createGate, fieldRecord, trackWork, type AdapterOptions, type WebAnswer } from "sluice/http";
import { refusalResponse, webReader } from "sluice/web";

/** The plugin. `Extra` is what your own plugins add to the context, such as `{ user?: User }`. */
export function rateLimit<Extra extends object = object>(options: AdapterOptions<Context & Extra, [context: Context & Extra], WebAnswer | Promise<WebAnswer>>) {
  type Limited = Context & Extra;
  const gate = createGate<Limited>(options, {
    method: ({ request }) => request.method,
    header: ({ request }, name) => request.headers.get(name),
    onDisconnect: ({ request }, leave) => webReader.onDisconnect(request, leave),
  });
  const works = new WeakMap<Request, Array<ReturnType<typeof trackWork>>>(); // of each plugin's own requests
  return new Elysia()
    .onBeforeHandle({ as: "scoped" }, async (context) => {
      const verdict = await gate(context as unknown as Limited);
      if (verdict.outcome === "skip") return;
      const { request, set } = context;
      if (verdict.outcome === "refuse") return refusalResponse(verdict, request, [context as unknown as Limited]);
      works.set(request, [...(works.get(request) ?? []), trackWork(verdict)]);
      Object.assign(set.headers, fieldRecord(verdict, set.headers["access-control-expose-headers"] as string | undefined));
    })
    .onAfterResponse({ as: "scoped" }, ({ request, set, responseValue }) => {
      const status = responseValue instanceof Response ? responseValue.status : typeof set.status === "number" ? set.status : 200;
      for (const done of works.get(request) ?? []) void done({ status, aborted: request.signal.aborted });
    });
}
