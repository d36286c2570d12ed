// A login for Express that limits guesses. No stranger can lock the owner out: a browser that logged in before has guesses of its own.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import express, { type Express, type Request } from "express";
import { addressKey, afterMs, combine, createLimiter, MemoryStore, perHour, unlimited, type Store } from "sluice";
import { rateLimit } from "sluice/express";

interface LoginOptions {
  /** Whether this is the account's password. Look up exactly this spelling of the e-mail address. */
  readonly check: (email: string, password: string) => Promise<boolean>;
  /** Signs the cookies of known browsers. The same in every process. */
  readonly secret: string;
  readonly store?: Store;
}

export function createApp({ check, secret, store = new MemoryStore() }: LoginOptions): Express {
  const limiter = combine({
    place: createLimiter({ policy: { name: "login-place", capacity: 5, refill: perHour(5) }, store }),
    strangers: createLimiter({ policy: { name: "login-strangers", capacity: 20, refill: perHour(20) }, store }),
    network: createLimiter({ policy: { name: "login-network", capacity: 100, returns: afterMs(3_600_000) }, store }),
  });
  const limited = rateLimit({
    limiter,
    key(request) {
      const [email, browser, network] = [emailOf(request), browserOf(request), addressKey(request.ip, { ipv6Prefix: 56 })?.[1]];
      return browser === undefined
        ? { place: ["network", email, network], strangers: ["account", email], network: ["network", network] }
        : { place: ["browser", email, browser], strangers: unlimited, network: unlimited };
    },
    unidentified: "refuse", // 401 without an e-mail address
    headers: [], // they would tell a stranger how often others tried the account
    actualCost: ({ status }) => (status === 204 ? 0 : undefined), // a right password is free
  });

  const app = express();
  app.set("trust proxy", 1); // the number of proxies that you run
  app.use(express.json({ limit: "1kb" }));
  app.post("/login", limited, async (request, response) => {
    const [email = "", password] = [emailOf(request), (request.body as { password?: unknown }).password];
    if (typeof password !== "string" || !(await check(email, password))) return void response.status(401).send("Wrong e-mail address or password");
    const browser = browserOf(request) ?? randomUUID();
    response.cookie("__Host-browser", `${browser}.${sign(email, browser)}`, { httpOnly: true, secure: true, sameSite: "strict", maxAge: 31_536_000_000 });
    response.sendStatus(204); // and begin your session
  });
  return app;

  /** The id that the cookie of an earlier login proves, for this account only. */
  function browserOf(request: Request): string | undefined {
    const [, browser = "", proof = ""] = /(?:^|; )__Host-browser=([\w-]+)\.([\w-]+)/.exec(request.get("cookie") ?? "") ?? [];
    const [given, right] = [Buffer.from(proof), Buffer.from(sign(emailOf(request) ?? "", browser))];
    return given.length === right.length && timingSafeEqual(given, right) ? browser : undefined;
  }

  function sign(email: string, browser: string): string {
    return createHmac("sha256", secret).update(JSON.stringify([email, browser])).digest("base64url");
  }
}

/** One spelling for each account. Otherwise each spelling would have guesses of its own. */
function emailOf({ body }: Request): string | undefined {
  const { email } = (body ?? {}) as { email?: unknown };
  return typeof email === "string" ? email.normalize("NFKC").trim().toLowerCase() || undefined : undefined;
}
