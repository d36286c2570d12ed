// Middleware in the edge runtime. Its second argument is the event, whose `waitUntil` a refund may need.
import { NextResponse } from "next/server";
import { limitedBy } from "./limited.mjs";

const limited = limitedBy("middleware", {
  key: (request, event) => (typeof event.waitUntil === "function" ? request.nextUrl.searchParams.get("key") : null),
  unidentified: "refuse",
});

export const middleware = limited(() => NextResponse.next());
export const config = { matcher: "/page" };
