// The suite's routes: behind the limiter of a route handler, or of the proxy.
import { rateLimit } from "sluice/web";
import { suiteServer } from "../../suite";

function answer(request: Request): Response | Promise<Response> {
  const server = suiteServer();
  if (server === undefined) return new Response("not found", { status: 404 });
  return (server.routes ?? server.limited(rateLimit, null))(request);
}

export { answer as GET, answer as OPTIONS, answer as POST };
