import { addressKey, perMinute } from "sluice";
import { rateLimit } from "sluice/web";

const limited = rateLimit({
  policy: { name: "api", refill: perMinute(100) }, // 100 at once, then 100 a minute
  // Cloudflare itself writes this field.
  key: (request) => addressKey(request.headers.get("cf-connecting-ip")),
});

// Each isolate counts alone. For one count use a Durable Object, or Redis, as store.
export default { fetch: limited(() => new Response("Hello")) };
