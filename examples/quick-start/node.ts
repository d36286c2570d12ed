import { createServer } from "node:http";
import { addressKey, perMinute } from "sluice";
import { rateLimit } from "sluice/node";

const limited = rateLimit({
  policy: { name: "api", refill: perMinute(100) }, // 100 at once, then 100 a minute
  // Behind a proxy: addressKey(proxyaddr(request, ["10.0.0.0/8"]))
  key: (request) => addressKey(request.socket.remoteAddress),
});
createServer(limited((_, response) => response.end("Hello"))).listen(3000);
