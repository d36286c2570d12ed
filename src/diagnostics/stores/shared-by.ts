import { withProcess } from "../../platform.js";
import type { GuardSettings } from "../../port/guard-options.js";
import type { GuardSetup } from "../../port/guarded-store.js";
import { warnOnce } from "../../warnings/warnings.js";

/** Warns of a store whose number of processes was left out, before an outage in which it counts. */
export function hintSharedBy(
  { isDefaultShare, sharedBy }: Pick<GuardSettings, "isDefaultShare" | "sharedBy">,
  { onStoreError, policy }: Pick<GuardSetup, "onStoreError" | "policy">,
): void {
  if (!isDefaultShare || onStoreError !== "local") return;
  // A test has one process. In production the first outage tells of it.
  if (["test", "production"].includes(withProcess(({ env }) => env?.["NODE_ENV"]) ?? "")) return;
  warnOnce(
    "SLUICE_SHARED_BY",
    `Expected \`sharedBy\` of the store of policy "${policy.name}" to be the number of your processes, got none. In an ` +
    `outage each process grants 1/${sharedBy} of the limit. Write \`sharedBy: ${sharedBy}\` for ${sharedBy} processes, ` +
    "or another number",
  );
}
