import type { Policy } from "../core/policy.js";
import { withProcess } from "../platform.js";
import { isQuiet, warnOnce } from "../warnings/warnings.js";

const CODE = "SLUICE_QUOTA_IN_MEMORY";

/** Warns in production about a quota that this process alone keeps. `isMemory` says whether its store is in memory. */
export function checkQuota(policy: Policy, isMemory: boolean): void {
  if (!isMemory || !hasQuota(policy) || !isProduction()) return;
  warnOnce(
    CODE,
    `Expected the quota of policy "${policy.name}" to survive a deployment, got a store in this process's memory. ` +
    "Use a store that lasts",
  );
}

/** The method of a client of Postgres that {@link hintUnlogged} calls. */
interface QueryClient {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

const asked = new WeakSet<object>();

/**
 * Warns in production about a quota in a table of Postgres that a crash empties. Asks the server once for each client.
 */
export function hintUnlogged(client: QueryClient, table: string, parts: readonly { readonly policy: Policy }[]): void {
  const policy = parts.find((part) => hasQuota(part.policy))?.policy;
  if (policy === undefined || asked.has(client) || isQuiet(CODE) || !isProduction()) return;
  asked.add(client);
  const quoted = table.replace(/\w+/g, '"$&"');
  const warn = ({ rows }: { readonly rows: readonly unknown[] }): void => {
    if ((rows[0] as { readonly unlogged?: unknown } | undefined)?.unlogged !== true) return;
    warnOnce(
      CODE,
      `Expected the quota of policy "${policy.name}" to survive a crash of Postgres, got the unlogged table ` +
      `${quoted}. Run ALTER TABLE ${quoted} SET LOGGED`,
    );
  };
  client
    .query("SELECT relpersistence = 'u' AS unlogged FROM pg_class WHERE oid = to_regclass($1::text)", [quoted])
    .then(warn)
    .catch(() => undefined);
}

function hasQuota({ limits }: Policy): boolean {
  return limits.some(({ renews }) => renews !== undefined);
}

function isProduction(): boolean {
  return withProcess(({ env }) => env?.["NODE_ENV"]) === "production";
}
