import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono, type Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { addressKey, MemoryStore } from "sluice";
import { rateLimit } from "sluice/hono";
import { perAddress, perPhone, phoneOf, type Service } from "./body.js";

// Hono keeps the parsed body, so a second read gets it again.
const bodyOf = (c: Context): Promise<unknown> => c.req.json().catch(() => undefined);

export function createApp({ sendCode, clock }: Service): Hono {
  const app = new Hono();

  // 1. Each address, before a body is read.
  app.use(rateLimit({ policy: perAddress, headers: [], key: (c) => addressKey(getConnInfo(c).remote.address, { ipv6Prefix: 56 }), store: new MemoryStore({ clock }) }));
  // 2. Bodies of a bounded size.
  app.use(bodyLimit({ maxSize: 1_000 }));

  // 3. Each number. A message that was sent costs, so its token stays taken. Fields would tell a stranger how many were sent.
  const phones = rateLimit({ policy: perPhone, headers: [], key: async (c) => ["phone", phoneOf(await bodyOf(c))], unidentified: "skip", store: new MemoryStore({ clock }) });
  app.post("/code", phones, async (c) => {
    const phone = phoneOf(await bodyOf(c));
    if (phone === undefined) return c.text("Which number?", 400);
    await sendCode(phone);
    return c.text("Sent");
  });
  return app;
}
