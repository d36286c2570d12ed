// A login that counts wrong passwords only: each attempt takes a token first, and one that succeeds gets it back.
import { perHour, type Clock, type Store } from "sluice";
import { rateLimit } from "sluice/web";

/** Whether this is the account's password. */
export type Check = (account: string, password: string) => Promise<boolean>;

/** Answers a form with `account` and `password`. Five wrong passwords for an account, then five in an hour. */
export function login(check: Check, { clock, store }: { readonly clock?: Clock; readonly store?: Store } = {}): (request: Request) => Promise<Response> {
  const limited = rateLimit({
    policy: { name: "login", capacity: 5, refill: perHour(5) },
    // In one spelling, or each would have five guesses of its own.
    key: async (request) => ["account", fieldOf(await request.clone().formData(), "account").trim().toLowerCase()],
    refundWhen: ({ status }) => status === 200, // right: as if it had not been counted
    clock,
    store,
  });

  const handle = limited(async (request) => {
    const form = await request.formData();
    const right = await check(fieldOf(form, "account"), fieldOf(form, "password"));
    return right ? new Response("Welcome") : new Response("Wrong account or password", { status: 401 });
  });
  return async (request) => handle(request);
}

function fieldOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}
