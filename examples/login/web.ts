// A login for web-standard servers that limits guesses, like express.ts beside it.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { addressKey, afterMs, combine, createLimiter, MemoryStore, perHour, unlimited, type Store } from "sluice";
import { rateLimit } from "sluice/web";

interface LoginOptions {
  /** Whether this is the account's password. Look up exactly this spelling of the e-mail address. */
  readonly check: (email: string, password: string) => Promise<boolean>;
  /** Signs the cookies of known browsers. The same in every process. */
  readonly secret: string;
  /** The caller's address, as your server found it. */
  readonly addressOf: (request: Request) => string | undefined;
  readonly store?: Store;
}

/** The fields of a login. `browser` is the id that a cookie proves, for this account only. */
interface Attempt {
  readonly email: string;
  readonly password: string;
  readonly browser?: string;
}

/** Answers a form with `email` and `password`. */
export function login({ check, secret, addressOf, store = new MemoryStore() }: LoginOptions): (request: Request) => Promise<Response> {
  const attempts = new WeakMap<Request, Promise<Attempt>>();
  const limiter = combine({
    place: createLimiter({ policy: { name: "login-place", capacity: 5, refill: perHour(5) }, store }),
    strangers: createLimiter({ policy: { name: "login-strangers", capacity: 20, refill: perHour(20) }, store }),
    network: createLimiter({ policy: { name: "login-network", capacity: 100, returns: afterMs(3_600_000) }, store }),
  });
  const limited = rateLimit({
    limiter,
    async key(request) {
      const { email, browser } = await read(request);
      const network = addressKey(addressOf(request), { ipv6Prefix: 56 })?.[1];
      return browser === undefined
        ? { place: ["network", email, network], strangers: ["account", email], network: ["network", network] }
        : { place: ["browser", email, browser], strangers: unlimited, network: unlimited };
    },
    unidentified: "refuse", // 401 without an e-mail address
    headers: [], // they would tell a stranger how often others tried the account
    // Only a login that succeeded is free. A client that left before the answer has the status 499, so its guess costs.
    actualCost: ({ status }) => (status === 204 ? 0 : undefined),
  });

  const handle = limited(async (request) => {
    const { email, password, browser = randomUUID() } = await read(request);
    if (!(await check(email, password))) return new Response("Wrong e-mail address or password", { status: 401 });
    const cookie = `__Host-browser=${browser}.${sign(email, browser)}; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=31536000`;
    return new Response(null, { status: 204, headers: { "Set-Cookie": cookie } });
  });
  return async (request) => handle(request);

  function sign(email: string, browser: string): string {
    return createHmac("sha256", secret).update(JSON.stringify([email, browser])).digest("base64url");
  }

  /** Reads the body once. Later calls get the same result. */
  function read(request: Request): Promise<Attempt> {
    const attempt = attempts.get(request) ?? parse(request);
    attempts.set(request, attempt);
    return attempt;
  }

  async function parse(request: Request): Promise<Attempt> {
    const form = new URLSearchParams(await request.text());
    const email = (form.get("email") ?? "").normalize("NFKC").trim().toLowerCase(); // otherwise each spelling would have its own guesses
    const [, browser = "", proof = ""] = /(?:^|; )__Host-browser=([\w-]+)\.([\w-]+)/.exec(request.headers.get("cookie") ?? "") ?? [];
    const known = equal(proof, sign(email, browser));
    return { email, password: form.get("password") ?? "", ...(known && { browser }) };
  }
}

function equal(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
