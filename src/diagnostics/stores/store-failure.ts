import { warnOnce } from "../../warnings/warnings.js";

// undefined_function and undefined_table, of Postgres.
const MISSING_SCHEMA: readonly unknown[] = ["42883", "42P01"];

/**
 * Warns at the first failed call of a store that was never set up: its client is not connected, or its table is
 * missing. `store` names it in the message. An outage is told only after several failures, and names no cure.
 *
 * @returns whether this is such a failure
 */
export function checkStoreFailure(store: string, error: unknown): boolean {
  const { message, code, stack } = Object(error) as Readonly<Record<"message" | "code" | "stack", unknown>>;
  const isMissing = MISSING_SCHEMA.includes(code);
  // The errors of node-redis: of its client, whose name is "Error", and of the cluster of version 5.
  const isNotConnected = message === "The client is closed" ||
    (/['.](?:master|replicas)'\)$/.test(String(message)) && /@redis[\\/]client/.test(String(stack)));
  if (isNotConnected) {
    warnOnce(
      "SLUICE_REDIS_CONNECT",
      `${store} has a client that is not connected: write \`await client.connect()\` before the first request, and ` +
      "close the client after the last",
    );
  } else if (isMissing) {
    warnOnce(
      "SLUICE_POSTGRES_MIGRATE",
      `${store} has no table or function in Postgres, so each call fails: run \`migrate()\` or the SQL of ` +
      `\`postgresSchema\` once`,
    );
  }
  return isNotConnected || isMissing;
}
