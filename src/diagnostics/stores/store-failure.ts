import { warnOnce } from "../../warnings/warnings.js";

// undefined_function and undefined_table, of Postgres.
const MISSING_SCHEMA: readonly unknown[] = ["42883", "42P01"];

/**
 * Warns at the first failed call of a store that was never set up: its client is not connected, or its table is
 * missing. `store` names it in the message. An outage is told only after several failures, and names no cure.
 */
export function checkStoreFailure(store: string, error: unknown): void {
  const { message, code } = Object(error) as { readonly message?: unknown; readonly code?: unknown };
  // The error of node-redis, whose name is "Error".
  if (message === "The client is closed") {
    warnOnce(
      "SLUICE_REDIS_CONNECT",
      `${store} has a client that is not connected: write \`await client.connect()\` before the first request, and ` +
      "close the client after the last",
    );
  } else if (MISSING_SCHEMA.includes(code)) {
    warnOnce(
      "SLUICE_POSTGRES_MIGRATE",
      `${store} has no table or function in Postgres, so each call fails: run \`migrate()\` or the SQL of ` +
      `\`postgresSchema\` once`,
    );
  }
}
