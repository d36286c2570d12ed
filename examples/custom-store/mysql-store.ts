// Buckets in MySQL or MariaDB, through mysql2. All processes use the server's clock.
import type { Pool, PoolConnection, RowDataPacket } from "mysql2/promise";
import { sqlStore, type SqlDatabase, type SqlRow } from "sluice/store";

interface MysqlStoreOptions extends Partial<Pick<SqlDatabase<unknown>, "clock" | "timeoutMs" | "breaker" | "sharedBy">> {
  readonly table?: string;
}

export const createTable = (table = "sluice") =>
  `CREATE TABLE IF NOT EXISTS ${table} (name VARBINARY(384) PRIMARY KEY, value TEXT, expires_at BIGINT NOT NULL DEFAULT 0, INDEX (expires_at))`;

export function mysqlStore(pool: Pool, { table = "sluice", clock = "server", ...guarded }: MysqlStoreOptions = {}) {
  const now = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 AS now"; // NOW() would repeat an hour in autumn
  const row = async (client: Pool | PoolConnection, sql: string, name: string) => (await client.execute<(RowDataPacket & SqlRow)[]>(sql, [name]))[0][0];
  return sqlStore<PoolConnection>({
    ...guarded,
    clock,
    async transaction(run) {
      const connection = await pool.getConnection();
      try {
        await connection.beginTransaction();
        await run(connection);
        await connection.commit();
      } catch (error) {
        await connection.rollback().catch(() => connection.destroy()); // the connection is gone; `error` says why
        throw error;
      } finally {
        connection.release();
      }
    },
    async read(tx, name) {
      await tx.execute(`INSERT INTO ${table} (name) VALUES (?) ON DUPLICATE KEY UPDATE name = name`, [name]); // locks the row, new or not
      return row(tx, `SELECT value, ${now} FROM ${table} WHERE name = ? FOR UPDATE`, name);
    },
    write: (tx, name, value, expiresAt) => tx.execute(`UPDATE ${table} SET value = ?, expires_at = ? WHERE name = ?`, [value, expiresAt, name]),
    peek: (name) => row(pool, `SELECT (SELECT value FROM ${table} WHERE name = ?) AS value, ${now}`, name),
    isConflict: (error) => (error as { code?: string }).code === "ER_LOCK_DEADLOCK",
    sweep: (before) => pool.execute(`DELETE FROM ${table} WHERE expires_at < ? LIMIT 5000`, [before]),
  });
}
