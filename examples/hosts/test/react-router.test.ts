// The middleware for React Router, in a server of React Router without a bundler.
import { createRequestHandler, RouterContextProvider, type MiddlewareFunction, type ServerBuild } from "react-router";
import { expect, test } from "vitest";
import { limitRequests, userContext } from "../servers/react-router.js";

const authenticate: MiddlewareFunction<Response> = ({ request, context }) => {
  const id = request.headers.get("x-user");
  context.set(userContext, id === null ? null : { id });
};

const route = (id: string, path: string, module: object) => ({ id, path, module: { default: undefined, ...module } });
const inbox = { loader: ({ context }: { context: RouterContextProvider }) => Response.json({ inbox: context.get(userContext)?.id }) };
const build = {
  entry: { module: { default: () => new Response("a page") } },
  routes: {
    root: route("root", "", { middleware: [authenticate, limitRequests] }),
    inbox: { ...route("inbox", "inbox", inbox), parentId: "root" },
    page: { ...route("page", "page", { default: () => null, loader: () => ({ data: 1 }) }), parentId: "root" },
  },
  assets: { entry: { imports: [], module: "" }, routes: {}, url: "", version: "" },
  publicPath: "/", assetsBuildDirectory: "", future: {}, ssr: true, isSpaMode: false, prerender: [], basename: "/",
  routeDiscovery: { mode: "initial", manifestPath: "/__manifest" },
} as unknown as ServerBuild;
const handler = createRequestHandler(build, "production");
const get = (path: string, user: string | null) => handler(new Request(`http://localhost${path}`, user === null ? {} : { headers: { "x-user": user } }), new RouterContextProvider());

test("each user has one limit over pages, their data and resource routes", async () => {
  const first = await get("/inbox", "ann");
  expect([first.status, await first.json(), first.headers.get("ratelimit-remaining")]).toEqual([200, { inbox: "ann" }, "19"]);
  const page = await get("/page", "ann");
  expect([page.status, await page.text(), page.headers.get("ratelimit-remaining")]).toEqual([200, "a page", "18"]);
  const data = await get("/page.data", "ann");
  expect([data.status, data.headers.get("x-remix-response"), data.headers.get("ratelimit-remaining")]).toEqual([200, "yes", "17"]);
  for (let i = 0; i < 17; i++) await get("/inbox", "ann");
  for (const path of ["/inbox", "/page", "/page.data"]) {
    const refused = await get(path, "ann");
    expect([path, refused.status, refused.headers.get("retry-after")]).toEqual([path, 429, "1"]);
    // React Router's client makes an error response of it: `isRouteErrorResponse(error) && error.status === 429`.
    expect(refused.headers.has("x-remix-response")).toBe(false);
    expect(await refused.json()).toMatchObject({ code: "rate_limited", retry_after: 1 });
  }
  expect((await get("/inbox", "bob")).status).toBe(200);
  expect((await get("/inbox", null)).status).toBe(401);
});
