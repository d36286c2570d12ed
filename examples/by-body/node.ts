import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { addressKey, MemoryStore } from "sluice";
import { rateLimit } from "sluice/node";
import { accountOf, passwordOf, perAccount, perAddress, perPhone, phoneOf, readJson, type Service } from "./body.js";

// 2. Bodies of a bounded size, read once. Leaving the loop early must not close the connection, because it carries the response.
const bodyOf = (request: IncomingMessage): Promise<unknown> => readJson(request, request.iterator({ destroyOnReturn: false }));

export function createListener({ check, sendCode, clock }: Service): RequestListener {
  // 1. Each address, before a body is read.
  const addresses = rateLimit({ policy: perAddress, key: (request) => addressKey(request.socket.remoteAddress, { ipv6Prefix: 56 }), store: new MemoryStore({ clock }) });

  // 3. Each account. Only a wrong password costs a token, so a login that succeeds gives it back.
  const accounts = rateLimit({
    policy: perAccount,
    key: async (request) => ["account", accountOf(await bodyOf(request))],
    unidentified: "skip", // without an account, the handler answers 400
    actualCost: ({ status }) => (status === 200 ? 0 : undefined),
    store: new MemoryStore({ clock }),
  });
  const login = accounts(async (request, response) => {
    const body = await bodyOf(request);
    const account = accountOf(body);
    if (account === undefined) return answer(response, 400, "Which account?");
    return (await check(account, passwordOf(body))) ? answer(response, 200, "Welcome") : answer(response, 401, "Wrong account or password");
  });

  // 3. Each number. A message that was sent costs, so its token stays taken.
  const phones = rateLimit({ policy: perPhone, key: async (request) => ["phone", phoneOf(await bodyOf(request))], unidentified: "skip", store: new MemoryStore({ clock }) });
  const code = phones(async (request, response) => {
    const phone = phoneOf(await bodyOf(request));
    if (phone === undefined) return answer(response, 400, "Which number?");
    await sendCode(phone);
    return answer(response, 200, "Sent");
  });

  return addresses((request, response) => {
    if (request.method === "POST" && request.url === "/login") return login(request, response);
    if (request.method === "POST" && request.url === "/login/code") return code(request, response);
    return answer(response, 404, "Not found");
  });
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status).end(text);
}
