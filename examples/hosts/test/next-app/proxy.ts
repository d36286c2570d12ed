// The example's proxy, or the suite's.
import { NextResponse, type NextRequest } from "next/server";
import { rateLimit } from "sluice/web";
import { proxy as example } from "./example-proxy";
import { suiteServer } from "./suite";

export function proxy(request: NextRequest): Response | Promise<Response> {
  const server = suiteServer();
  return server === undefined ? example(request) : server.limited(rateLimit, () => NextResponse.next())(request);
}

// With a proxy in front, Next.js reads the body before a route handler runs.
export const config = { matcher: [{ source: "/account" }, { source: "/:path*", has: [{ type: "header", key: "x-behind", value: "proxy" }] }] };
