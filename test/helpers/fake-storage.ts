/** The storage of a Durable Object, as far as its buckets use it. The next write fails if `isFull`. */
export class FakeStorage {
  isFull = false;
  writes = 0;
  /** The records of each name. Null without a table. */
  rows: Map<string, unknown> | null = null;
  /** The instants until which the rows must be kept. */
  readonly until = new Map<string, unknown>();
  readonly sql = { exec: (statement: string, ...values: readonly unknown[]) => ({ toArray: () => this.#run(statement, values) }) };

  transactionSync<T>(run: () => T): T {
    const before = this.rows && new Map(this.rows);
    try {
      return run();
    } catch (error) {
      this.rows = before;
      throw error;
    }
  }

  getAlarm = async () => null;
  setAlarm = async () => undefined;

  #run(statement: string, [name, records, until]: readonly unknown[]): readonly unknown[] {
    if (statement.includes("sqlite_master")) return this.rows === null ? [] : [{ name: "sluice_buckets" }];
    if (statement.startsWith("CREATE TABLE")) return (this.rows = new Map()), [];
    if (this.rows === null) throw new Error("no such table: sluice_buckets");
    if (statement.startsWith("SELECT")) return this.rows.has(String(name)) ? [{ records: this.rows.get(String(name)) }] : [];
    if (this.isFull) throw new Error("database or disk is full");
    this.writes += 1;
    if (statement.startsWith("DELETE")) this.rows.delete(String(name));
    else {
      this.rows.set(String(name), records);
      this.until.set(String(name), until);
    }
    return [];
  }
}
