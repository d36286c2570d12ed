/** Koa 3: `app.use(rateLimit({ policy, key: (ctx) => ["user", ctx.state.user?.id] }))`, before body parsers. */
import type { ServerResponse } from "node:http";
import type { Context, Middleware } from "koa";
import { createGate, fieldRecord, trackWork, type AdapterOptions } from "sluice/http";
import { answerOnNode, nodeReader } from "sluice/node";

export function rateLimit(options: AdapterOptions<Context, [ctx: Context, response: ServerResponse]>): Middleware {
  const gate = createGate<Context>(options, { method: (ctx) => ctx.method, header: (ctx, name) => ctx.headers[name], onDisconnect: ({ req }, leave) => nodeReader.onDisconnect(req, leave) });
  return async (ctx, next) => {
    let fields = {};
    try {
      const asked = gate(ctx);
      const verdict = "outcome" in asked ? asked : await asked;
      if (verdict.outcome === "skip") return await next();
      if (verdict.outcome === "refuse") ctx.respond = false; // Koa sends nothing
      answerOnNode(verdict, ctx, ctx.res);
      if (verdict.outcome === "refuse") return;
      fields = fieldRecord(verdict, ctx.res.getHeader("Access-Control-Expose-Headers"));
      const handled = next();
      trackWork(verdict, { handled }); // it may go on after its client left
      return await handled;
    } catch (thrown) {
      // Koa treats undefined as no error. Before an error page it removes all header fields except those of the error.
      const error: Error & { headers?: object } = thrown instanceof Error ? thrown : new Error("Not an Error", { cause: thrown });
      throw Object.assign(error, { headers: { ...fields, ...error.headers } });
    }
  };
}
