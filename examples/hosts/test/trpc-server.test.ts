// The middleware for tRPC, on its fetch adapter, and tRPC's client in front of it.
import { createTRPCClient, httpBatchLink, httpLink, TRPCClientError } from "@trpc/client";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import { MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { makeLimit, t } from "../servers/trpc.js";

function serve() {
  const clock = new ManualClock();
  const limited = t.procedure.use(makeLimit(new MemoryStore({ clock: clock.now })));
  const router = t.router({ inbox: limited.query(({ ctx }) => `inbox of ${ctx.user?.id}`), clear: limited.mutation(() => "cleared") });
  const answers: Response[] = [];
  const fetch = async (url: unknown, init?: unknown): Promise<Response> => {
    const answer = await fetchRequestHandler({
      endpoint: "/trpc", router, req: new Request(String(url), init as RequestInit),
      createContext: ({ req, resHeaders }) => ({ user: req.headers.has("x-user") ? { id: req.headers.get("x-user") as string } : null, resHeaders }),
    });
    answers.push(answer.clone());
    return answer;
  };
  const client = (link: typeof httpLink | typeof httpBatchLink, user?: string) =>
    createTRPCClient<typeof router>({ links: [link({ url: "http://localhost/trpc", fetch, headers: user === undefined ? {} : { "x-user": user } })] });
  return { clock, client, last: () => answers.at(-1) as Response };
}
const errorOf = (call: Promise<unknown>) => call.then(() => { throw new Error("Expected a refusal"); }, (error: unknown) => error as TRPCClientError<ReturnType<typeof t.router>>);

test("a user's procedure is refused with TOO_MANY_REQUESTS, the wait as data and as Retry-After, and it is right", async () => {
  const { clock, client, last } = serve();
  const ann = client(httpLink, "ann");
  for (let i = 0; i < 20; i++) expect(await ann.inbox.query()).toBe("inbox of ann");
  const error = await errorOf(ann.inbox.query());
  expect(error).toBeInstanceOf(TRPCClientError);
  expect([error.data, error.message]).toMatchObject([{ code: "TOO_MANY_REQUESTS", httpStatus: 429, retryAfter: 1 }, "Try again in 1 s."]);
  expect([last().status, last().headers.get("retry-after")]).toEqual([429, "1"]);
  expect(await ann.clear.mutate()).toBe("cleared"); // each procedure has a limit of its own
  expect(await client(httpLink, "bob").inbox.query()).toBe("inbox of bob");
  expect((await errorOf(client(httpLink).inbox.query())).data).toMatchObject({ code: "UNAUTHORIZED", retryAfter: null });
  clock.advance(1_000);
  expect(await ann.inbox.query()).toBe("inbox of ann");
});

test("in a batch each call is charged, and refused by itself", async () => {
  const { client, last } = serve();
  const ann = client(httpBatchLink, "ann");
  for (let i = 0; i < 19; i++) await ann.inbox.query();
  const both = await Promise.allSettled([ann.inbox.query(), ann.inbox.query()]);
  expect([both.map(({ status }) => status).sort(), last().status]).toEqual([["fulfilled", "rejected"], 207]);
});
