// The part of node:sqlite that the tests and examples use. The types of Node 20 do not have it.
declare module "node:sqlite" {
  /** A prepared statement. */
  interface StatementSync {
    get(...values: readonly (string | number)[]): Record<string, unknown> | undefined;
    run(...values: readonly (string | number)[]): unknown;
  }
  /** An open database. */
  export class DatabaseSync {
    constructor(path: string);
    readonly isTransaction: boolean;
    exec(sql: string): void;
    prepare(sql: string): StatementSync;
    close(): void;
  }
}
