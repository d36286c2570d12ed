// A login that limits guesses. An attacker cannot use it to lock an owner out. A right password gives its token back.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { MemoryStore, perHour, type Store } from "sluice";
import { rateLimit } from "sluice/web";

/** Whether this is the account's password. `account` comes in one spelling: look up that one, and no other. */
export type Check = (account: string, password: string) => Promise<boolean>;

interface LoginOptions {
  /** Signs the cookies of known browsers. The same in every process. */
  readonly secret: string;
  /** The network of the caller's address, as your server found it. `addressKey(address)?.[1]` is one. */
  readonly networkOf: (request: Request) => string;
  readonly store?: Store;
}

/** The fields of a login. `browser` is the id that a cookie proves, for this account only. */
interface Attempt {
  readonly account: string;
  readonly password: string;
  readonly browser?: string;
}

/** Answers a form with `account` and `password`. */
export function login(check: Check, { secret, networkOf, store = new MemoryStore() }: LoginOptions): (request: Request) => Promise<Response> {
  const attempts = new WeakMap<Request, Promise<Attempt>>();
  // Only a login that succeeded is free. A client that left before the answer has the status 499, so its guess costs.
  const limit = rateLimit.with({ store, actualCost: ({ status }) => (status === 204 ? 0 : undefined) });

  // Each browser that logged in before has 5 guesses at once and 5 per hour. Each network of other browsers has the
  // same.
  const place = limit({
    policy: { name: "login-place", capacity: 5, refill: perHour(5) },
    key: async (request) => {
      const { account, browser } = await read(request);
      return browser === undefined ? ["network", account, networkOf(request)] : ["browser", account, browser];
    },
  });
  // All unknown browsers together have 20 guesses at an account. They do not slow down known browsers.
  const strangers = limit({
    policy: { name: "login-strangers", capacity: 20, refill: perHour(20) },
    key: async (request) => ["account", (await read(request)).account],
    skip: async (request) => (await read(request)).browser !== undefined,
  });

  const handle = place(
    strangers(async (request) => {
      const { account, password, browser = randomUUID() } = await read(request);
      if (!(await check(account, password))) return new Response("Wrong account or password", { status: 401 });
      const cookie = `__Host-browser=${browser}.${sign(account, browser)}; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=31536000`;
      return new Response(null, { status: 204, headers: { "Set-Cookie": cookie } });
    }),
  );
  return async (request) => handle(request);

  function sign(account: string, browser: string): string {
    return createHmac("sha256", secret).update(JSON.stringify([account, browser])).digest("base64url");
  }

  /** Reads the body once. Later calls get the same result. */
  function read(request: Request): Promise<Attempt> {
    const attempt = attempts.get(request) ?? parse(request);
    attempts.set(request, attempt);
    return attempt;
  }

  async function parse(request: Request): Promise<Attempt> {
    const form = new URLSearchParams(await request.text());
    const account = (form.get("account") ?? "").normalize("NFKC").trim().toLowerCase(); // otherwise each spelling would have its own guesses
    const [, browser = "", signature = ""] = /(?:^|; )__Host-browser=([\w-]+)\.([\w-]+)/.exec(request.headers.get("cookie") ?? "") ?? [];
    const known = equal(signature, sign(account, browser));
    return { account, password: form.get("password") ?? "", ...(known && { browser }) };
  }
}

function equal(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
