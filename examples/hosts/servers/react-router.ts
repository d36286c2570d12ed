/** React Router 8 in framework mode, in `app/root.tsx`: `export const middleware = [authenticate, limitRequests]`. */
import { createContext, type MiddlewareFunction, type RouterContextProvider } from "react-router";
import { perMinute } from "sluice";
import { rateLimit } from "sluice/web";

/** Your own middleware sets it: `context.set(userContext, user)`. */
export const userContext = createContext<{ readonly id: string } | null>(null);

const limited = rateLimit<Request, [context: Readonly<RouterContextProvider>]>({
  policy: { name: "app", capacity: 20, refill: perMinute(60) },
  key: (_, context) => ["user", context.get(userContext)?.id],
  unidentified: "refuse", // 401 for callers who are not signed in
});

export const limitRequests: MiddlewareFunction<Response> = ({ request, context }, next) => limited(next)(request, context);
