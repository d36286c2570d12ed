/** The proxy of Next.js 16, in front of pages and route handlers. Before 16 it is `middleware.ts`, and exports `middleware`. */
import { NextResponse, type NextRequest } from "next/server";
import { perHour } from "sluice";
import { rateLimit } from "sluice/web";

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map([["token-of-ann", "ann"], ["token-of-bob", "bob"]]);

const limited = rateLimit<NextRequest>({
  policy: { name: "site", capacity: 20, refill: perHour(60) },
  key: (request) => ["user", users.get(request.cookies.get("session")?.value ?? "")],
  unidentified: "refuse", // 401 for callers who are not signed in
});

export const proxy = limited(() => NextResponse.next());
export const config = { matcher: "/account/:path*" };
