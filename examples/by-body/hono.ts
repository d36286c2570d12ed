import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono, type Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { addressKey, MemoryStore } from "sluice";
import { rateLimit } from "sluice/hono";
import { accountOf, passwordOf, perAccount, perAddress, perPhone, phoneOf, type Service } from "./body.js";

// Hono keeps the parsed body, so a second read gets it again.
const bodyOf = (c: Context): Promise<unknown> => c.req.json().catch(() => undefined);

export function createApp({ check, sendCode, clock }: Service): Hono {
  const app = new Hono();

  // 1. Each address, before a body is read.
  app.use(rateLimit({ policy: perAddress, key: (c) => addressKey(getConnInfo(c).remote.address, { ipv6Prefix: 56 }), store: new MemoryStore({ clock }) }));
  // 2. Bodies of a bounded size.
  app.use(bodyLimit({ maxSize: 1_000 }));

  // 3. Each account. Only a wrong password costs a token, so a login that succeeds gives it back.
  const accounts = rateLimit({
    policy: perAccount,
    key: async (c) => ["account", accountOf(await bodyOf(c))],
    unidentified: "skip", // without an account, the handler answers 400
    actualCost: ({ status }) => (status === 200 ? 0 : undefined),
    store: new MemoryStore({ clock }),
  });
  app.post("/login", accounts, async (c) => {
    const body = await bodyOf(c);
    const account = accountOf(body);
    if (account === undefined) return c.text("Which account?", 400);
    return (await check(account, passwordOf(body))) ? c.text("Welcome") : c.text("Wrong account or password", 401);
  });

  // 3. Each number. A message that was sent costs, so its token stays taken.
  const phones = rateLimit({ policy: perPhone, key: async (c) => ["phone", phoneOf(await bodyOf(c))], unidentified: "skip", store: new MemoryStore({ clock }) });
  app.post("/login/code", phones, async (c) => {
    const phone = phoneOf(await bodyOf(c));
    if (phone === undefined) return c.text("Which number?", 400);
    await sendCode(phone);
    return c.text("Sent");
  });
  return app;
}
