// Middleware and a route handler of Next.js, as its users write them. Compiled by `npm run check:runtimes`.
import { type NextFetchEvent, type NextRequest, NextResponse } from "next/server";
import { perSecond } from "sluice";
import { rateLimit } from "sluice/web";

const policy = { name: "api", capacity: 2, refill: perSecond(2) };

const limited = rateLimit({
  policy,
  key: (request: NextRequest, event: NextFetchEvent) => (event.sourcePage === "" ? null : ["user", request.cookies.get("user")?.value]),
  actualCost: ({ status }) => (status >= 500 ? 0 : undefined),
});

export const middleware = limited((request, event) => {
  event.waitUntil(Promise.resolve());
  return request.nextUrl.pathname === "/" ? NextResponse.next() : NextResponse.json({});
});

// @ts-expect-error: a middleware gets no other arguments
limited((_request: NextRequest, _event: string) => NextResponse.next());

interface RouteContext {
  readonly params: Promise<{ readonly id: string }>;
}

export const GET = rateLimit({ policy, key: (request: NextRequest) => request.nextUrl.searchParams.get("key") })(
  async (_request: NextRequest, { params }: RouteContext) => NextResponse.json({ id: (await params).id }),
);
