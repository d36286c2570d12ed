/** A server's router: what trpc.ts calls. */
import { initTRPC } from "@trpc/server";

const t = initTRPC.create();

export const appRouter = t.router({
  inbox: t.procedure.query(() => ({ messages: ["hello"] })),
  clear: t.procedure.mutation(() => ({ messages: [] })),
});

export type AppRouter = typeof appRouter;
