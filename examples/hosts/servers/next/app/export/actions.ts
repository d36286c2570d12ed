"use server";
// A Server Action of Next.js: it has no Response, so it returns the refusal as a value.
import { cookies } from "next/headers";
import { createLimiter, perHour } from "sluice";
import { retryAfterSeconds } from "sluice/http";

// Replace this with your own sign-in. It must verify what the caller sends.
const users = new Map([["token-of-ann", "ann"], ["token-of-bob", "bob"]]);

const limiter = createLimiter({ policy: { name: "exports", capacity: 3, refill: perHour(3) } });

/** What the form shows. `retryAfter` is in seconds. */
export type ExportState =
  | { readonly error: null; readonly file: string }
  | { readonly error: "signed_out" }
  | { readonly error: "rate_limited" | "unavailable"; readonly retryAfter: number | null };

/** For `useActionState`. Each call of the action costs one, whichever form or script sends it. */
export async function exportReport(_previous: ExportState | null, _form: FormData): Promise<ExportState> {
  const user = users.get((await cookies()).get("session")?.value ?? "");
  if (user === undefined) return { error: "signed_out" };
  const decision = limiter.consume(["user", user]); // with a shared store: await
  if (decision.allowed) return { error: null, file: `${user}.csv` };
  const error = decision.reason === "store_unavailable" ? "unavailable" : "rate_limited";
  return { error, retryAfter: retryAfterSeconds(decision) };
}
