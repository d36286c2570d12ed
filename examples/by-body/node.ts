import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { addressKey, MemoryStore } from "sluice";
import { rateLimit } from "sluice/node";
import { perAddress, perPhone, phoneOf, readJson, type Service } from "./body.js";

// 2. Bodies of a bounded size, read once. Leaving the loop early must not close the connection, because it carries the response.
const bodyOf = (request: IncomingMessage): Promise<unknown> => readJson(request, request.iterator({ destroyOnReturn: false }));

export function createListener({ sendCode, clock }: Service): RequestListener {
  // 1. Each address, before a body is read.
  const addresses = rateLimit({ policy: perAddress, headers: [], key: (request) => addressKey(request.socket.remoteAddress, { ipv6Prefix: 56 }), store: new MemoryStore({ clock }) });

  // 3. Each number. A message that was sent costs, so its token stays taken. Fields would tell a stranger how many were sent.
  const phones = rateLimit({ policy: perPhone, headers: [], key: async (request) => ["phone", phoneOf(await bodyOf(request))], unidentified: "skip", store: new MemoryStore({ clock }) });
  const code = phones(async (request, response) => {
    const phone = phoneOf(await bodyOf(request));
    if (phone === undefined) return answer(response, 400, "Which number?");
    await sendCode(phone);
    return answer(response, 200, "Sent");
  });

  return addresses((request, response) => {
    if (request.method === "POST" && request.url === "/code") return code(request, response);
    return answer(response, 404, "Not found");
  });
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status).end(text);
}
