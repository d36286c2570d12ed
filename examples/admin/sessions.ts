/** The sign-in of operators: a name and a password, a signed cookie, and a limit on guesses. */
import { createHmac, scrypt, scryptSync, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { addressKey, createLimiter, perHour, type Store } from "sluice";
import { retryAfterSeconds } from "sluice/http";

const HOURS = 8;
const COOKIE = "sluice-admin";
/** Fewer characters are guessed too soon. */
const SHORTEST = 12;
const HASH_BYTES = 32;
const hash = promisify(scrypt);

export interface SessionOptions {
  /** Passwords by the operators' names. */
  readonly operators: Readonly<Record<string, string>>;
  /** Where guesses are counted. Share it between processes. */
  readonly store: Store;
  /** Whether the page is served over TLS. The cookie then needs it, too. */
  readonly secure: boolean;
  readonly now: () => number;
}

/** How a sign-in went. */
export type SignIn =
  | { readonly outcome: "done"; readonly cookie: string }
  | { readonly outcome: "wrong" }
  | { readonly outcome: "refused" | "unavailable"; readonly retryAfter: number };

export class Sessions {
  readonly #options: SessionOptions;
  /** By name: the hash of the password. It signs the operator's cookies, so a new password ends the old sessions. */
  readonly #hashes: ReadonlyMap<string, Buffer>;
  readonly #guesses;

  constructor(options: SessionOptions) {
    const names = Object.keys(options.operators);
    const bad = names.find((name) => !/^[\w-]+$/.test(name) || (options.operators[name] ?? "").length < SHORTEST);
    if (names.length === 0 || bad !== undefined) {
      throw new RangeError(`Expected operators with names of letters and digits, and passwords of at least ${SHORTEST} characters, got ${bad === undefined ? "none" : `${bad} with another`}`);
    }
    this.#options = options;
    this.#hashes = new Map(names.map((name) => [name, scryptSync(options.operators[name] as string, saltOf(name), HASH_BYTES)]));
    this.#guesses = createLimiter({ policy: { name: "admin-sign-in", capacity: 5, refill: perHour(20) }, store: options.store, onStoreError: "unavailable" });
  }

  /** Compares a password. Too many wrong ones from an address refuse it, and so does a store that cannot count them. */
  async signIn(address: string, name: string, password: string): Promise<SignIn> {
    const key = addressKey(address) ?? "unknown";
    const decision = await this.#guesses.consume(key);
    if (!decision.allowed) return { outcome: decision.reason === "store_unavailable" ? "unavailable" : "refused", retryAfter: retryAfterSeconds(decision) ?? 1 };
    const known = this.#hashes.get(name);
    const given = (await hash(password, saltOf(name), HASH_BYTES)) as Buffer; // also for an unknown name: both take as long
    if (known === undefined || !timingSafeEqual(known, given)) return { outcome: "wrong" };
    // A right password is free. If the store fails now, it costs one guess.
    await Promise.resolve(this.#guesses.settle(key, decision, 0)).catch(() => undefined);
    const text = `${name}.${this.#options.now() + HOURS * 3_600_000}`;
    return { outcome: "done", cookie: this.#cookie(`${text}.${signature(known, text)}`, HOURS * 3_600) };
  }

  /** The cookie that ends a session in this browser. */
  get signOut(): string {
    return this.#cookie("", 0);
  }

  /** The operator of a request, or null. */
  operatorOf(request: IncomingMessage): string | null {
    const [, value = ""] = new RegExp(`(?:^|; )${COOKIE}=([^;]*)`).exec(request.headers.cookie ?? "") ?? [];
    const [name = "", expires = "", given = ""] = value.split(".");
    const known = this.#hashes.get(name);
    if (known === undefined || !(Number(expires) > this.#options.now())) return null;
    const right = signature(known, `${name}.${expires}`);
    return given.length === right.length && timingSafeEqual(Buffer.from(given), Buffer.from(right)) ? name : null;
  }

  #cookie(value: string, seconds: number): string {
    return `${COOKIE}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${this.#options.secure ? "; Secure" : ""}`;
  }
}

// The salt is the same in every process, so that a cookie of one is valid in the others.
function saltOf(name: string): string {
  return `sluice admin ${name}`;
}

function signature(secret: Buffer, text: string): string {
  return createHmac("sha256", secret).update(text).digest("base64url");
}
