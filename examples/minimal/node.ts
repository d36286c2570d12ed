import { createServer } from "node:http";
import { perSecond } from "sluice";
import { rateLimit } from "sluice/node";

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map([["Bearer token-of-ann", "ann"], ["Bearer token-of-bob", "bob"]]);

const limited = rateLimit({
  policy: { name: "interactive", capacity: 10, refill: perSecond(2) },
  key: (request) => ["user", users.get(request.headers.authorization ?? "")],
  unidentified: "refuse", // 401 for callers who are not signed in
});

const inbox = limited((_, response) => {
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ messages: [] }));
});

const server = createServer((request, response) => {
  if (request.method === "GET" && request.url === "/inbox") return inbox(request, response);
  response.writeHead(404).end();
});

server.listen(3000);
