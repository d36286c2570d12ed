import { sha256 } from "../shared/sha256.js";
import { rowsOf, type PostgresClient } from "./client.js";
import { warnOnce } from "../../warnings/warnings.js";

/** One of the few statements of a store, and the name under which a connection prepares it. */
export interface NamedStatement {
  readonly text: string;
  readonly name: string;
}

interface NamingClient {
  query(config: { readonly name: string; readonly text: string; readonly values: unknown[] }): Promise<{ rows: unknown[] }>;
}

/** Names a statement by its own text: two stores on one connection must never give one name to different texts. */
export function namedStatement(text: string): NamedStatement {
  return { text, name: `sluice_${sha256(text).slice(0, 16)}` };
}

/**
 * Sends statements under their names, so that each connection parses and plans them once.
 *
 * Some poolers give each statement another connection and do not carry names along. The server then knows no statement
 * of that name, or has one that another client left. Both errors come before anything is executed. The statement is
 * sent again without its name, and so are all statements after it.
 */
export class Statements {
  readonly #client: PostgresClient;
  #isNaming: boolean;

  /** `prepare` is the store's option: undefined to name statements where the client is one of `pg`. */
  constructor(client: PostgresClient, prepare: boolean | undefined) {
    this.#client = client;
    this.#isNaming = prepare ?? takesNames(client);
  }

  /** The rows of one statement. */
  async rows({ name, text }: NamedStatement, values: unknown[]): Promise<unknown[]> {
    if (this.#isNaming) {
      try {
        return rowsOf(await (this.#client as unknown as NamingClient).query({ name, text, values }));
      } catch (error) {
        if (!LOST_NAME.has(sqlStateOf(error))) throw error;
        this.#isNaming = false;
        warnOnce(
          "SLUICE_POSTGRES_PREPARE",
          `Expected connections to keep prepared statements, got SQLSTATE ${sqlStateOf(error)}. ` +
            "PostgresStore now sends statements without names, which is slower. " +
            "Pass `prepare: false`, or use a pooler that supports prepared statements.",
        );
      }
    }
    return rowsOf(await this.#client.query(text, values));
  }
}

// invalid_sql_statement_name and duplicate_prepared_statement
const LOST_NAME: ReadonlySet<string> = new Set(["26000", "42P05"]);

/** The SQLSTATE of an error that the server sent, or an empty string. */
export function sqlStateOf(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : "";
}

/**
 * Whether the server refused a statement because of its data or its arguments. Then it changed nothing, and the refusal
 * says nothing about other buckets. False for lost connections, timeouts, shutdowns and failed logins.
 */
export function isRefusedByServer(error: unknown): boolean {
  return /^(2[0-57]|4[0-4]|55|P0)/.test(sqlStateOf(error));
}

/**
 * Whether `client` is a pool or a client of `pg`, or of a package with the same interface: `query` then takes
 * `{ name, text, values }`. Others may ignore the name, or take the object for a text.
 */
function takesNames(client: unknown): boolean {
  const { totalCount, connectionParameters } = client as {
    readonly totalCount?: unknown;
    readonly connectionParameters?: unknown;
  };
  return typeof totalCount === "number" || (typeof connectionParameters === "object" && connectionParameters !== null);
}
