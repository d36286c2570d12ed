import { UNIDENTIFIED, type Key } from "../../core/key.js";
import { warnOnce } from "../../warnings/warnings.js";

const FIRST_REQUESTS = 20;

const EFFECTS = { share: "They share one bucket", refuse: "They get a 401", skip: "They are not limited" };

/**
 * Makes the check of one gate. It warns when all of the first 20 requests have no key, or when the bucket of requests
 * without a key refuses one of them. Call it with the caller of each request, and with `refused` for each refusal.
 */
export function createIdentityCheck(
  unidentified: "share" | "refuse" | "skip", policy: string,
): (caller: Key, refused?: boolean) => void {
  let left = FIRST_REQUESTS;
  const warn = (what: string): void =>
    warnOnce(
      "SLUICE_UNIDENTIFIED",
      `${what}: \`key\` returned nothing for them. ${EFFECTS[unidentified]}. Mount the rate limit after ` +
      "authentication, or after the body parser if the key is in the body",
    );

  return (caller, refused = false) => {
    if (caller !== UNIDENTIFIED) return void (left = 0);
    if (refused) return warn(`The bucket of callers without a key is empty under policy "${policy}"`);
    if (left > 0 && --left === 0) warn(`All of the first ${FIRST_REQUESTS} requests under policy "${policy}" are unidentified`);
  };
}
