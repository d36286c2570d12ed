// app/api/hello/route.ts
import { addressKey, perMinute } from "sluice";
import { rateLimit } from "sluice/web";

const limited = rateLimit({
  policy: { name: "api", refill: perMinute(100) }, // 100 at once, then 100 a minute
  // Vercel itself writes this field. Elsewhere your own proxy must.
  key: (request) => addressKey(request.headers.get("x-real-ip")),
});

// Each process counts alone. For one count use Redis as store.
export const GET = limited(() => new Response("Hello"));
