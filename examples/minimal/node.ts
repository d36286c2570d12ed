import { createServer } from "node:http";
import { perSecond } from "sluice";
import { rateLimit } from "sluice/node";

const limited = rateLimit({
  policy: { name: "interactive", capacity: 10, refill: perSecond(2) },
  key: (request) => ["device", request.headers["x-device-id"]],
});

const server = createServer(
  limited((request, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ messages: [] }));
  }),
);

server.listen(3000);
