import { addressKey, MemoryStore } from "sluice";
import { rateLimit } from "sluice/web";
import { perAddress, perPhone, phoneOf, readJson, type Service } from "./body.js";

// 2. Bodies of a bounded size, read once.
const bodyOf = async (request: Request): Promise<unknown> => request.body && readJson(request, chunksOf(request.body));

// The types of a stream have no async iterator before TypeScript 6.
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  const reader = body.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    await reader.cancel(); // the rest of a long body
  }
}

/** `addressOf` depends on your platform: `CF-Connecting-IP` on Cloudflare, `info.remoteAddr.hostname` in Deno. */
export function createHandler({ sendCode, clock }: Service, addressOf: (request: Request) => string | undefined): (request: Request) => Promise<Response> {
  // 1. Each address, before a body is read.
  const addresses = rateLimit({ policy: perAddress, headers: [], key: (request) => addressKey(addressOf(request), { ipv6Prefix: 56 }), store: new MemoryStore({ clock }) });

  // 3. Each number. A message that was sent costs, so its token stays taken. Fields would tell a stranger how many were sent.
  const phones = rateLimit({ policy: perPhone, headers: [], key: async (request) => ["phone", phoneOf(await bodyOf(request))], unidentified: "skip", store: new MemoryStore({ clock }) });
  const code = phones(async (request) => {
    const phone = phoneOf(await bodyOf(request));
    if (phone === undefined) return new Response("Which number?", { status: 400 });
    await sendCode(phone);
    return new Response("Sent");
  });

  const handle = addresses((request) => {
    const { pathname } = new URL(request.url);
    if (request.method === "POST" && pathname === "/code") return code(request);
    return new Response("Not found", { status: 404 });
  });
  return async (request) => handle(request);
}
