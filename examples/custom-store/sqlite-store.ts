// Buckets in a SQLite file, through the node:sqlite of Node 24. For the processes of one machine.
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "sluice";
import { sqlStore } from "sluice/store";

export function sqliteStore(path: string, { clock = Date.now }: { clock?: Clock } = {}) {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA busy_timeout = 1000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS sluice (name TEXT PRIMARY KEY, value TEXT, expires_at INTEGER) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS sluice_expires_at ON sluice (expires_at)`);
  const read = db.prepare("SELECT value FROM sluice WHERE name = ?");
  const write = db.prepare("INSERT OR REPLACE INTO sluice VALUES (?, ?, ?)");
  const sweep = db.prepare("DELETE FROM sluice WHERE name IN (SELECT name FROM sluice WHERE expires_at < ? LIMIT 5000)");
  return sqlStore<DatabaseSync>({
    sync: true,
    clock,
    transaction(run) {
      db.exec("BEGIN IMMEDIATE"); // until it ends, no other process writes
      try {
        run(db);
        db.exec("COMMIT");
      } catch (error) {
        if (db.isTransaction) db.exec("ROLLBACK");
        throw error;
      }
    },
    read: (_db, name) => read.get(name),
    write: (_db, name, value, expiresAt) => write.run(name, value, expiresAt),
    peek: (name) => read.get(name),
    sweep: (before) => sweep.run(before),
  });
}
